"""`captions select` and `captions columns`: the right records, as they are, and none lost."""

from __future__ import annotations

import json

import pytest
from commands import Command, outcome, read
from layout_inputs import COUNT, files_of, make, rows_of

from revise_captions.command_line.captions import main
from revise_captions.io.readers import open_rows
from revise_captions.pipelines.select.columns import COLUMNS
from revise_captions.runs.paths import quarantine_path

duckdb = pytest.importorskip("duckdb")
WHERE = "factual_after >= 0.9 and unscored = 0 and not needs_review"


def holds(row: dict) -> bool:
    """`WHERE`, from the row itself."""
    revision = row["revision"]
    now = [s["p_after"] for s in revision["sentences"] if s["p_after"] is not None]
    good = [p >= revision["threshold"] for p in now]
    unscored = any(s["label"] == "unscored" for s in revision["sentences"])
    return bool(good) and all(good) and not unscored


@pytest.mark.parametrize("style", [[], ["--write", "caption", "--evidence", "sidecar"]])
@pytest.mark.parametrize("layout", ["jsonl", "llava", "csv", "coco", "beside", "tar", "parquet"])
def test_kept_and_rest_are_the_run(command: Command, tmp_path, capsys, layout, style):
    pytest.importorskip("datasets")
    made = make(layout, tmp_path)
    out, kept, rest, again = (f"{n}{made.suffix}" for n in ("out", "kept", "rest", "again"))
    assert command(made.source, out, *made.options, *style).code == 0
    code, said, _ = outcome(main, capsys, "select", out, kept, "--rest", rest, "--where", WHERE)
    assert code == 0
    run, chosen, others = (rows_of(tmp_path / name) for name in (out, kept, rest))
    assert f"{len(chosen)} records in {kept}" in said
    assert chosen == [row for row in run if holds(row)]
    assert others == [row for row in run if not holds(row)]
    assert 5 < len(chosen) < COUNT - 5
    assert outcome(main, capsys, "select", out, again, "--where", "true")[0] == 0
    if layout != "parquet":  # its writer cuts groups anew
        assert files_of(tmp_path / again) == files_of(tmp_path / out)


def test_a_sample_keeps_the_shares_of_captioners(command, tmp_path, capsys):
    make("jsonl", tmp_path)
    with (tmp_path / "by.jsonl").open("w") as file:
        for row in read("in.jsonl"):
            by = "ab"[row["n"] % 10 == 0]
            file.write(json.dumps({**row, "big": 1, "model": by}) + "\n")
    assert command("by.jsonl", "out.jsonl").code == 0
    options = ["--where", "true", "--sample", "20", "--stratify", "captioner"]
    for name in ("one.jsonl", "two.jsonl"):
        rest = f"rest-{name}"
        code, *_ = outcome(main, capsys, "select", "out.jsonl", name, *options, "--rest", rest)
        assert code == 0
    assert read("one.jsonl") == read("two.jsonl")
    models = [row["model"] for row in read("one.jsonl")]
    assert (models.count("a"), models.count("b")) == (18, 2)
    together = sorted([*read("one.jsonl"), *read("rest-one.jsonl")], key=lambda row: row["n"])
    assert together == read("out.jsonl")


@pytest.fixture
def run(command, tmp_path):
    make("jsonl", tmp_path)
    assert command("in.jsonl", "out.jsonl").code == 0


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ("factual_aftr > 0.5", "did you mean factual_after?"),
        ("nonsense = 1", "there are: record, captions, "),
        ("factual_after >", "syntax error"),
        ("true; drop table records", "syntax error"),
        ("true) union select 1 from (select 1", "expected one condition"),
        ("true) limit (1", "expected one condition"),
        ("length > (select avg(length) from records)", "no subquery"),
        ("caption in (select content from read_text('in.jsonl'))", "no subquery"),
        ("avg(length) > 3", "aggregate"),
        ("row_number() over () < 3", "window"),
        ("caption + 1 > 2", "Binder Error"),
        ("caption::int > 2", "Conversion Error"),
    ],
)
def test_what_is_no_condition_is_said_in_a_line(run, capsys, where, said):
    code, _, printed = outcome(main, capsys, "select", "out.jsonl", "kept.jsonl", "--where", where)
    assert code == 2
    assert said.lower() in printed.lower()
    assert len(printed.splitlines()) == 2
    assert not list(open_rows("out.jsonl").path.parent.glob("kept*"))


def test_texts_of_rows_are_values(command, tmp_path, capsys):
    make("jsonl", tmp_path)
    hostile = "x' OR true; DROP TABLE records; -- \u0000 \"'"
    rows = [{**row, "big": 1, "model": hostile} for row in read("in.jsonl")]
    rows[3]["caption"] = f"A cat. {hostile}"
    rows[5]["model"] = "me"
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert command("in.jsonl", "out.jsonl").code == 0
    for where, count in (("captioner = 'me'", 1), ("fields->>'n' = '5.0'", 1), ("1 = 0", 0)):
        options = ["select", "out.jsonl", "kept.jsonl", "--force", "--where", where]
        assert outcome(main, capsys, *options)[0] == 0
        assert len(read("kept.jsonl")) == count
    assert read("kept.jsonl") == []


