"""`captions rate` with scripted models: what it writes follows from the sentences it judged."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import defaultdict
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from commands import outcome, program, read, write_input
from markdown_it import MarkdownIt
from PIL import Image

from revise_captions.errors import UserError
from revise_captions.pipelines.output.error_types import type_of
from revise_captions.pipelines.rating import cli, formats
from revise_captions.pipelines.rating.autorater import RatedCaptioners, read_ratings
from revise_captions.pipelines.rating.examples import BoardEvidence
from revise_captions.pipelines.rating.human_scores import against_people, as_text
from revise_captions.pipelines.rating.leaderboard import (
    apart,
    rate_captions,
    too_few,
    write_board,
)
from revise_captions.pipelines.rating.options import RatingOptions
from revise_captions.pipelines.rating.page import lead, page
from revise_captions.records import Label
from revise_captions.stats.exact import images_to_tell
from revise_captions.stats.leaderboard import (
    Leaderboard,
    RatedSentence,
    Standing,
    collect,
    counts_of,
    rank,
)

main = program(cli.rate_captions)

FAST = ("--replicates", "200")


@pytest.fixture
def rate(command, capsys):
    """The command, after `command` has put the scripted models in place."""

    def run(*arguments: object) -> tuple[int, str, str]:
        return outcome(main, capsys, *arguments, *FAST)

    return run


def write_captions(folder: Path, images: int = 30) -> None:
    """Captions by x and y of some images, and one row that is broken."""
    write_input(folder / "in.jsonl", 2 * images)
    rows = read(folder / "in.jsonl")
    for k, row in enumerate(rows):
        row["image"], row["model"] = f"{k // 2}.png", "xy"[k % 2]
        Image.new("RGB", (9, 7), "red").save(folder / row["image"])
    lines = [json.dumps(row) for row in rows]
    (folder / "in.jsonl").write_text("\n".join([*lines, "{oops"]) + "\n")


def shares(path: Path, key: str = "label") -> dict[str, list[float]]:
    """Factual shares of the captions in a judged file, by captioner, from the rows alone."""
    found = defaultdict(list)
    for row in read(path):
        labels = [s["label"] for s in row["revision"]["sentences"]]
        found[row["model"]].append(labels.count("factual") / len(labels))
    return found


def test_the_leaderboard_is_what_the_judged_rows_say(rate, tmp_path):
    write_captions(tmp_path)
    code, out, _ = rate("in.jsonl", "--out", "board")
    assert code == 0
    board = json.loads((tmp_path / "board/leaderboard.json").read_text())
    wanted = shares(tmp_path / "board/judged-in.jsonl")
    table = {row["captioner"]: row for row in board["criteria"]["per_description"]["table"]}
    for captioner, values in wanted.items():
        assert table[captioner]["score"] == pytest.approx(sum(values) / len(values))
        assert table[captioner]["captions"] == 30
        assert table[captioner]["low"] <= table[captioner]["score"] <= table[captioner]["high"]
    responses = {row["captioner"]: row for row in board["criteria"]["response"]["table"]}
    for captioner, values in wanted.items():
        whole = sum(value == 1 for value in values) / len(values)
        assert responses[captioner]["score"] == pytest.approx(whole)
    assert board["images"] == 30
    assert "critic hash" in out
    assert out.count(" captioner ") == 3
    with (tmp_path / "board/overall.csv").open() as file:
        assert {row["captioner"] for row in csv.DictReader(file)} == {"x", "y"}
    for name in ("leaderboard.md", "leaderboard.tex"):
        assert (tmp_path / "board" / name).read_text().count(
            " & x & " if "tex" in name else " | x | "
        ) == 3
    quarantine = tmp_path / "board/judged-in.quarantine.jsonl"
    assert json.loads(quarantine.read_text())["line"] == 61


def test_one_image_gives_no_interval(rate, tmp_path):
    """It says nothing of how another image would turn out."""
    write_captions(tmp_path, images=1)
    code, out, _ = rate("in.jsonl", "--out", "board")
    assert code == 0
    board = json.loads((tmp_path / "board/leaderboard.json").read_text())
    for criterion in board["criteria"].values():
        rows = criterion["table"]
        assert [(row["low"], row["high"]) for row in rows] == [(None, None)] * len(rows)
    errors = board["errors"]["table"] if board["errors"] else []
    assert all(cell["low"] is None for row in errors for cell in row["kinds"].values())
    assert "\n1 image; intervals" in out


def test_captions_that_nobody_can_judge_make_no_leaderboard(rate, tmp_path):
    write_captions(tmp_path)
    lines = (tmp_path / "in.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines if line.endswith("}")]
    for row in rows:
        row["caption"] = "Пёс бежит."
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, _, err = rate("in.jsonl", "--out", "board")
    assert code == 4
    assert "--allow-unscored" in err
    assert not (tmp_path / "board").exists()
    assert not (tmp_path / "board/leaderboard.json").exists()
    assert rate("in.jsonl", "--out", "board", "--allow-unscored")[0] == 0


def test_a_captioner_is_added_without_judging_the_others(rate, tmp_path, monkeypatch):
    write_captions(tmp_path)
    assert rate("in.jsonl", "--out", "board")[0] == 0
    before = {r["captioner"]: r for r in overall(tmp_path)}
    rows = [{**row, "caption": row["caption"][::-1]} for row in read_some(tmp_path / "in.jsonl")]
    (tmp_path / "z.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows[::2]))
    monkeypatch.setenv("SCRIPTED_CALLS", str(tmp_path / "calls"))
    assert rate("Z=z.jsonl", "--out", "board")[0] == 0
    assert len((tmp_path / "calls").read_text().splitlines()) == 30
    after = {r["captioner"]: r for r in overall(tmp_path)}
    assert set(after) == {"x", "y", "Z"}
    for name, row in before.items():
        same = ("score", "low", "high", "captions")
        assert [after[name][key] for key in same] == [row[key] for key in same]
    code, _, err = rate("Z=z.jsonl", "--out", "board")
    assert (code, "already has Z" in err) == (2, True)
    assert len((tmp_path / "calls").read_text().splitlines()) == 30  # nothing was judged for it


def read_some(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines() if line != "{oops"]


def overall(folder: Path) -> list[dict]:
    board = json.loads((folder / "board/leaderboard.json").read_text())
    return board["criteria"]["overall"]["table"]


def test_another_critic_is_not_mixed_in(rate, tmp_path, monkeypatch):
    write_captions(tmp_path)
    assert rate("in.jsonl", "--out", "board")[0] == 0
    stored = (tmp_path / "board/ratings.json").read_bytes()
    monkeypatch.setenv("SCRIPTED_CRITIC", "another")
    code, _, err = rate("Z=in.jsonl", "--out", "board")
    assert code == 2
    assert "critic: hash and another" in err
    monkeypatch.delenv("SCRIPTED_CRITIC")
    code, _, err = rate("Z=in.jsonl", "--out", "board", "--threshold", "0.7")
    assert (code, "threshold: 0.5000 and 0.7000" in err) == (2, True)
    assert (tmp_path / "board/ratings.json").read_bytes() == stored


def test_the_main_commands_output_is_ranked_before_and_after(command, rate, tmp_path):
    write_captions(tmp_path)
    assert command("in.jsonl", "revised.jsonl").code == 0
    assert rate("revised.jsonl", "--out", "board")[0] == 0
    table = {row["captioner"]: row for row in overall(tmp_path)}
    assert set(table) == {"x", "y", "x, revised", "y, revised"}
    total = right = 0
    for row in read(tmp_path / "revised.jsonl"):
        if row["model"] == "x":
            standing = [s for s in row["revision"]["sentences"] if not s["dropped"]]
            right += sum(s["p_after"] >= 0.5 for s in standing)
            total += len(standing)
    assert table["x, revised"]["score"] == pytest.approx(right / total)
    assert table["x, revised"]["score"] > table["x"]["score"]


def flagged(path: Path) -> list[tuple[str, str, dict]]:
    return [
        (row["model"], row["image"], s)
        for row in read(path)
        for s in row["revision"]["sentences"]
        if s["label"] == "nonfactual"
    ]


def test_errors_are_counted_by_kind(rate, tmp_path):
    """Rationales of the scripted critic name nothing; the input's own labels come first."""
    write_captions(tmp_path)
    rows = []
    for row in read_some(tmp_path / "in.jsonl"):
        if row["model"] == "y":
            # all but the last word of the caption: every sentence overlaps it
            row["sentences"] = [
                {"start": 0, "end": 3, "error_type": "colour"},
                {"start": 3, "end": len(row["caption"]), "error_types": ["shape", "size"]},
            ]
        rows.append(row)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    code, out, _ = rate("in.jsonl", "--out", "board")
    assert code == 0
    wrong = flagged(tmp_path / "board/judged-in.jsonl")
    first = sum(model == "y" and s["span"][0] == 0 for model, _, s in wrong)
    others = sum(model == "y" for model, _, _ in wrong) - first
    errors = json.loads((tmp_path / "board/leaderboard.json").read_text())["errors"]
    rates = {row["captioner"]: row["kinds"] for row in errors["table"]}
    counts = {k: rates["y"][k]["sentences"] for k in ("colour", "shape")}
    assert counts == {"colour": first, "shape": others}
    kinds = {type_of(*said(s, rows, image)) for model, image, s in wrong if model == "x"}
    assert {k for k, cell in rates["x"].items() if cell["sentences"]} == kinds
    total = sum(cell["sentences"] for cell in rates["x"].values())
    assert total == sum(model == "x" for model, _, _ in wrong)
    for cell in rates["y"].values():
        if cell["sentences"]:
            assert cell["low"] <= cell["rate"] <= cell["high"]
    assert "kinds of errors: flagged sentences per hundred judged" in out
    with (tmp_path / "board/errors.csv").open() as file:
        table = {(r["captioner"], r["kind"]): r for r in csv.DictReader(file)}
    assert int(table["y", "shape"]["sentences"]) == others
    # kept in the counts, so that a captioner can be added
    again = read_ratings(tmp_path / "board/ratings.json").errors
    assert sum(n for kinds in again["y"].values() for n in kinds.values()) == first + others


