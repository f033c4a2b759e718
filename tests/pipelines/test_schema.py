"""A revision as a row holds it: the format key by key, there and back, and what is no revision."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest

from revise_captions.errors import BadRecord, Reason
from revise_captions.pipelines.output.schema import from_json, to_json
from revise_captions.records import (
    Attempt,
    Evidence,
    Fix,
    Rationale,
    Revision,
    Sentence,
    Span,
    Unscored,
    Verdict,
    Why,
)

CAPTION = "A dog. A cat. It is odd. Gone."
TRIED = (
    Attempt("A hen.", False, Why.NOT_FACTUAL, 1, 0.2, 0.3),
    Attempt("A cow.", True, Why.BETTER, 2, 0.2, 0.95, "content words: cow"),
)
FIX = Fix(
    Span(2, 5), "cow", "object", True, "seen twice",
    (Evidence((10, 20, 30, 40), "a cow"), Evidence((0, 0, 9, 9))),
)  # fmt: skip
WHY = Rationale("a cow", (FIX, Fix(Span(5, 6), "", certain=False)))
SENTENCES = (
    Sentence(Span(0, 6), Verdict(0.9, None, True, 0.99), Verdict(0.9, None, True)),
    Sentence(Span(7, 13), Verdict(0.2, None, True), Verdict(0.95, None, True), WHY, TRIED),
    Sentence(
        Span(14, 24), Verdict(None, Unscored.LANGUAGE, None), Verdict(None, Unscored.TOO_LONG, None)
    ),
    Sentence(
        Span(25, 30), Verdict(0.1, None, False), Verdict(0.1, None, False),
        Rationale("none is there"),
        (Attempt("", True, Why.DELETED, 1, 0.1),), dropped=True,
    ),
)  # fmt: skip
REVISION = Revision(
    CAPTION, "A dog. A cow. It is odd.", SENTENCES, 2, "critic:x", "", 0.4, "scenes"
)


def stored(revision: Revision = REVISION, **more: bool) -> dict:
    return json.loads(json.dumps(to_json(revision, **more)))


def test_a_row_gains_exactly_this():
    found = stored()
    assert found["revised_caption"] == "A dog. A cow. It is odd."
    assert list(found["revision"]) == ["signature", "expert", "threshold", "rounds", "sentences"]
    assert [found["revision"][key] for key in ("signature", "expert", "threshold", "rounds")] == [
        "critic:x", "scenes", 0.4, 2,
    ]  # fmt: skip
    fine, mended, odd, gone = found["revision"]["sentences"]
    assert fine == {
        "span": [0, 6], "label": "factual", "reason": None, "assessable": True, "p_factual": 0.9,
        "share": 0.99, "rationale": None, "fixes": [], "rewrite": None, "accepted": None,
        "why": None, "p_after": 0.9, "reason_after": None, "dropped": False, "attempts": [],
    }  # fmt: skip
    assert mended == {
        "span": [7, 13], "label": "nonfactual", "reason": None, "assessable": True,
        "p_factual": 0.2, "share": None, "rationale": "a cow",
        "fixes": [
            {"span": [2, 5], "right": "cow", "kind": "object", "certain": True,
             "basis": "seen twice",
             "evidence": [{"box": [10, 20, 30, 40], "label": "a cow"},
                          {"box": [0, 0, 9, 9], "label": ""}]},
            {"span": [5, 6], "right": "", "kind": "", "certain": False, "basis": "",
             "evidence": []},
        ],
        "rewrite": "A cow.",
        "accepted": True, "why": str(Why.BETTER), "p_after": 0.95, "reason_after": None,
        "dropped": False,
        "attempts": [
            {"text": "A hen.", "accepted": False, "why": str(Why.NOT_FACTUAL), "round": 1,
             "p_before": 0.2, "p_after": 0.3, "warning": ""},
            {"text": "A cow.", "accepted": True, "why": str(Why.BETTER), "round": 2,
             "p_before": 0.2, "p_after": 0.95, "warning": "content words: cow"},
        ],
    }  # fmt: skip
    assert (odd["label"], odd["reason"], odd["reason_after"]) == (
        "unscored", str(Unscored.LANGUAGE), str(Unscored.TOO_LONG),
    )  # fmt: skip
    assert (gone["dropped"], gone["p_after"], gone["reason_after"]) == (True, None, None)
    assert (gone["rewrite"], gone["accepted"], gone["assessable"]) == ("", True, False)


def test_a_refused_rewrite_is_shown_as_the_last_one():
    sentence = replace(SENTENCES[1], attempts=TRIED[:1], now=Verdict(0.2, None, True))
    (found,) = stored(replace(REVISION, sentences=(sentence,)))["revision"]["sentences"]
    assert (found["rewrite"], found["accepted"]) == ("A hen.", False)


def test_an_error_and_a_need_for_review_are_said():
    assert list(stored(replace(REVISION, error="KeyError"))["revision"]) == [
        "signature", "expert", "threshold", "rounds", "error", "sentences",
    ]  # fmt: skip
    assert list(stored(replace(REVISION, expert=""))["revision"]) == [
        "signature", "threshold", "rounds", "sentences",
    ]  # fmt: skip
    assert stored(review=True)["revision"]["needs_review"] is False
    wrong = replace(REVISION, sentences=(replace(SENTENCES[1], now=Verdict(0.2, None, True)),))
    assert stored(wrong, review=True)["revision"]["needs_review"] is True


def test_what_an_uncertain_fix_might_mend_needs_review():
    """The first sentence's fixes are one that is certain and one that is not."""
    told = SENTENCES[1].rationale
    assert told is not None
    sure = replace(told, fixes=told.fixes[:1])
    for rationale, p, needed in ((told, 0.2, True), (sure, 0.2, None), (told, 0.9, None)):
        left = replace(SENTENCES[1], now=Verdict(p, None, True), rationale=rationale)
        row = stored(replace(REVISION, sentences=(left,)))["revision"]
        assert row.get("needs_review") is needed


