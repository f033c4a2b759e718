"""Verifiers of units by name, and sentences as units."""

from __future__ import annotations

import pytest
from PIL import Image

from revise_captions.dcscore.decomposers.sentences import SentenceDecomposer
from revise_captions.dcscore.load import load_unit_scoring
from revise_captions.dcscore.units import UnitVerdict, VerifyTask
from revise_captions.dcscore.verifiers import NO_CLAIM, CriticVerifier
from revise_captions.errors import UserError
from revise_captions.records import Unscored, Verdict

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
        return [[self.answers[text] for _, text in request.instead] for request in requests]


def test_sentences_are_judged_in_their_caption():
    critic = Scripted(
        {
            "A dog sits.": Verdict(0.4, assessable=True),
            "It is calm.": Verdict(0.99, assessable=False),
            "It is red.": Verdict(0.3999),
            "Une maison.": Verdict(None, Unscored.LANGUAGE),
        }
    )
    verifier = CriticVerifier(critic, claims_only=True)
    found = verifier.verify(tasks("", TEXT))
    assert found[0] == ()
    assert found[1] == (
        UnitVerdict(True, 0.4),
        UnitVerdict(None, unscored=NO_CLAIM),
        UnitVerdict(False, 0.3999),
        UnitVerdict(None, unscored=str(Unscored.LANGUAGE)),
    )
    (request,) = critic.asked
    assert (request.text, request.instead[2]) == (TEXT, (2, "It is red."))
    assert [span.of(TEXT) for span in request.spans][2] == "It is red."
    assert verifier.settings["threshold"] == "0.4000"


def test_the_bundled_critic_by_name():
    scoring = load_unit_scoring("sentences", ["bundled", "bundled"])
    assert scoring.settings["decomposer"] == "sentences"
    assert scoring.settings["verifier1-critic"] == scoring.settings["verifier2-critic"]
    with pytest.raises(UserError, match="no verifier"):
        load_unit_scoring("sentences", [])


def test_sentences_are_judged_as_the_main_job_judges_them():
    """A sentence as a unit has the P(factual) that it has in its caption."""
    from revise_captions.critic.load import load_critic
    from revise_captions.critic.protocol import JudgeRequest
    from revise_captions.picturebook.drawing.draw import draw
    from revise_captions.picturebook.world.sample import sample_scene
    from revise_captions.text.sentences import split

    image = draw(sample_scene(1, "test"), 128)
    text = "There is a dog. It is black. It is to the left of the house."
    critic = load_critic("bundled")
    (wanted,) = critic.judge([JudgeRequest(image, text, tuple(split(text)))])
    (task,) = (VerifyTask(image, one) for one in SentenceDecomposer().decompose([text]))
    (found,) = CriticVerifier(critic).verify([task])
    assert [one.p_correct for one in found] == [one.p_factual for one in wanted]
