"""`dcscore` end to end: bad rows, hostile text, pages, intervals, the critic as verifier."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner
from PIL import Image

from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.dcscore.cli import score_dcscore
from revise_captions.dcscore.load import load_scorer
from revise_captions.dcscore.options import DcscoreOptions, UnitModels
from revise_captions.dcscore.run import run
from revise_captions.dcscore.verifiers import CriticVerifier
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.io.source import WINDOW
from revise_captions.records import Verdict

ROWS = [
    {"caption": "A small dog sits on a red mat.", "reference": "A dog sits on a blue mat."},
    {"caption": "这是一只狗。", "reference": "A dog."},
    {"caption": "<script>alert(1)</script>\u202e </PREFIX> {{ 7 * 7 }}", "reference": "A dog."},
    {"caption": "", "reference": "A dog."},
    {"caption": "A dog.", "reference": 3},
    {"caption": "A dog.", "oracle_facts": ["There is a dog.", "It is red."], "reference": "A dog."},
    {"caption": "A dog."},
]


@pytest.fixture(scope="module")
def scorer():
    return load_scorer(UnitModels(placement=Placement(device="cpu")))


def written(path, rows):
    path.write_text("\n".join(map(json.dumps, rows)) + "\nno json\n", encoding="utf-8")
    return str(path)


def test_rows_that_cannot_be_scored_are_named_and_nothing_is_lost(tmp_path, scorer):
    source = written(tmp_path / "in.jsonl", ROWS)
    out, html = tmp_path / "out.jsonl", tmp_path / "out.html"
    found = run(DcscoreOptions(source, out, html=html), scorer)
    lines = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    bad = [json.loads(line) for line in found.quarantine.read_text("utf-8").splitlines()]
    assert [line["line"] for line in lines] == [1, 2, 3, 6]
    assert [(row["line"], row["reason"]) for row in bad] == [
        (4, "empty_caption"), (5, "bad_reference"), (7, "bad_reference"), (8, "malformed_json"),
    ]  # fmt: skip
    assert (found.rows, found.quarantined) == (4, 4)
    first = lines[0]
    units = {unit["text"]: unit for unit in first["units"]}
    assert units["There is a red mat."]["correct"] is False
    assert ROWS[0]["caption"][slice(*units["There is a red mat."]["span"])] == "red"
    assert any(unit["missed"] for unit in first["reference"]["units"])
    assert first["reference"]["units_by"] == "decomposer"
    assert lines[3]["reference"]["units_by"] == "hand"
    assert lines[1]["dcscore"] is None
    assert "not English" in lines[1]["unscored"]
    assert "verifier:reference-only" in first["signature"]
    page = html.read_text(encoding="utf-8")
    assert "<script>alert" not in page
    assert "{{ 7 * 7 }}" in page
    assert '<mark class="bad">red</mark>' in page


def test_the_image_is_judged(tmp_path, scorer):
    Image.new("RGB", (32, 32), (200, 10, 10)).save(tmp_path / "a.png")
    rows = [
        {"image": "a.png", "caption": "A small dog sits.", "reference": "A dog sits."},
        {"image": "gone.png", "caption": "A dog.", "reference": "A dog."},
        {"image": "a.png", "caption": "A small dog sits."},
    ]
    critic = ScriptedCritic({"There is a small dog.": Verdict(0.2)})
    seeing = type(scorer)(scorer.decomposer, scorer.matcher, CriticVerifier(critic))
    source = written(tmp_path / "in.jsonl", rows)
    out = tmp_path / "out.jsonl"
    run(DcscoreOptions(source, out, UnitModels(verifier=("bundled",))), seeing)
    both, alone = map(json.loads, out.read_text(encoding="utf-8").splitlines())
    assert both["s_p"] == pytest.approx(2 / 3, abs=1e-6)
    assert both["s_r"] == 1
    bad = (tmp_path / "out.quarantine.jsonl").read_text("utf-8")
    assert [json.loads(line)["reason"] for line in bad.splitlines()] == [
        "image_not_found", "malformed_json",
    ]  # fmt: skip
    assert (alone["s_r"], alone["dcscore"]) == (None, None)
    assert alone["unscored"] == "no reference: only s_p can be had"


def test_the_command_refuses_what_it_reads_and_a_blind_vote(tmp_path):
    source = written(tmp_path / "in.jsonl", ROWS[:1])
    again = CliRunner().invoke(score_dcscore, [source, source, "--force"])
    assert isinstance(again.exception, UserError)
    blind = ["--verifier", "reference", "--verifier", "bundled"]
    both = CliRunner().invoke(score_dcscore, [source, str(tmp_path / "o.jsonl"), *blind])
    assert "ignores the image" in str(both.exception)
    assert not (tmp_path / "o.jsonl").exists()


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path, scorer, monkeypatch):
    rows = [ROWS[k % len(ROWS)] for k in range(3 * WINDOW)]
    source = written(tmp_path / "in.jsonl", rows)
    whole, cut = tmp_path / "whole.jsonl", tmp_path / "cut.jsonl"

    def job(out, **options):
        html = out.with_suffix(".html")
        return DcscoreOptions(source, out, html=html, **options)

    run(job(whole), scorer)
    asked = []

    class Counted:
        settings = scorer.settings

        def score(self, tasks):
            asked.append(len(tasks))
            if len(asked) == 2:
                raise KeyboardInterrupt
            return scorer.score(tasks)

    with pytest.raises(KeyboardInterrupt):
        run(job(cut), Counted())
    assert not cut.exists()
    with pytest.raises(UserError, match="did not finish"):
        run(job(cut), Counted())
    run(job(cut, resume=True), Counted())
    assert len(asked) == 2 + 3  # the first of four windows is not scored again
    assert cut.read_bytes() == whole.read_bytes()
    assert cut.with_suffix(".html").read_bytes() == whole.with_suffix(".html").read_bytes()
    assert not list(tmp_path.glob("*.journal"))


def test_a_finished_run_has_nothing_to_resume(tmp_path, scorer, capsys):
    source = written(tmp_path / "in.jsonl", ROWS)
    out = tmp_path / "out.jsonl"
    run(DcscoreOptions(source, out), scorer)
    before = out.read_bytes()
    capsys.readouterr()
    assert run(DcscoreOptions(source, out, resume=True)) is None
    assert "out.jsonl is already complete: " in capsys.readouterr().err
    assert out.read_bytes() == before
    written(tmp_path / "in.jsonl", [*ROWS, ROWS[0]])
    with pytest.raises(UserError, match="exists"):
        run(DcscoreOptions(source, out, resume=True), scorer)


def test_a_row_that_the_metric_raises_on_is_quarantined_alone(tmp_path, scorer):
    class Broken:
        settings = scorer.settings

        def score(self, tasks):
            if any("quokka" in task.caption for task in tasks):
                raise ZeroDivisionError("no such animal")
            return scorer.score(tasks)

    rows = [ROWS[0], {**ROWS[0], "caption": "A quokka."}, ROWS[0]]
    source, out = written(tmp_path / "in.jsonl", rows), tmp_path / "out.jsonl"
    found = run(DcscoreOptions(source, out), Broken())
    assert (found.rows, found.quarantined) == (2, 2)
    one, three = map(json.loads, out.read_text("utf-8").splitlines())
    assert (one["line"], three["line"]) == (1, 3)
    assert one["units"] == three["units"]
    bad = json.loads(found.quarantine.read_text("utf-8").splitlines()[0])
    assert bad["line"] == 2
    assert "ZeroDivisionError: no such animal" in bad["detail"]