@pytest.mark.parametrize("whole", [False, True])
def test_there_and_back(whole):
    for revision in (REVISION, replace(REVISION, error="KeyError: 'x'", rounds=0)):
        assert from_json(CAPTION, stored(revision), whole=whole) == revision


def test_the_threshold_of_a_revision_labels_its_sentences():
    """0.9, 0.2, unscored, 0.1."""
    for threshold, labels in ((0.1, "ffuf"), (0.15, "ffun"), (0.4, "fnun"), (0.95, "nnun")):
        found = stored(replace(REVISION, threshold=threshold))["revision"]
        assert found["threshold"] == threshold
        assert "".join(s["label"][0] for s in found["sentences"]) == labels
    wrong = replace(REVISION, sentences=(replace(SENTENCES[0], now=Verdict(0.5)),))
    for threshold, needed in ((0.5, False), (0.6, True)):
        row = stored(replace(wrong, threshold=threshold), review=True)
        assert row["revision"]["needs_review"] is needed


def test_a_row_with_one_critic_names_no_expert():
    row = stored(replace(REVISION, expert=""))
    assert "expert" not in row["revision"]
    assert from_json(CAPTION, row).expert == ""


def test_rows_of_early_versions_have_no_share():
    row = stored()
    for sentence in row["revision"]["sentences"]:
        del sentence["share"]
    assert from_json(CAPTION, row).sentences[0].verdict.answer_mass is None


def test_bounds_belong_to_the_format():
    row = stored()
    first = row["revision"]["sentences"][0]
    for p in (0, 1, 0.5):
        first["p_factual"] = first["p_after"] = first["share"] = p
        assert from_json(CAPTION, row).sentences[0].verdict.p_factual == p
    for rounds in (0, 1000):
        row["revision"]["rounds"] = rounds
        assert from_json(CAPTION, row).rounds == rounds