def said(sentence: dict, rows: list[dict], image: str) -> tuple[str, str]:
    (caption,) = (r["caption"] for r in rows if r["image"] == image and r["model"] == "x")
    return caption[slice(*sentence["span"])], sentence["rationale"] or ""


def test_ratings_without_kinds_are_still_read(rate, tmp_path):
    write_captions(tmp_path)
    assert rate("in.jsonl", "--out", "board")[0] == 0
    path = tmp_path / "board/ratings.json"
    stored = json.loads(path.read_text())
    del stored["errors"]
    path.write_text(json.dumps(stored))
    assert rate("--out", "board")[0] == 0
    assert json.loads((tmp_path / "board/leaderboard.json").read_text())["errors"] is None


def test_the_board_beside_peoples_scores(rate, tmp_path):
    write_captions(tmp_path)
    rows = [
        {**row, "model": "xyz"[k % 3]} for k, row in enumerate(read_some(tmp_path / "in.jsonl"))
    ]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert rate("in.jsonl", "--out", "board")[0] == 0
    shares = {row["captioner"]: row["score"] for row in overall(tmp_path)}
    people = tmp_path / "people.csv"
    people.write_text(
        "captioner,score\n" + "".join(f"{k},{9 - 2 * v}\n" for k, v in shares.items())
    )
    code, out, _ = rate("--out", "board", "--people", people)
    assert code == 0
    board = json.loads((tmp_path / "board/leaderboard.json").read_text())
    found = board["people"]["criteria"]["overall"]
    assert found["correlations"]["pearson"]["value"] == pytest.approx(-1)
    assert found["correlations"]["spearman"]["value"] == pytest.approx(-1)
    assert "against people, 3 captioners" in out
    people.write_text(
        "captioner,response,per_description\n"
        + "".join(f"{k},{v},{-v}\n" for k, v in shares.items())
    )
    assert rate("--out", "board", "--people", people)[0] == 0
    board = json.loads((tmp_path / "board/leaderboard.json").read_text())
    assert list(board["people"]["criteria"]) == ["response", "per_description"]
    points = board["people"]["criteria"]["per_description"]["points"]
    assert {p["captioner"]: -p["people"] for p in points} == shares
    html = (tmp_path / "board/leaderboard.html").read_text()
    assert html.count("<title>") == 4
    assert "Against people" in html


