"""Devices and number formats by name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.errors import UserError

if TYPE_CHECKING:
    import torch


def device_and_dtype(device: str, dtype: str) -> tuple[str, torch.dtype]:
    """`auto` resolved: a GPU if there is one; float32 on a CPU, else bfloat16.

    Raises:
        UserError: torch has no such device, or the dtype is unknown.
    """
    import torch

    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        first = str(error).splitlines()[0]
        raise UserError(f"--device {device} cannot be used: {first}", hint="try cpu") from None
    known = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
    if dtype == "auto":
        return device, torch.float32 if device == "cpu" else torch.bfloat16
    if dtype not in known:
        raise UserError(f"unknown dtype {dtype!r}, expected auto, {', '.join(known)}")
    return device, known[dtype]


def training_dtype(dtype: str, device: str) -> str:
    """`auto` resolved: bfloat16, or on a CPU what it is fast at (`fast_cpu_dtype`)."""
    if dtype != "auto":
        return dtype
    return fast_cpu_dtype() if device == "cpu" else "bfloat16"


def fast_cpu_dtype() -> str:
    """`bfloat16` if the processor has instructions to multiply it, else `float32`."""
    try:
        flags = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    except OSError:  # not Linux
        return "float32"
    return "bfloat16" if {"avx512_bf16", "amx_bf16", "bf16"} & {*flags.split()} else "float32"