#: Where in a row, what stands there instead, and what is said of it.
WRONG = [
    (("revised_caption",), 7, "not of the kind expected"),
    (("revision", "signature"), None, "not of the kind expected"),
    (("revision", "expert"), 5, "not of the kind expected"),
    (("revision", "threshold"), "0.5", "not of the kind expected"),
    (("revision", "threshold"), None, "not of the kind expected"),
    (("revision", "threshold"), 1.5, "threshold is 1.5"),
    (("revision", "threshold"), -0.5, "threshold is -0.5"),
    (("revision", "threshold"), float("nan"), "threshold is nan"),
    (("revision", "rounds"), -1, "-1 rounds"),
    (("revision", "rounds"), 1001, "1001 rounds"),
    (("revision", "rounds"), "2", "not of the kind expected"),
    (("revision", "error"), 5, "not of the kind expected"),
    (("revision", "sentences", 0, "span"), [0, 31], "does not fit a caption of 30 characters"),
    (("revision", "sentences", 0, "span"), [3, 3], "span [3, 3] does not fit"),
    (("revision", "sentences", 0, "span"), [-1, 3], "span [-1, 3] does not fit"),
    (("revision", "sentences", 1, "span"), [5, 13], "span [5, 13] does not fit"),
    (("revision", "sentences", 0, "span"), [0], "not enough values"),
    (("revision", "sentences", 0, "p_factual"), 1.01, "p_factual is 1.01, expected a number"),
    (("revision", "sentences", 0, "p_factual"), -0.01, "p_factual is -0.01"),
    (("revision", "sentences", 0, "p_factual"), "0.9", "not of the kind expected"),
    (("revision", "sentences", 0, "p_factual"), None, "a sentence has p_factual or reason"),
    (("revision", "sentences", 0, "reason"), str(Unscored.LANGUAGE), "p_factual or reason"),
    (("revision", "sentences", 2, "reason"), "whatever", "is not a valid Unscored"),
    (("revision", "sentences", 0, "share"), 2, "share is 2, expected a number from 0 to 1"),
    (("revision", "sentences", 0, "assessable"), "yes", "not of the kind expected"),
    (("revision", "sentences", 0, "p_after"), None, "a sentence has p_after or reason_after"),
    (("revision", "sentences", 0, "p_after"), 1.5, "p_after is 1.5"),
    (("revision", "sentences", 2, "reason_after"), "whatever", "is not a valid Unscored"),
    (("revision", "sentences", 1, "rationale"), 3, "not of the kind expected"),
    (("revision", "sentences", 1, "fixes"), 3, "not iterable"),
    (("revision", "sentences", 1, "fixes", 0, "span"), [2, 7], "outside a sentence of 6 charact"),
    (("revision", "sentences", 1, "fixes", 0, "span"), [-1, 2], "outside a sentence of 6 charact"),
    (("revision", "sentences", 1, "fixes", 0, "span"), [4, 2], "outside a sentence of 6 charact"),
    (("revision", "sentences", 1, "fixes", 0, "span"), [2], "not enough values"),
    (("revision", "sentences", 1, "fixes", 0, "span"), ["2", 5], "not of the kind expected"),
    (("revision", "sentences", 1, "fixes", 0, "right"), None, "not of the kind expected"),
    (("revision", "sentences", 1, "fixes", 0, "kind"), 1, "not of the kind expected"),
    (("revision", "sentences", 1, "fixes", 0, "certain"), 1, "not of the kind expected"),
    (("revision", "sentences", 1, "fixes", 0, "basis"), [], "not of the kind expected"),
    (("revision", "sentences", 1, "fixes", 0, "evidence"), 1, "not iterable"),
    (("revision", "sentences", 1, "fixes", 0, "evidence", 0, "box"), [1, 2, 3], "not enough"),
    (("revision", "sentences", 1, "fixes", 0, "evidence", 0, "box"), [1, 2, 3, 4.5], "not of the"),
    (("revision", "sentences", 1, "fixes", 0, "evidence", 0, "label"), None, "not of the kind"),
    (("revision", "sentences", 1, "attempts", 0, "text"), None, "not of the kind expected"),
    (("revision", "sentences", 1, "attempts", 0, "accepted"), 0, "not of the kind expected"),
    (("revision", "sentences", 1, "attempts", 0, "why"), "whatever", "is not a valid Why"),
    (("revision", "sentences", 1, "attempts", 0, "round"), -1, "-1 rounds"),
    (("revision", "sentences", 1, "attempts", 0, "p_before"), 3, "p_before is 3"),
    (("revision", "sentences", 1, "attempts", 0, "p_after"), -3, "p_after is -3"),
    (("revision", "sentences", 1, "attempts", 0, "warning"), None, "not of the kind expected"),
]
#: What only sums up other keys is looked at where it will be counted.
SUMS = [
    ("rewrite", "A hen.", "rewrite is 'A hen.', expected 'A cow.'"),
    ("accepted", False, "accepted is False, expected True"),
    ("why", "", "why is '', expected"),
    ("label", "unscored", "label is 'unscored'"),
    ("label", "wrong", "label is 'wrong'"),
]


