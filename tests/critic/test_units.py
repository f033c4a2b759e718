"""Verifiers of units: sentences in their caption, and several verifiers that vote."""

from __future__ import annotations

import pytest
from PIL import Image

from revise_captions.critic.units.scoring import NO_MAJORITY, MajorityVerifier, load_unit_scoring
from revise_captions.critic.units.sentence_verifier import NOTHING_TO_ASSESS, SentenceVerifier
from revise_captions.dcscore.sentence_decomposer import SentenceDecomposer
from revise_captions.dcscore.units import Decomposition, InformationUnit, UnitVerdict, VerifyTask
from revise_captions.errors import UserError
from revise_captions.records import Span, Unscored, Verdict

IMAGE = Image.new("RGB", (8, 8))
TEXT = "A dog sits. It is calm. It is red.  Une maison."


def tasks(*texts: str) -> list[VerifyTask]:
    return [VerifyTask(IMAGE, found) for found in SentenceDecomposer().decompose(texts)]


class Scripted:
    """A critic with an answer for each sentence's first word."""

    settings = {"critic": "scripted"}  # noqa: RUF012
    threshold = 0.4

    def __init__(self, answers):
        self.answers, self.asked = answers, []

    def judge(self, requests):
        self.asked += requests
        return [[self.answers[s.of(r.text)] for s in r.spans] for r in requests]


def test_sentences_are_judged_in_their_caption():
    critic = Scripted(
        {
            "A dog sits.": Verdict(0.4, assessable=True),
            "It is calm.": Verdict(0.99, assessable=False),
            "It is red.": Verdict(0.3999),
            "Une maison.": Verdict(None, Unscored.LANGUAGE),
        }
    )
    verifier = SentenceVerifier(critic)
    found = verifier.verify(tasks("", TEXT))
    assert found[0] == ()
    assert found[1] == (
        UnitVerdict(True, 0.4),
        UnitVerdict(None, unscored=NOTHING_TO_ASSESS),
        UnitVerdict(False, 0.3999),
        UnitVerdict(None, unscored=str(Unscored.LANGUAGE)),
    )
    (request,) = critic.asked
    assert (request.text, [s.of(TEXT) for s in request.spans][2]) == (TEXT, "It is red.")
    assert verifier.settings["threshold"] == "0.4000"


def test_other_units_are_refused():
    unit = InformationUnit("There is a dog.", 0, Span(0, 11))
    task = VerifyTask(IMAGE, Decomposition(TEXT, (Span(0, 11),), (unit,)))
    with pytest.raises(UserError, match="whole sentences"):
        SentenceVerifier(Scripted({})).verify([task])


class Fixed:
    """A verifier with the same answers for every caption."""

    def __init__(self, *answers: bool | None, p: float | None = None):
        self.settings = {"verifier": "fixed"}
        self.verdicts = tuple(
            UnitVerdict(one, p if one is not None else None, "" if one is not None else "not asked")
            for one in answers
        )

    def verify(self, given):
        return [self.verdicts for _ in given]


def test_verifiers_vote():
    members = [
        Fixed(True, True, None, True, p=0.8),
        Fixed(True, False, None, None, p=0.4),
        Fixed(False, None, None, None),
    ]
    verifier = MajorityVerifier(members)
    two, tie, none, alone = verifier.verify(tasks(TEXT))[0]
    assert (two.correct, two.votes) == (True, (True, True, False))
    assert two.p_correct == pytest.approx(0.6)
    assert (tie.correct, tie.unscored, tie.votes) == (None, NO_MAJORITY, (True, False, None))
    assert (none.correct, none.unscored) == (None, "not asked")
    assert (alone.correct, alone.p_correct) == (True, 0.8)
    assert verifier.settings == {f"verifier-{k}": "fixed" for k in (1, 2, 3)}


def test_the_bundled_critic_by_name():
    scoring = load_unit_scoring("sentences", ["bundled", "bundled"])
    assert scoring.settings["decomposer"] == "sentences"
    assert scoring.settings["critic-1"] == scoring.settings["critic-2"]
    with pytest.raises(UserError, match="no verifier"):
        load_unit_scoring("sentences", [])