def test_who_cannot_be_compared_with_people_is_named_and_takes_nothing_from_the_others():
    rows = [
        (name, str(k), counts_of([RatedSentence(label)] * 3, 9))
        for k in range(6)
        for name, share in (("a", 1), ("b", 3), ("c", 5), ("dark", 0))
        for label in [
            Label.UNSCORED if not share else Label.FACTUAL if k < share else Label.NONFACTUAL
        ]
    ]
    people = {"overall": {"a": 1.0, "b": 2.0, "c": 3.0, "dark": 9.0, "Mole": 4.0}}
    found = against_people(collect(rows), people, 200)
    assert found["criteria"]["overall"]["correlations"]["spearman"]["value"] == pytest.approx(1)
    said = as_text(found)
    assert "only 3 could be judged" in said
    assert "not on the leaderboard: Mole" in said


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("who,score\nx,1\n", "expected the columns `captioner` and `score`"),
        ("captioner,score\nx,1\ny,2\nx,3\n", "row 3: x already has a score in an earlier row"),
        ("captioner,score\nx,high\n", "row 1: `score` is 'high'"),
        ("captioner,score\nx,nan\n", "row 1: `score` is nan"),
        ("captioner,score\nx,1\nq,2\n", "people scored 1 of the leaderboard's captioners"),
    ],
)
def test_peoples_scores_that_cannot_be_used(rate, tmp_path, text, says):
    write_captions(tmp_path)
    (tmp_path / "people.csv").write_text(text)
    code, _, err = rate("in.jsonl", "--out", "board", "--people", "people.csv")
    assert code == 2
    assert says in err