def spoiled(place: tuple[str | int, ...], value: object) -> dict:
    row = copy.deepcopy(stored())
    inner = row
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return row


@pytest.mark.parametrize(("place", "value", "said"), WRONG)
def test_what_is_no_revision_is_one_bad_record(place, value, said):
    with pytest.raises(BadRecord) as found:
        from_json(CAPTION, spoiled(place, value))
    assert found.value.reason is Reason.BAD_REVISION
    assert said in found.value.detail
    fits = "does not fit" in said
    assert fits or found.value.detail.startswith("`revision` was not written by `--stage critique`")


@pytest.mark.parametrize(("before", "after"), [("text", ""), ("", "text"), ("text", "other")])
def test_who_decided_by_a_part_of_a_sentence_stands_in_the_row(before, after):
    first, *others = SENTENCES
    verdict, now = replace(first.verdict, by=before), replace(first.now, by=after)
    found = stored(replace(REVISION, sentences=(replace(first, verdict=verdict, now=now), *others)))
    told, silent = found["revision"]["sentences"][:2]
    assert (told["by"], told["by_after"]) == (before, after)
    assert "by" not in silent
    assert "by_after" not in silent


@pytest.mark.parametrize("span", [[0, 2], [0, 0], [0, 6], [6, 6]])
def test_a_fix_may_begin_and_end_where_its_sentence_does(span):
    draft = from_json(CAPTION, spoiled(("revision", "sentences", 1, "fixes", 0, "span"), span))
    assert list(draft.sentences[1].rationale.fixes[0].span) == span


@pytest.mark.parametrize("key", ["span", "p_factual", "reason", "assessable", "rationale", "fixes",
                                 "p_after", "reason_after", "dropped", "attempts"])  # fmt: skip
def test_every_key_is_needed(key):
    row = stored()
    del row["revision"]["sentences"][1][key]
    with pytest.raises(BadRecord, match=key):
        from_json(CAPTION, row)


@pytest.mark.parametrize("key", ["span", "right", "kind", "certain", "basis", "evidence"])
def test_every_key_of_a_fix_is_needed(key):
    row = stored()
    del row["revision"]["sentences"][1]["fixes"][0][key]
    with pytest.raises(BadRecord, match=key):
        from_json(CAPTION, row)


def test_the_threshold_is_needed():
    row = stored()
    del row["revision"]["threshold"]
    with pytest.raises(BadRecord, match="threshold"):
        from_json(CAPTION, row)


@pytest.mark.parametrize(("key", "value", "said"), SUMS)
def test_sums_must_follow_where_they_are_counted(key, value, said):
    row = spoiled(("revision", "sentences", 1, key), value)
    from_json(CAPTION, row)
    with pytest.raises(BadRecord) as found:
        from_json(CAPTION, row, whole=True)
    assert said in found.value.detail
