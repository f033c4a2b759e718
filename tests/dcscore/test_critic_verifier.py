"""A critic as the verifier of units: each in its sentence's place, in one packed pass."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image
from scripted_engine import ScriptedEngine, data_of
from tinycritic import saved

from revise_captions.critic.instruct import InstructCritic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.dcscore.units import Decomposition, InformationUnit, VerifyTask
from revise_captions.dcscore.verifiers import CriticVerifier
from revise_captions.engines.model_spec import Placement
from revise_captions.records import Span, Unscored, Verdict
from revise_captions.text.sentences import split

CAPTION = "There is a red circle. It is on the left."
#: Sentence and unit; two are said by the second sentence.
UNITS = ((0, "There is a circle."), (1, "It is on the left."), (1, "There is no dog."))


def task(*units: tuple[int, str], image: Image.Image) -> VerifyTask:
    made = tuple(InformationUnit(text, k, Span(0, 1)) for k, text in units)
    return VerifyTask(image, Decomposition(CAPTION, tuple(split(CAPTION)), made))


@pytest.fixture(scope="module")
def image():
    rng = np.random.default_rng(0)
    return Image.fromarray(rng.integers(0, 256, (70, 90, 3), dtype=np.uint8))


@pytest.fixture(scope="module")
def critic(tmp_path_factory):
    return load_paligemma(
        saved(tmp_path_factory.mktemp("critic"), threshold=0.37),
        CriticOptions(Placement(device="cpu")),
    )


def test_a_unit_is_judged_in_the_place_of_its_sentence(critic, image):
    """As the caption with the unit instead of the sentence that says it."""
    (found,) = CriticVerifier(critic).verify([task(*UNITS, image=image)])
    before = "There is a red circle. "
    for (k, text), verdict in zip(UNITS, found, strict=True):
        written = before * k + text
        spans = tuple(split(written))
        assert len(spans) == k + 1
        ((alone,),) = critic.judge([JudgeRequest(image, written, spans, first=k)])
        assert verdict.p_correct == pytest.approx(alone.p_factual, abs=1.01e-4)
        assert verdict.correct is (verdict.p_correct >= 0.37)
    assert len({verdict.p_correct for verdict in found}) == 3


def test_all_units_of_a_caption_share_one_row(critic, image):
    request = JudgeRequest(image, CAPTION, tuple(split(CAPTION)), instead=UNITS)
    (batch,) = critic.batches([request], packed=True)
    (row,) = batch
    assert row.sentences == (0, 1, 2)
    assert len({branch.fork for branch in row.row.branches}) == 2


def test_an_instruct_model_is_asked_the_same(image):
    request = JudgeRequest(image, CAPTION, tuple(split(CAPTION)), instead=UNITS[1:2])
    engine = ScriptedEngine()
    InstructCritic(engine).judge([request])
    assert data_of(engine.asked[0])[0].strip() == "There is a red circle."
    assert data_of(engine.asked[0])[-1] == "It is on the left."


def test_unscored_and_empty(image):
    texts = [text for _, text in UNITS]
    verdicts = {texts[0]: Verdict(0.2), texts[1]: Verdict(None, Unscored.OUTSIDE_DOMAIN)}
    verifier = CriticVerifier(ScriptedCritic(verdicts))
    empty, found = verifier.verify([task(image=image), task(*UNITS, image=image)])
    assert empty == ()
    assert [verdict.correct for verdict in found] == [False, None, True]
    assert found[1].unscored == Unscored.OUTSIDE_DOMAIN
