"""Compiled layers give the verdicts and rationales of plain ones, or say why they cannot."""

from __future__ import annotations

import numpy as np
import pytest
import tinyvlm
import torch
from PIL import Image
from tinycritic import saved

from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.compile import SigmoidGelu
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.pipelines.engine_check.compare import Setup
from revise_captions.pipelines.options import JobOptions, ModelOptions
from revise_captions.text.sentences import split

TEXTS = [
    "There is a red circle.",
    "There is a red circle. It is on the left. Both wear hats.",
    "The sky is grey, and two people walk.  The scene feels calm.",
    "There are 3 blue boats near the house.\nThere is no dog in the picture. It is red. Both wear.",
    "The circle is red, not blue. " * 9,
]


def test_sigmoid_gelu_is_torch_gelu():
    x = torch.linspace(-30, 30, 100_001, dtype=torch.float64, requires_grad=True)
    ours, theirs = SigmoidGelu()(x), torch.nn.functional.gelu(x, approximate="tanh")
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-12)
    slopes = [torch.autograd.grad(y.sum(), x, retain_graph=True)[0] for y in (ours, theirs)]
    torch.testing.assert_close(*slopes, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_verdicts_and_rationales_are_those_of_plain_layers(tmp_path):
    """In batches of every length and size, with one row and with many; compiled once for all."""
    from torch._dynamo.utils import counters  # half a second at least, for this test alone

    folder = saved(tmp_path, sure=True)
    plain = load_paligemma(folder, CriticOptions(Placement(device="cpu")))
    compiled = load_paligemma(folder, CriticOptions(Placement(device="cpu"), compiled=True))
    assert compiled.settings == plain.settings | {"compiled": f"torch {torch.__version__}"}
    rng = np.random.default_rng(0)
    images = [Image.fromarray(rng.integers(0, 256, (64, 64, 3), dtype=np.uint8)) for _ in TEXTS]
    paragraphs = [JudgeRequest(i, t, tuple(split(t))) for i, t in zip(images, TEXTS, strict=True)]
    counters.clear()
    parts = (paragraphs, paragraphs[:1], paragraphs[1:2], paragraphs[2:], paragraphs[4:])
    for part in parts:
        for one, other in zip(compiled.judge(part), plain.judge(part), strict=True):
            for mine, other_one in zip(one, other, strict=True):
                assert mine.unscored == other_one.unscored
                assert mine.p_factual == pytest.approx(other_one.p_factual, abs=1e-4)
    graphs = counters["stats"]["unique_graphs"]
    claims = [
        ExplainRequest(p.image, p.text, p.spans, k) for p in paragraphs for k in range(len(p.spans))
    ]
    assert compiled.explain(claims) == plain.explain(claims)
    assert 0 < graphs == counters["stats"]["unique_graphs"], "nothing is compiled word by word"


def test_other_models_and_missing_compilers_are_refused(tmp_path, monkeypatch):
    import torch._inductor.cpp_builder
    from torch._inductor.exc import InvalidCxxCompiler

    vlm = tinyvlm.saved(tmp_path / "vlm", tinyvlm.PLAIN[0])
    with pytest.raises(UserError, match="--compile is for PaliGemma 2 critics"):
        load_critic(str(vlm), CriticOptions(Placement(device="cpu"), compiled=True))
    with pytest.raises(UserError, match="--stage revise loads no critic, so --compile"):
        JobOptions.of({"stage": "revise", "compile": True}).check()

    def none():
        raise InvalidCxxCompiler

    monkeypatch.setattr(torch._inductor.cpp_builder, "get_cpp_compiler", none)
    with pytest.raises(UserError, match="no C\\+\\+ compiler") as error:
        load_paligemma(
            saved(tmp_path / "critic"), CriticOptions(Placement(device="cpu"), compiled=True)
        )
    assert "g++" in error.value.hint


def test_check_engine_compares_compiled_layers():
    assert Setup(ModelOptions()).changed("compile=yes").models.compile
    with pytest.raises(UserError, match="compile=maybe"):
        Setup(ModelOptions()).changed("compile=maybe")
