"""`captions apply OUT DECISIONS NEW`: what people decided stands where a training loader looks."""

from __future__ import annotations

import pytest
from commands import Command, outcome, read
from deciding import ALL, EDITED, decide
from layout_inputs import LAYOUTS, caption, files_of, make, rows_of, texts

from revise_captions.command_line.captions import main


def expected_caption(row: dict, made: dict, undecided: str) -> str:
    """What a caption becomes, put together by hand: the sentences in turn, a gap with each."""
    field = next(iter(k for k in ("caption", "text", "txt") if k in row), None)
    text = row[field] if field else row["json"]["caption"]
    by_number = {u.original.number - 1: (d, t, u) for d, t, u in made.values()
                 if u.place.line == row["line"]}  # fmt: skip
    parts, cursor, kept = [], 0, False
    sentences = row["revision"]["sentences"]
    for number, s in enumerate(sentences):
        start, end = s["span"]
        stands = text[start:end]
        if number in by_number:
            decision, edited, unit = by_number[number]
            left = "" if s["dropped"] else s["rewrite"] if s["accepted"] else stands
            if decision == "accept":
                stands = "" if unit.gone else unit.revised.sentence
            elif decision == "edit":
                stands = edited
            elif decision == "":
                stands = {"as-left": left, "as-came": stands, "drop": ""}[undecided]
        gap = text[cursor:start] if kept or number == 0 else ""
        cursor = end
        if stands:
            parts += [gap, stands]
        elif number == 0:
            parts.append(gap)
        kept = kept or bool(stands)
    return "".join([*parts, text[cursor:]])


@pytest.mark.parametrize("undecided", ["as-left", "as-came", "drop"])
def test_every_decision_stands_where_it_was_made(command: Command, tmp_path, capsys, undecided):
    make("jsonl", tmp_path)
    assert command("in.jsonl", "out.jsonl").code == 0
    made = decide(tmp_path / "out.jsonl", "d.jsonl", ALL)
    arguments = ["apply", "out.jsonl", "d.jsonl", "new.jsonl", "--undecided", undecided]
    code, said, _ = outcome(main, capsys, *arguments)
    assert code == 0
    assert {d for d, *_ in made.values()} == {"accept", "reject", "edit", ""}
    left = sum(not d for d, *_ in made.values())
    assert f"{left} undecided" in said
    rows = zip(read("out.jsonl"), read("new.jsonl"), strict=True)
    for line, (was, now) in enumerate(rows, 1):
        assert now["caption"] == expected_caption(was | {"line": line}, made, undecided)
        assert now["caption_original"] == was["caption"]
        for number, sentence in enumerate(now["revision"]["sentences"]):
            chosen = [d for d, _, u in made.values() if u.place.line == line
                      and u.place.sentence == number and d]  # fmt: skip
            told = sentence.get("decided", {})
            assert told.get("by", []) == ["anna"] * len(chosen)
            assert not chosen or told["as"] == chosen[0]
    # an output of apply can be decided about again, as if it were the run's
    again = ["apply", "new.jsonl", "d.jsonl", "again.jsonl"]
    assert outcome(main, capsys, *again, "--undecided", undecided)[0] == 0
    assert read("again.jsonl") == read("new.jsonl")
    # and without decisions the run comes back
    assert outcome(main, capsys, "apply", "new.jsonl", "back.jsonl", "--write", "both")[0] == 0
    for back, was in zip(rows_of(tmp_path / "back.jsonl"), read("out.jsonl"), strict=True):
        assert back["revised_caption"] == was["revised_caption"]
        assert back["revision"]["sentences"] == was["revision"]["sentences"]


SIDECAR = ["--write", "caption", "--evidence", "sidecar"]


@pytest.mark.parametrize(
    ("layout", "style"),
    [*((layout, []) for layout in LAYOUTS), ("llava", SIDECAR), ("tar", SIDECAR)],
)
def test_a_training_loader_finds_what_was_decided(command, tmp_path, capsys, layout, style):
    pytest.importorskip("datasets")
    made = make(layout, tmp_path)
    out, new, again = (f"{name}{made.suffix}" for name in ("out", "new", "again"))
    assert command(made.source, out, *made.options, *style).code == 0
    decide(tmp_path / out, "d.jsonl", ALL)
    code, _, err = outcome(main, capsys, "apply", out, "d.jsonl", new)
    assert code == 0, err
    found = texts(layout, tmp_path / new, tmp_path / "cache")
    assert found == [row["revised_caption"] for row in rows_of(tmp_path / new)]
    assert sum(EDITED in text for text in found) > 5
    assert outcome(main, capsys, "verify", new, again, "--verify", "text")[0] == 0
    # with nothing decided, it is the run with `--write caption`
    plain, direct = f"plain{made.suffix}", f"direct{made.suffix}"
    assert outcome(main, capsys, "apply", out, plain)[0] == 0
    options = [*made.options, "--write", "caption", *style[2:]]
    assert command(made.source, direct, *options).code == 0
    assert rows_of(tmp_path / plain) == rows_of(tmp_path / direct)
    if style and layout != "saved":  # otherwise OUT's columns stay where they are
        assert files_of(tmp_path / plain) == files_of(tmp_path / direct)
    assert any(text != caption(n) for n, text in enumerate(found))


def test_what_people_decided_counts_as_right_and_needs_no_review(command, tmp_path, capsys):
    pytest.importorskip("duckdb")
    make("jsonl", tmp_path)
    assert command("in.jsonl", "out.jsonl", "--on-unfixable", "flag").code == 0
    assert any(row["revision"]["needs_review"] for row in read("out.jsonl"))
    decide(tmp_path / "out.jsonl", "d.jsonl", lambda number: ("reject", ""))
    assert outcome(main, capsys, "apply", "out.jsonl", "d.jsonl", "new.jsonl")[0] == 0
    rows = read("new.jsonl")
    assert [row["caption"] for row in rows] == [row["caption"] for row in read("in.jsonl")]
    assert not any(row["revision"]["needs_review"] for row in rows)
    where = "needs_review or coalesce(factual_after, 1) < 1 or unscored_after > unscored"
    arguments = ["select", "new.jsonl", "kept.jsonl", "--where", where]
    assert outcome(main, capsys, *arguments)[0] == 0
    assert read("kept.jsonl") == []
