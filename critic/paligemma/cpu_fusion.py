"""A small critic on a CPU: memory that is reused, and fused operations.

Between matrix products, a model of this size spends much of its time in operations that read and
write every activation again. A norm of the language model becomes one PyTorch operation; oneDNN
applies GELU and the product with the gate at the end of the matrix product before them, through the
operations that PyTorch's compiler calls on a CPU. No compiler is needed.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def keep_freed_memory() -> None:
    """Tells glibc's malloc to keep large freed buffers instead of returning them to the system.

    Activations are allocated and freed at every step; page faults on fresh memory cost up to a
    third of the time on a CPU. Does nothing without glibc.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-4, 0)  # M_MMAP_MAX: never map a buffer of its own
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: never shrink the heap
        libc.mallopt(-2, 256 * 2**20)  # M_TOP_PAD: grow it in large steps


def fuse(model: Any, dtype: torch.dtype) -> None:
    """Puts fused operations into a PaliGemma for inference, in place.

    The answers are the same but for rounding. Operations that this PyTorch cannot fuse stay.
    """
    import torch

    if dtype is torch.float32:  # bfloat16 gains nothing by it
        fuse_norms(model)
    if fuses_gelu(dtype):
        fuse_gelu(model)


def fuse_norms(model: Any) -> None:
    """Computes Gemma 2's norms with one PyTorch operation instead of transformers' five."""
    from transformers.models.gemma2.modeling_gemma2 import Gemma2RMSNorm

    for module in model.modules():
        if isinstance(module, Gemma2RMSNorm):
            module.forward = partial(_norm, module)  # type: ignore[method-assign]


def fuse_gelu(model: Any) -> None:
    """Fuses GELU, and in the language model the product with the gate, into the matrix products."""
    from torch.nn import Linear
    from transformers.models.gemma2.modeling_gemma2 import Gemma2MLP
    from transformers.models.siglip.modeling_siglip import SiglipMLP

    for module in model.modules():
        plain = all(type(child) is Linear for child in module.children() if _learns(child))
        if not plain or not isinstance(module, Gemma2MLP | SiglipMLP):
            continue
        config = module.config
        name = getattr(config, "hidden_activation", None) or config.hidden_act
        if name == "gelu_pytorch_tanh":
            gated = isinstance(module, Gemma2MLP)
            module.forward = partial(_gated if gated else _tower_mlp, module)  # type: ignore[method-assign]


def _learns(module: Any) -> bool:
    return any(True for _ in module.parameters())


def fuses_gelu(dtype: torch.dtype) -> bool:
    """Whether this PyTorch has the fused operations, and they are right in `dtype`."""
    import torch
    from torch.nn.functional import gelu, linear

    draw = torch.Generator().manual_seed(0)
    x, gate, up = (torch.randn(16, 16, generator=draw).to(dtype) for _ in range(3))
    expected = gelu(linear(x, gate), approximate="tanh") * linear(x, up)
    try:
        found = _gelu_times(x, gate, up)
    except (AttributeError, RuntimeError, NotImplementedError):
        return False
    return torch.allclose(found.float(), expected.float(), rtol=0.02, atol=0.02)


def _gelu_times(x: torch.Tensor, gate: torch.Tensor, up: torch.Tensor) -> torch.Tensor:
    """gelu(x · gateᵀ) × (x · upᵀ)"""
    import torch

    operation = torch.ops.mkldnn._linear_pointwise
    open_ = operation(x, gate, None, "gelu", [], "tanh")
    found: torch.Tensor = operation.binary(x, open_, up, None, "mul")
    return found


def _gated(module: Any, x: torch.Tensor) -> torch.Tensor:
    found: torch.Tensor = module.down_proj(
        _gelu_times(x, module.gate_proj.weight, module.up_proj.weight)
    )
    return found


def _tower_mlp(module: Any, hidden_states: torch.Tensor) -> torch.Tensor:
    import torch

    first = module.fc1
    open_ = torch.ops.mkldnn._linear_pointwise(
        hidden_states, first.weight, first.bias, "gelu", [], "tanh"
    )
    found: torch.Tensor = module.fc2(open_)
    return found


def _norm(module: Any, x: torch.Tensor) -> torch.Tensor:
    from torch.nn.functional import rms_norm

    return rms_norm(x, x.shape[-1:], 1 + module.weight, module.eps)