def test_tables_are_made_again_from_the_counts(rate, tmp_path):
    write_captions(tmp_path)
    assert rate("in.jsonl", "--out", "board")[0] == 0
    first = (tmp_path / "board/leaderboard.json").read_bytes()
    (tmp_path / "board/leaderboard.json").unlink()
    assert rate("--out", "board")[0] == 0
    assert (tmp_path / "board/leaderboard.json").read_bytes() == first


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("--out", "nothing"), "has no ratings.json"),
        (("gone.jsonl", "--out", "b"), "does not exist"),
        (("nameless.jsonl", "--out", "b"), "no field names its captioner"),
    ],
)
def test_mistakes_are_one_line(rate, tmp_path, arguments, says):
    write_input(tmp_path / "nameless.jsonl", 3)
    code, out, err = rate(*arguments)
    assert (code, out) == (2, "")
    assert says in err
    assert not (tmp_path / "b").exists()  # nothing was judged for it


def test_a_damaged_leaderboard_is_named(tmp_path):
    (tmp_path / "ratings.json").write_text('{"columns": ["x"], "counts": {}, "rater": {}}')
    with pytest.raises(UserError, match="not a leaderboard's ratings: `experts`: field required"):
        read_ratings(tmp_path / "ratings.json")
    with pytest.raises(UserError, match="not a leaderboard"):
        rate_captions(RatingOptions(inputs=(), out=tmp_path))


ROW = {
    "rank": "1–2", "captioner": "=A|b\n_\u202e&", "score": None, "low": None, "high": None,
    "length_controlled": 0.5, "captions": 1, "judged": 1, "sentences": 0, "unscored": 0,
    "not_assessable": 0, "words_per_caption": 3.0,
}  # fmt: skip


def test_the_number_of_judged_captions_is_shown_where_it_is_smaller():
    """Of four captions one has an unscored sentence beside a right one."""
    yes, none = RatedSentence(Label.FACTUAL), RatedSentence(Label.UNSCORED)
    rows = [("a", str(k), counts_of([yes, yes if k else none], 9)) for k in range(4)]
    for criterion, judged in (("response", 3), ("overall", 7), ("per_description", 4)):
        ratings = collect(rows)
        (row,) = formats.rows_of(rank(ratings, criterion, replicates=100), ratings, {})
        assert row["judged"] == judged
        assert ("judged" in formats.as_text([row])) == (criterion == "response")


def test_names_cannot_break_a_table():
    assert (
        formats.as_markdown([ROW]).splitlines()[2].startswith("| 1–2 | =A\\|b \\_U+202E&amp; | – |")
    )
    assert r"=A|b \_U+202E\& & -- &" in formats.as_latex([ROW])
    assert "'=A|b" in formats.as_csv([ROW])
    assert "\n" not in formats.as_text([ROW]).splitlines()[1]


