"""DOCCI-Critique's annotation protocol: its printed examples, another implementation, exports."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revise_captions.benchmarks.annotation_protocol import verdict
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import Rating, Vote
from revise_captions.errors import UserError
from revise_captions.picturebook import raters
from revise_captions.records import Span

E, N, C, X = Vote.ENTAILMENT, Vote.NEUTRAL, Vote.CONTRADICTION, Vote.NOTHING


def ratings(*votes: Vote) -> list[Rating]:
    return [Rating(str(k), vote) for k, vote in enumerate(votes)]


def test_the_papers_table_1():
    """✓ ✓ ✗ ✗ ✓ is factual, ✗ ✓ ✗ ✗ ✓ is not, whatever kind of ✗; the longest rationale counts."""
    assert verdict(ratings(E, E, C, N, E)).factual
    rationales = [
        "There is no checkered flag visible in the image.",
        "There’s no checkered flag in the poster/mural.",
        "The background mural does feature the colors blue, white and red, but there is no "
        "checkered flag",
    ]
    votes = [(C, rationales[0]), (E, ""), (N, rationales[1]), (C, rationales[2]), (E, "")]
    found = verdict([Rating(str(k), vote, text) for k, (vote, text) in enumerate(votes)])
    assert not found.factual
    assert found.rationale == rationales[2]
    assert found.vote is None  # three against, but of two kinds


@pytest.mark.parametrize(
    ("votes", "vote", "factual", "assessable", "agreement"),
    [
        ((E, E, E, E, E), E, True, True, 1.0),
        ((X, X, X, E, E), X, True, False, 8 / 20),
        ((C, C, C, N, E), C, False, True, 6 / 20),
        ((C, N), None, False, True, 0.0),
        ((E, C), None, True, True, 0.0),  # no majority against it
        ((E,), E, True, True, None),
    ],
)
def test_majorities(votes, vote, factual, assessable, agreement):
    found = verdict(ratings(*votes))
    assert (found.vote, found.factual, found.assessable) == (vote, factual, assessable)
    assert found.agreement == (None if agreement is None else pytest.approx(agreement))


def test_no_ratings_are_no_verdict():
    with pytest.raises(ValueError, match="at least one"):
        verdict([])


@given(st.integers(0, 10_000), st.booleans(), st.booleans())
def test_as_the_simulated_raters_module_decides(seed, true, assessable):
    said = raters.rate(true, assessable, ["short", "a longer one"], random.Random(seed), slip=0.4)
    ours = [Rating(str(k), Vote(str(r.vote)), r.rationale) for k, r in enumerate(said)]
    found = verdict(ours)
    assert (found.factual, found.assessable, found.rationale) == raters.majority(said)


def test_needs_the_image():
    votes = [Rating(str(k), E, needs_image=k < 3) for k in range(5)]
    assert verdict(votes).needs_image is True
    assert verdict(votes[2:4]).needs_image is None
    assert verdict(ratings(E, E)).needs_image is None


CAPTION = "A cat sits. It is grey."


def plain(rater: str, start: int, end: int, label: str, rationale: str = "") -> dict[str, object]:
    return {
        "image": "1.png", "model": "m", "caption": CAPTION, "start": start, "end": end,
        "rater": rater, "label": label, "rationale": rationale,
    }  # fmt: skip


def test_plain_rows(tmp_path):
    rows = [plain(r, 12, 23, label, why) for r, label, why in (
        ("a", "Contradiction", "black"), ("b", "neutral", "It is black."), ("c", "Entailment", ""),
    )]  # fmt: skip
    rows += [plain("a", 0, 11, "nothing_to_assess"), plain("b", 0, 11, "Nothing to assess")]
    path = tmp_path / "annotations.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (example,) = benchmark("docci-critique").read(tmp_path)
    assert [s.span for s in example.sentences] == [Span(0, 11), Span(12, 23)]
    assert [s.factual for s in example.sentences] == [True, False]
    assert [s.assessable for s in example.sentences] == [False, True]
    assert example.sentences[1].rationale == "It is black."
    assert [r.rater for r in example.sentences[1].ratings] == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"label": "dunno"}, "the label is 'dunno'; expected one of"),
        ({"end": 99}, "0 to 99 is no span of a caption of 23"),
        ({"start": "x"}, "`start` is 'x'; expected a number"),
    ],
)
def test_bad_rows_are_named(tmp_path, change, said):
    path = tmp_path / "annotations.jsonl"
    path.write_text(json.dumps(plain("a", 0, 11, "neutral") | change))
    with pytest.raises(UserError, match=f"row 1: {said}"):
        list(benchmark("annotations").read(tmp_path))


def test_a_rater_has_one_vote(tmp_path):
    row = json.dumps(plain("a", 0, 11, "neutral")) + "\n"
    (tmp_path / "annotations.jsonl").write_text(row * 2)
    with pytest.raises(UserError, match="row 2: rater a answers twice"):
        list(benchmark("annotations").read(tmp_path))


def annotation(by: object, label: str, rationale: str, needs: str, **more: object) -> dict:
    def control(name, kind, value):
        return {"from_name": name, "to_name": "text", "type": kind, "value": value}

    return {
        "id": 1,
        "completed_by": by,
        "result": [
            control("label", "choices", {"choices": [label]}),
            control("needs_image", "choices", {"choices": [needs]}),
            control("rationale", "textarea", {"text": [rationale]}),
        ],
    } | more


def test_label_studio_export(tmp_path):
    task = {
        "id": 7,
        "data": {"image": "1.png", "model": "m", "caption": CAPTION, "start": 12, "end": 23},
        "annotations": [
            annotation(3, "Contradiction", "It is black.", "Yes"),
            annotation({"id": 4, "email": "x"}, "Neutral", "Too dark.", "No"),
            annotation(5, "Entailment", "", "Yes", was_cancelled=True),
        ],
    }
    (tmp_path / "export.json").write_text(json.dumps([task]))
    (example,) = benchmark("label-studio").read(tmp_path)
    (sentence,) = example.sentences
    assert sentence.span.of(example.caption) == "It is grey."
    assert [(r.rater, r.vote, r.needs_image) for r in sentence.ratings] == [
        ("3", C, True),
        ("4", N, False),
    ]
    assert (sentence.factual, sentence.rationale) == (False, "It is black.")
    task["annotations"][0]["result"][0]["from_name"] = "other"
    (tmp_path / "export.json").write_text(json.dumps([task]))
    with pytest.raises(UserError, match="no answer “label”; it has other, needs_image, rationale"):
        list(benchmark("label-studio").read(tmp_path))
