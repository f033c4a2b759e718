"""`teach_sides.py` on a tiny checkpoint: its questions are the critic's."""

from __future__ import annotations

import importlib.util
import sys
from itertools import islice
from pathlib import Path

import pytest
import torch
from click.testing import CliRunner
from PIL import Image
from tinycritic import saved
from transformers import PaliGemmaForConditionalGeneration

from revise_captions.critic.gates.language import Vocabulary
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.records import Span

SCRIPT = Path(__file__).resolve().parents[2] / "scripts/research/critic/teach_sides.py"


@pytest.fixture(scope="module")
def sides():
    spec = importlib.util.spec_from_file_location("teach_sides", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("tiny") / "critic")


def learned(model: PaliGemmaForConditionalGeneration) -> torch.Tensor:
    tower = model.model.vision_tower
    return getattr(tower, "vision_model", tower).embeddings.position_embedding.weight


def test_questions_have_the_answers_that_the_critic_gives_them_one_by_one(sides, checkpoint):
    asked = list(islice(sides.sided("validation", 64), 4))
    with torch.no_grad():
        found = sides.Pupil(checkpoint).scores(asked).sigmoid().tolist()
    critic = load_paligemma(
        str(checkpoint), CriticOptions(Placement(device="cpu", dtype="float32"))
    )
    critic.vocabulary = Vocabulary(frozenset())
    alone = [
        JudgeRequest(Image.fromarray(pixels), a.text, (Span(0, len(a.text)),))
        for pixels, made in asked
        for a in made
    ]
    answers = [verdicts[0].p_factual for verdicts in critic.judge(alone)]
    judged = [(p, q) for p, q in zip(found, answers, strict=True) if q is not None]
    assert len(judged) > 4
    assert all(p == pytest.approx(q, abs=2e-4) for p, q in judged)


def test_the_command_writes_a_critic(sides, checkpoint, tmp_path, monkeypatch):
    monkeypatch.setattr(sides, "TESTS", 8)
    out = tmp_path / "out"
    words = [str(checkpoint), str(out), "--steps", "2"]
    result = CliRunner().invoke(sides.main, words, catch_exceptions=False)
    assert result.exit_code == 0
    assert "step 0, loss nan, ROC-AUC 0." in result.output
    load_paligemma(str(out), CriticOptions(Placement(device="cpu")))
    before, after = (
        PaliGemmaForConditionalGeneration.from_pretrained(folder, dtype=torch.float32)
        for folder in (checkpoint, out)
    )
    assert not torch.equal(learned(before), learned(after))
