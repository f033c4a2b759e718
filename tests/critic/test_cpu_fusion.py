"""Fused operations compute what transformers' own do, or are left out."""

from __future__ import annotations

from copy import deepcopy

import pytest
import torch
from tinycritic import tiny
from transformers.models.gemma2.modeling_gemma2 import Gemma2MLP, Gemma2RMSNorm
from transformers.models.siglip.modeling_siglip import SiglipMLP

from revise_captions.critic.paligemma import cpu_fusion
from revise_captions.critic.paligemma.cpu_fusion import fuse, fuses_gelu

needs_onednn = pytest.mark.skipif(
    not fuses_gelu(torch.float32), reason="this PyTorch has no fused operations"
)


def both(dtype: torch.dtype, kind: type) -> list[tuple[torch.nn.Module, torch.nn.Module]]:
    """Modules of one kind: with what is fused, and as transformers has them."""
    model, _ = tiny()
    model = model.to(dtype)
    plain = deepcopy(model)
    fuse(model, dtype)
    pairs = zip(model.modules(), plain.modules(), strict=True)
    return [(a, b) for a, b in pairs if isinstance(a, kind)]


def test_norms_are_those_of_transformers():
    pairs = both(torch.float32, Gemma2RMSNorm)
    assert len(pairs) == 3 * 4 + 1
    x = torch.randn(3, 5, 64) * 7
    for fused, plain in pairs:
        assert "forward" in vars(fused)
        torch.testing.assert_close(fused(x), plain(x), rtol=1e-6, atol=1e-6)


@needs_onednn
@pytest.mark.parametrize(("kind", "count"), [(Gemma2MLP, 3), (SiglipMLP, 2)])
def test_feed_forward_parts_are_those_of_transformers(kind, count):
    pairs = both(torch.float32, kind)
    assert len(pairs) == count
    x = torch.randn(3, 5, 64)
    with torch.inference_mode():
        for fused, plain in pairs:
            assert "forward" in vars(fused)
            torch.testing.assert_close(fused(x), plain(x), rtol=1e-5, atol=1e-5)


@pytest.mark.skipif(not fuses_gelu(torch.bfloat16), reason="no fused operations in bfloat16")
def test_bfloat16_is_no_further_from_float32_than_before():
    exact = [plain for _, plain in both(torch.float32, Gemma2MLP)]
    x = torch.randn(50, 64).bfloat16()
    with torch.inference_mode():
        for (fused, plain), truth in zip(both(torch.bfloat16, Gemma2MLP), exact, strict=True):
            wanted = truth(x.float())
            ours, theirs = ((m(x).float() - wanted).abs().mean() for m in (fused, plain))
            assert ours <= 1.1 * theirs


def test_where_the_operation_is_wrong_or_missing_nothing_is_changed(monkeypatch):
    monkeypatch.setattr(cpu_fusion, "_gelu_times", lambda x, gate, up: x)
    assert not fuses_gelu(torch.float32)
    assert all("forward" not in vars(fused) for fused, _ in both(torch.float32, SiglipMLP))

    def missing(*_):
        raise AttributeError("no such operation")

    monkeypatch.setattr(cpu_fusion, "_gelu_times", missing)
    assert not fuses_gelu(torch.float32)


def test_an_adapted_layer_keeps_its_adapter():
    """A linear layer that has been wrapped is not read past its wrapper."""
    model, _ = tiny()
    part = model.model.language_model.layers[0].mlp
    part.up_proj = torch.nn.Sequential(part.up_proj)
    fuse(model, torch.float32)
    assert "forward" not in vars(part)
    assert "forward" in vars(model.model.language_model.layers[1].mlp) or not fuses_gelu(
        torch.float32
    )
