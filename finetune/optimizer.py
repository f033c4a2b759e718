"""AdamW on float32 masters of a bfloat16 model, all parameters in one flat buffer.

The model computes in its own dtype; gradients land in one flat buffer; the update, the clipping and
the running average of weights are a handful of operations on flat float32 vectors.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import torch
from torch import nn


class FlatAdamW:
    """Owns the parameters that learn: they become views of `self.compute`, their grads of `grad`.

    Weight decay applies to matrices only. Parameters for which `slow(name)` holds learn at
    `slow_rate` times the rate. `average`: exponential moving average of the masters, which it is
    where `ema` is 0.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        weight_decay: float,
        betas: tuple[float, float],
        ema: float,
        slow: Callable[[str], bool] = lambda name: False,
    ) -> None:
        groups: dict[tuple[bool, bool], list[nn.Parameter]] = {}
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue
            groups.setdefault((slow(name), parameter.ndim >= 2), []).append(parameter)
        self.parameters = [p for key in sorted(groups) for p in groups[key]]
        total = sum(p.numel() for p in self.parameters)
        dtype, device = self.parameters[0].dtype, self.parameters[0].device
        self.master = torch.empty(total, dtype=torch.float32, device=device)
        self.compute = torch.empty(total, dtype=dtype, device=device)
        self.grad = torch.zeros(total, dtype=dtype, device=device)
        start = 0
        for parameter in self.parameters:
            end = start + parameter.numel()
            self.master[start:end] = parameter.detach().flatten().float()
            parameter.data = self.compute[start:end].view_as(parameter)
            parameter.grad = self.grad[start:end].view_as(parameter)
            start = end
        self.compute.copy_(self.master)
        self.average = self.master.clone() if ema else self.master
        self.ema, self.steps = ema, 0
        sizes = [sum(p.numel() for p in groups[key]) for key in sorted(groups)]
        self._parts = [nn.Parameter(part) for part in self.master.split(sizes)]
        self._sizes, self._slow = sizes, [key[0] for key in sorted(groups)]
        self.optimizer = torch.optim.AdamW(
            [
                {"params": [part], "weight_decay": weight_decay if matrices else 0.0}
                for part, (_, matrices) in zip(self._parts, sorted(groups), strict=True)
            ],
            lr=1e-3,
            betas=betas,
            fused=True,
        )

    def step(self, rate: float, clip: float, slow_rate: float = 1.0) -> float:
        """One update at learning rate `rate`; returns the gradient's norm before clipping.

        `clip` 0 does not clip. A gradient that is not finite is dropped.
        """
        grad = self.grad.float()
        norm = float(torch.linalg.vector_norm(grad))
        if math.isfinite(norm):
            if 0 < clip < norm:
                grad.mul_(clip / norm)
            for part, own in zip(self._parts, grad.split(self._sizes), strict=True):
                part.grad = own
            for group, slow in zip(self.optimizer.param_groups, self._slow, strict=True):
                group["lr"] = rate * (slow_rate if slow else 1.0)
            self.optimizer.step()
            self.steps += 1
            if self.ema:
                decay = min(self.ema, (1 + self.steps) / (10 + self.steps))
                self.average.lerp_(self.master, 1 - decay)
            self.compute.copy_(self.master)
        self.grad.zero_()
        return norm

    def absorb(self) -> None:
        """Takes over weights that were set in the model from outside."""
        self.master.copy_(self.compute)
        self.average.copy_(self.master)

    def use(self, weights: torch.Tensor) -> None:
        """Puts `average` or `master` into the model."""
        self.compute.copy_(weights)

    def state(self) -> dict[str, Any]:
        return {
            "master": self.master,
            "average": self.average,
            "steps": self.steps,
            "adamw": self.optimizer.state_dict(),
        }

    def load(self, state: dict[str, Any]) -> None:
        self.master.copy_(state["master"])
        self.average.copy_(state["average"])
        self.steps = int(state["steps"])
        self.optimizer.load_state_dict(state["adamw"])
        self.compute.copy_(self.master)


def rate(progress: float, step: int, *, peak: float, warmup: int, schedule: str) -> float:
    """Learning rate at `progress` in [0, 1]: linear warmup, then cosine to 2 % or constant."""
    warm = min(1.0, (step + 1) / max(1, warmup))
    if schedule == "constant":
        return peak * warm
    return peak * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