def test_a_damaged_row_goes_to_the_quarantine_of_kept(run, tmp_path, capsys):
    lines = (tmp_path / "out.jsonl").read_text().splitlines(keepends=True)
    lines[7] = lines[7][:30] + "\n"
    (tmp_path / "out.jsonl").write_text("".join(lines))
    arguments = ["select", "out.jsonl", "kept.jsonl", "--rest", "rest.jsonl", "--where", WHERE]
    code, said, _ = outcome(main, capsys, *arguments)
    assert code == 0
    assert "1 row in kept.quarantine.jsonl" in said
    assert [row["line"] for row in read(quarantine_path("kept.jsonl"))] == [8]
    assert not quarantine_path("rest.jsonl").exists()
    assert len(read("kept.jsonl")) + len(read("rest.jsonl")) == COUNT - 1


def test_the_columns_are_listed_with_their_values(run, capsys):
    code, said, _ = outcome(main, capsys, "columns", "out.jsonl")
    assert code == 0
    lines = said.splitlines()
    assert lines[0] == f"{COUNT} records"
    end = next(n for n, line in enumerate(lines) if line.startswith("unscored for none of these"))
    by_name = {line.split()[0]: line for line in lines[2:end:2]}
    never = [name.strip(",") for line in lines[end + 1 :] for name in line.split()]
    assert "unscored_too_long" in never
    assert sorted([*by_name, *never]) == sorted(column.name for column in COLUMNS)
    assert by_name["record"].split()[2:] == ["1", "4", "18", "35", "53", "67", "70"]
    changed = sum(row["revised_caption"] != row["caption"] for row in read("out.jsonl"))
    assert by_name["changed"].endswith(f"true of {changed}")


def test_a_metrics_numbers_are_a_column(run, tmp_path, capsys):
    rows, scores = read("out.jsonl"), tmp_path / "scores.jsonl"
    scored = [k for k in range(len(rows)) if k % 3]  # the others were not
    lines = [
        {"line": k + 1, "s_p": k / 100, "mistakes": {"total": k % 2 == 0}, "units": [1]}
        for k in scored
    ]
    scores.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    where = "(scores->>'s_p')::double >= 0.2 and (scores->'mistakes'->>'total')::boolean"
    given = ["--scores", str(scores), "--where", where]
    assert outcome(main, capsys, "select", "out.jsonl", "kept.jsonl", *given)[0] == 0
    assert read("kept.jsonl") == [rows[k] for k in scored if k >= 20 and k % 2 == 0]
    none = ["--scores", str(scores), "--where", "scores is null"]
    assert outcome(main, capsys, "select", "out.jsonl", "none.jsonl", *none)[0] == 0
    assert read("none.jsonl") == [row for k, row in enumerate(rows) if not k % 3]


@pytest.mark.parametrize("line", ['{"s_p": 1}', '{"line": true}', '{"line": 0}', "[1]", "{"])
def test_what_are_no_scores_is_said_in_a_line(run, tmp_path, capsys, line):
    scores = tmp_path / "scores.jsonl"
    scores.write_text(line + "\n", encoding="utf-8")
    given = ["--scores", str(scores), "--where", "true"]
    code, _, said = outcome(main, capsys, "select", "out.jsonl", "kept.jsonl", *given)
    assert code == 2
    assert "scores.jsonl, line 1" in said
    assert not (tmp_path / "kept.jsonl").exists()


def test_what_is_no_run_is_refused(command, tmp_path, capsys):
    make("jsonl", tmp_path)
    for arguments in (["columns", "in.jsonl"], ["select", "in.jsonl", "k.jsonl", "--where", "1=1"]):
        code, _, said = outcome(main, capsys, *arguments)
        assert code == 2
        assert "there is no `revision`" in said


@pytest.mark.parametrize("layout", ["jsonl", "llava", "csv", "coco", "beside", "tar", "parquet"])
def test_what_is_kept_may_be_written_in_another_style(command, tmp_path, capsys, layout):
    """To the byte as a run writes it that was asked for the style, there and back."""
    pytest.importorskip("datasets")
    made = make(layout, tmp_path)
    style = ["--write", "caption", "--evidence", "sidecar"]
    both, asked, there, back = (f"{n}{made.suffix}" for n in ("both", "asked", "there", "back"))
    assert command(made.source, both, *made.options).code == 0
    assert command(made.source, asked, *made.options, *style).code == 0
    assert outcome(main, capsys, "select", both, there, "--where", "true", *style)[0] == 0
    assert files_of(tmp_path / there) == files_of(tmp_path / asked)
    evidence = [(tmp_path / f"{n}.evidence.jsonl").read_bytes() for n in (there, asked)]
    assert evidence[0] == evidence[1]
    again = ["--write", "both", "--evidence", "row"]
    assert outcome(main, capsys, "select", there, back, "--where", "true", *again)[0] == 0
    assert rows_of(tmp_path / back) == rows_of(tmp_path / both)
