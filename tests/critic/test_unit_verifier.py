"""A critic as the verifier of units: statements apart from each other, in one packed pass."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from tinycritic import saved

from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.critic.unit_verifier import CriticVerifier
from revise_captions.dcscore.units import Decomposition, InformationUnit, VerifyTask
from revise_captions.records import Span, Unscored, Verdict

TEXTS = ("There is a red circle.", "It is on the left.", "There is no dog in the picture.")


def task(*texts: str, image: Image.Image) -> VerifyTask:
    units = tuple(InformationUnit(text, 0, Span(0, 1)) for text in texts)
    return VerifyTask(image, Decomposition("x", (Span(0, 1),), units))


@pytest.fixture(scope="module")
def image():
    rng = np.random.default_rng(0)
    return Image.fromarray(rng.integers(0, 256, (70, 90, 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def critic(tmp_path_factory):
    return load_paligemma(saved(tmp_path_factory.mktemp("critic"), threshold=0.37), device="cpu")


def test_units_are_judged_as_if_each_were_alone(critic, image):
    (found,) = CriticVerifier(critic).verify([task(*TEXTS, image=image)])
    for text, verdict in zip(TEXTS, found, strict=True):
        ((alone,),) = critic.judge([JudgeRequest(image, text, (Span(0, len(text)),))])
        assert verdict.p_correct == pytest.approx(alone.p_factual, abs=1.01e-4)
        assert verdict.correct is (verdict.p_correct >= 0.37)
    assert len({verdict.p_correct for verdict in found}) == 3


def test_all_units_of_a_caption_share_one_row(critic, image):
    text = "\n".join(TEXTS)
    spans = tuple(Span(text.index(said), text.index(said) + len(said)) for said in TEXTS)
    (batch,) = critic.batches([JudgeRequest(image, text, spans, apart=True)], packed=True)
    (row,) = batch
    assert row.sentences == (0, 1, 2)
    assert {branch.fork for branch in row.row.branches} == {len(row.row.trunk)}


def test_unscored_and_empty(image):
    verdicts = {TEXTS[0]: Verdict(0.2), TEXTS[1]: Verdict(None, Unscored.OUTSIDE_DOMAIN)}
    verifier = CriticVerifier(ScriptedCritic(verdicts))
    empty, found = verifier.verify([task(image=image), task(*TEXTS, image=image)])
    assert empty == ()
    assert [verdict.correct for verdict in found] == [False, None, True]
    assert found[1].unscored == Unscored.OUTSIDE_DOMAIN