NAMES = (
    *("<img src=x onerror=alert(1)>", "[a](javascript:b)", "![a](b)"),
    *("~~s~~", "`c", "**d**", "a|b", "\\|", "_e_", "&lt;"),
)


def test_names_are_text_in_every_format():
    """Read back by a Markdown renderer: each name is its cell's text, and there is no markup."""
    render = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"]).render
    for name in NAMES:
        for titles in (["kind", "n"], [name, "n"]):
            text = formats.markdown_table([titles, [name, "1"]], left=0)
            page = render(text)
            cells = re.findall(r"<t[dh](?: [^>]*)?>(.*?)</t[dh]>", page, re.DOTALL)
            assert [unescape(cell) for cell in cells] == [*titles, name, "1"]
            assert all("<" not in cell for cell in cells)
    assert formats.markdown_table([["gpt_4o-mini (v2)"], ["1"]], left=0).startswith(
        "| gpt_4o-mini (v2) |"
    )


def test_no_name_is_an_argument_or_a_formula():
    assert "\n{}[9cm] &" in formats.latex_table([["a", "b"], ["[9cm]", "1"], ["*", "2"]], left=0)
    for name in ("=1+1", "+1", "-1", "@x", "|calc", "＝1", " =1", "\t=1", "%0A"):
        (row,) = csv.DictReader(io.StringIO(formats.as_csv([{**ROW, "captioner": name}])))
        assert row["captioner"] == f"'{name}"


def test_the_page_shows_every_captioner_and_runs_nothing(rate, tmp_path):
    rows = []
    write_captions(tmp_path)
    for k, row in enumerate(read_some(tmp_path / "in.jsonl")):
        row["model"] = ("<script>alert(1)</script>", "a\u202eb", "plain")[k % 3]
        rows.append(row)
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert rate("in.jsonl", "--out", "board")[0] == 0
    html = (tmp_path / "board/leaderboard.html").read_text()
    assert "<script" not in html
    assert "&lt;script&gt;alert(1)" in html
    assert "aU+202Eb" in html
    assert "script-src &#39;none&#39;" in html
    assert " style=" not in html  # the content policy would not let it through
    assert html.count('<circle class="after"') == 9


def test_the_worst_sentences_stand_behind_each_score(rate, tmp_path):
    write_captions(tmp_path)
    assert rate("in.jsonl", "--out", "board")[0] == 0
    html = unescape((tmp_path / "board/leaderboard.html").read_text())
    worst: dict[str, list] = {}
    for row in read(tmp_path / "board/judged-in.jsonl"):
        for s in row["revision"]["sentences"]:
            if s["label"] == "nonfactual":
                found = (s["p_factual"], row["image"], row["caption"][slice(*s["span"])])
                worst.setdefault(row["model"], []).append(found)
    captioners = [row["captioner"] for row in overall(tmp_path)]
    cards = re.findall(r'id="examples-(\d+)">(.*?)</article>', html, re.DOTALL)
    assert [int(place) for place, _ in cards] == list(reversed(range(len(captioners))))
    for place, card in cards:
        assert f'href="#examples-{place}"' in html
        expected = [text for _, _, text in sorted(worst[captioners[int(place)]])[:5]]
        assert re.findall(r'<span class="s bad">(.*?)</span>', card) == expected
    kept = read_ratings(tmp_path / "board/ratings.json").evidence
    assert {who: [one.text for one in of] for who, of in kept.worst.items()} == {
        who: [text for _, _, text in sorted(of)[:5]] for who, of in worst.items()
    }


def test_who_could_not_be_judged_beats_nobody_and_is_beaten_by_nobody(tmp_path):
    yes, none = RatedSentence(Label.FACTUAL), RatedSentence(Label.UNSCORED)
    rows = [(n, str(k), counts_of([s], 9)) for k in range(12) for n, s in (("a", yes), ("z", none))]
    write_board(tmp_path, RatedCaptioners(collect(rows), {}), 100)
    html = (tmp_path / "leaderboard.html").read_text()
    assert html.count('class="self"') == 4
    assert "a leads: 100.0 % of its sentences are factual, more than" in html


