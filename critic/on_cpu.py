"""What makes a small critic faster on a CPU: the memory it keeps, and its norms."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import torch


def keep_freed_memory() -> None:
    """Tells glibc's malloc to keep large freed buffers instead of returning them to the system.

    Activations are allocated and freed at every step; page faults on fresh memory cost up to a
    third of the time on a CPU. Does nothing where there is no glibc.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-4, 0)  # M_MMAP_MAX: never map a buffer of its own
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: never shrink the heap
        libc.mallopt(-2, 256 * 2**20)  # M_TOP_PAD: grow it in large steps


def fuse_norms(model: Any) -> None:
    """Computes Gemma 2's norms by PyTorch's one operation instead of transformers' five, in place.

    For float32 that is not compiled: half the time or less. bfloat16 gains nothing by it, and a
    compiler fuses them by itself.
    """
    from transformers.models.gemma2.modeling_gemma2 import Gemma2RMSNorm

    for module in model.modules():
        if isinstance(module, Gemma2RMSNorm):
            module.forward = partial(_norm, module)  # type: ignore[method-assign]


def _norm(module: Any, x: torch.Tensor) -> torch.Tensor:
    from torch.nn.functional import rms_norm

    return rms_norm(x, x.shape[-1:], 1 + module.weight, module.eps)
