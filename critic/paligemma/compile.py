"""Compiled layers, for training and for judging.

On a CPU a small critic spends most of its time between the matrix products (GELU, norms,
rotations), which PyTorch's compiler fuses. That needs a C++ compiler, and time at startup.
"""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch

from revise_captions.critic.paligemma.model import ATTENTION, PLAIN_ATTENTION
from revise_captions.errors import UserError


class SigmoidGelu(torch.nn.Module):
    """GELU's tanh approximation, written with the sigmoid: 0.5 (1 + tanh a) is sigmoid(2a).

    The same function, and faster when compiled for a CPU, where the compiler has no fast tanh.
    """

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        slope = 2 * (2 / torch.pi) ** 0.5
        return x * torch.sigmoid(x * (slope + 0.044715 * slope * x * x))


def use_sigmoid_gelu(model: Any) -> None:
    """Replaces every tanh GELU with `SigmoidGelu`, in place."""
    from transformers.activations import GELUTanh

    for module in list(model.modules()):
        for name, child in module.named_children():
            if isinstance(child, GELUTanh):
                setattr(module, name, SigmoidGelu())


def compile_layers(model: Any, *, training: bool) -> None:
    """Compiles each layer of a PaliGemma, in place, at its first use.

    Args:
        model: The network, on its device.
        training: Whether to compile for each of the few padded lengths of training, with attention
            whose backward pass is fast on a CPU; otherwise compiles once for all lengths.

    Raises:
        UserError: There is no C++ compiler.
    """
    on_cpu = model.device.type == "cpu"
    if on_cpu:
        _expect_compiler()
        use_sigmoid_gelu(model)
    torch._dynamo.config.recompile_limit = 64
    torch._dynamo.config.accumulated_recompile_limit = 1024
    language, tower = model.model.language_model, model.model.vision_tower
    if on_cpu and training:
        tower.set_attn_implementation("eager")
        if language.config._attn_implementation == ATTENTION:  # not with a soft-cap
            language.set_attn_implementation(PLAIN_ATTENTION)
    for layer in (*language.layers, *tower.encoder.layers):
        layer.compile(dynamic=not training)


def eagerly(compiled: bool) -> AbstractContextManager[Any]:
    """A context in which compiled layers run uncompiled: decoding would compile every length."""
    return torch.compiler.set_stance("force_eager") if compiled else nullcontext()


def _expect_compiler() -> None:
    from torch._inductor.cpp_builder import get_cpp_compiler
    from torch._inductor.exc import InvalidCxxCompiler

    try:
        get_cpp_compiler()
    except InvalidCxxCompiler:
        raise UserError(
            "there is no C++ compiler to compile the layers with",
            hint="install g++ (or set the environment variable CXX to a compiler), or leave out "
            "--compile (captions finetune: add --no-compile)",
        ) from None
