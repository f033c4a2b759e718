"""What PyTorch is asked to compute: floating point operations, kernels of attention, the wait."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry


def wait(device: str) -> None:
    """For what the device has been asked to do."""
    if device.startswith("cuda"):
        torch.cuda.synchronize()


class Operations(TorchDispatchMode):
    """Counts floating point operations, and names the kernels of attention that are called.

    As `FlopCounterMode` does, which also follows modules, and so keeps every activation of a pass
    with checkpointing.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count, self.kernels = 0, set[str]()

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        name = str(getattr(func, "__name__", "")).split(".")[0]
        if name.startswith("_scaled_dot_product"):
            self.kernels.add(name.removeprefix("_scaled_dot_product_"))
        count = flop_registry.get(func._overloadpacket)
        if count is None and func is not torch.ops.prim.device.default:
            with self:  # what an operation is made of may be counted
                made = func.decompose(*args, **kwargs)
            if made is not NotImplemented:
                return made
        out = func(*args, **kwargs)
        self.count += int(count(*args, **kwargs, out_val=out)) if count else 0
        return out
