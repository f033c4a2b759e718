"""What the fuzzer found in commands beside the main one, each as a case of its own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import rated
from commands import outcome, program, write_input

from revise_captions.pipelines.annotate.answers.readers import Problem, read_answers
from revise_captions.pipelines.metrics import cli as metrics
from revise_captions.pipelines.rating import cli as rating
from revise_captions.pipelines.verify_revisions import cli as verify_revisions
from revise_captions.posh import cli as posh

evaluate = program(metrics.evaluate_metric)
score_posh = program(posh.score_posh)
rate = program(rating.rate_captions)
verify = program(verify_revisions.verify_revisions)

PAIR = {"generation": "A red dog stands near a tree.", "reference": "A dog stands near a tree."}


def lines(path: Path) -> list[dict]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_score_posh_names_each_line_that_it_cannot_read(tmp_path, capsys):
    good = json.dumps(PAIR)
    deep = '{"generation": ' + "[" * 100_000 + "}"
    half = json.dumps({**PAIR, "generation": "A dog \ud83d stands."})
    text = "\n".join([good, "", deep, good.replace(" ", "\r", 1), half, b"\xff".decode("latin1")])
    (tmp_path / "in.jsonl").write_bytes(text.encode("latin1"))
    out = tmp_path / "out.jsonl"
    code, _, _ = outcome(score_posh, capsys, tmp_path / "in.jsonl", out)
    assert code == 0
    assert [row["line"] for row in lines(out)] == [1, 4, 5]  # \r ends no line
    bad = lines(tmp_path / "out.quarantine.jsonl")
    assert [(row["line"], row["reason"]) for row in bad] == [
        (3, "malformed_json"),
        (6, "invalid_utf8"),
    ]


def test_score_posh_traces_an_exception_to_its_pair(tmp_path, monkeypatch, capsys):
    from revise_captions.posh import score_file

    whole = score_file.score_captions

    def broken(pairs, *more):
        pairs = list(pairs)
        if any("quokka" in pair.generation for pair in pairs):
            raise ZeroDivisionError("no such animal")
        return whole(pairs, *more)

    monkeypatch.setattr(score_file, "score_captions", broken)
    rows = [PAIR, {**PAIR, "generation": "A quokka."}, PAIR]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    code, said, _ = outcome(score_posh, capsys, tmp_path / "in.jsonl", tmp_path / "out.jsonl")
    assert code == 0
    one, three = lines(tmp_path / "out.jsonl")
    (two,) = lines(tmp_path / "out.quarantine.jsonl")
    assert (two["line"], two["detail"]) == (2, "ZeroDivisionError: no such animal")
    assert one["overall"] == three["overall"] is not None
    assert "1 rows could not be scored" in said


@pytest.fixture
def judged(command, tmp_path) -> list[dict]:
    write_input(tmp_path / "in.jsonl", 6)
    assert command("in.jsonl", "judged.jsonl").code == 0
    return lines(tmp_path / "judged.jsonl")


@pytest.mark.parametrize(
    ("key", "value"), [("rewrite", None), ("label", "x"), ("why", "x"), ("rewrite", 5)]
)
def test_verify_revisions_quarantines_sentences_that_do_not_add_up(
    judged, tmp_path, capsys, key, value
):
    sentence = judged[2]["revision"]["sentences"][0]
    if value is None:
        del sentence[key]
    else:
        sentence[key] = value
    (tmp_path / "judged.jsonl").write_text("\n".join(map(json.dumps, judged)))
    code, _, said = outcome(verify, capsys, "judged.jsonl", "out.jsonl")
    assert code == 0, said
    assert [row["id"] for row in lines(tmp_path / "out.jsonl")] == [0, 1, 3, 4, 5]
    (bad,) = lines(tmp_path / "out.quarantine.jsonl")
    assert (bad["line"], bad["reason"]) == (3, "bad_revision")


@pytest.mark.parametrize("change", [{"span": [1]}, {"span": ["a", "b"]}, {"label": 7}, None])
def test_rate_captions_names_the_row_that_it_cannot_count(judged, tmp_path, capsys, change):
    sentences = judged[3]["revision"]["sentences"]
    sentences[0] = 5 if change is None else sentences[0] | change
    (tmp_path / "judged.jsonl").write_text("\n".join(map(json.dumps, judged)))
    code, _, said = outcome(rate, capsys, "X=judged.jsonl", "--out", "board")
    assert code == 2
    assert "judged.jsonl, row 4: `revision` is not of revise-captions: " in said
    assert "Traceback" not in said


@pytest.mark.parametrize("sentences", [5, [5], [{"span": 5}], None])
def test_evaluate_metric_names_the_row_that_it_cannot_count(tmp_path, capsys, sentences):
    rated.write(tmp_path / "captions.jsonl", rated.captions())
    revision = {"signature": "threshold:0.5", "threshold": 0.5, "sentences": sentences}
    scores = rated.write(tmp_path / "s.jsonl", [{"id": "good-1", "revision": revision}])
    code, _, said = outcome(evaluate, capsys, "plain", tmp_path, scores)
    assert code == 2
    assert "s.jsonl, row 1: `revision` is not of revise-captions: TypeError" in said


@pytest.mark.parametrize("result", [5, 1.5, {"from_name": 5}, [{"from_name": ["x"]}]])
def test_an_annotation_that_cannot_be_read_is_a_problem(tmp_path, result):
    whole = {"completed_by": 1, "result": []}
    annotations = [{"completed_by": 1, "result": result}, 7, whole]
    tasks = [{"data": {"item": "a"}, "annotations": annotations}, {"data": {}, "annotations": 9}]
    (tmp_path / "answers.json").write_text(json.dumps(tasks))
    found = list(read_answers(tmp_path / "answers.json"))
    assert len(found) == 4
    kinds = [type(one).__name__ for one in found]
    assert kinds[1:] == ["Problem", "RaterAnswer", "Problem"]
    assert isinstance(found[1], Problem)
    assert found[1].detail.startswith("AttributeError")


def test_a_field_that_is_always_empty_is_said_to_be(command, tmp_path):
    (tmp_path / "in.jsonl").write_text('{"image": null, "caption": "A dog."}\n' * 3)
    ran = command("in.jsonl", "out.jsonl", "--image-field", "image")
    assert ran.code == 2
    assert 'the field "image" is empty in the first 3 rows' in ran.err