def test_a_board_of_nothing_judged_has_no_plot_and_says_why(rate, tmp_path):
    write_captions(tmp_path)
    assert rate("in.jsonl", "--out", "board")[0] == 0
    board = json.loads((tmp_path / "board/leaderboard.json").read_text())
    for criterion in board["criteria"].values():
        for row in criterion["table"]:
            row |= dict.fromkeys(("score", "low", "high", "length_controlled"))
    evidence = BoardEvidence()
    evidence.add("x", (), ["outside the model's domain"] * 3)
    html = unescape(page(board, evidence))
    assert "No sentence could be judged" in html
    assert "Unscored: 3 outside the model's domain." in html
    assert "<svg" not in html
    assert 'class="board"' not in html


def table(*ranks: str) -> list[dict]:
    return [{"rank": r, "captioner": f"c{k}", "score": 0.9} for k, r in enumerate(ranks)]


def test_the_page_claims_what_the_ranks_say():
    assert lead(table("1", "2–3", "2–3")).startswith("c0 leads: 90.0 %")
    assert lead(table("1–2", "1–2", "3")).startswith("c0 and c1 share the first place")
    assert lead(table("1–3", "1–3", "1–3")).startswith("No order can be claimed")
    assert lead([{"rank": "1", "captioner": "x", "score": None}]).startswith("No sentence")


def test_two_inputs_of_one_name_do_not_share_what_is_judged(rate, tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        write_captions(tmp_path / name)
    code, _, _ = rate("A=a/in.jsonl", "B=b/in.jsonl", "--out", "board")
    assert code == 0
    judged = sorted(path.name for path in (tmp_path / "board").glob("judged-*in.jsonl"))
    assert judged == ["judged-a_in.jsonl", "judged-b_in.jsonl"]


@pytest.mark.parametrize(("images", "few"), [(10, True), (11, False)])
def test_ten_images_are_too_few_and_the_judging_prints_no_table(rate, tmp_path, images, few):
    write_captions(tmp_path, images)
    code, out, err = rate("in.jsonl", "--out", "board")
    assert code == 0
    says = f"{images} images: too few to tell captioners apart. A difference of five points"
    pages = [
        out,
        *((tmp_path / f"board/leaderboard.{kind}").read_text() for kind in ("md", "html")),
    ]
    assert [says in text for text in pages] == [few] * 3
    assert "Factuality" not in out + err  # as a run says of what it rewrote
    assert "rows that cannot be judged are in board/judged-in.quarantine.jsonl" in err


@pytest.mark.parametrize(
    ("captioners", "images", "least", "needed"),
    # with 91 pairs 91 · (2⁻¹¹ + 1/10,001) is .0535, and 91 · (2⁻¹² + 1/10,001) is .0313
    [(14, 12, 91 / 10_001, 13), (14, 13, 91 / 10_001, None), (13, 12, 78 / 10_001, None)],
)
def test_so_few_images_that_no_test_can_tell_captioners_apart(captioners, images, least, needed):
    standings = tuple(Standing(str(n), 0.5, 0.4, 0.6, 1, captioners) for n in range(captioners))
    board = Leaderboard("overall", standings, np.ones((2, 2)), np.ones((2, 2)), 10_000, least)
    said = too_few(board, images)
    assert (f"before there are {needed} images" in said) if needed else said == ""


def test_captioners_without_a_common_image_are_named():
    one = counts_of([RatedSentence(Label.FACTUAL)], 9)
    folders = (("a", ""), ("b", ""), ("c", "./"))
    rows = [(name, f"{folder}{k}", one) for name, folder in folders for k in range(9)]
    assert apart(collect(rows[:18])) == ""
    assert apart(collect(rows)).startswith("a and c have no image in common (one of 2 such pairs)")


def test_a_captioner_without_an_error_has_the_exact_interval():
    """10 of 10 images: from 0.025 ** (1/10) to 1."""
    rows = [("a", str(k), (1, 1, 1, 1, 1.0, 2, 2, 2, 0, 0, 9)) for k in range(10)]
    (standing,) = rank(collect(rows), "response", replicates=100).standings
    assert (standing.value, standing.high) == (1, 1)
    assert standing.low == pytest.approx(0.025**0.1)


def test_how_many_images_a_difference_takes():
    """.50 against .55, by the textbook's formula without correction: (1.96 + .8416)² / .005."""
    assert images_to_tell(0.5) == pytest.approx((1.95996 + 0.84162) ** 2 * 0.5 / 0.05**2, abs=1)
