"""AdamW or Muon on float32 masters of a bfloat16 model, all parameters in one flat buffer.

The model computes in its own dtype; gradients land in one flat buffer; the update, the clipping and
the running average of weights are a handful of operations on flat float32 vectors. Muon (Jordan et
al. 2024, PyTorch's) takes the matrices that it is told to, AdamW all the rest.

Several processes may share the work (ZeRO, stage 1: Rajbhandari et al. 2020, section 5.1): each has
masters, average and moments of its stretch of the buffer alone, and updates that; the weights in
the model's dtype are then gathered. What is float32 is divided by their number. Where the weights
themselves are divided (`sharding`), each updates its parts of them, and nothing is gathered.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import nn

from revise_captions.errors import UserError
from revise_captions.finetune.optim.distributed import Parallel
from revise_captions.finetune.optim.sharding import local

ADAMW_VECTORS, ADAMW_MATRICES, MUON = range(3)


class WholeWeights:
    """Parameters as views of one flat buffer `compute`, their gradients of `grad`.

    `own`: this process's half-open stretch of it, where an optimizer is shared.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], share: Parallel) -> None:
        self.share = share
        size = -(-sum(p.numel() for p in parameters) // share.world)
        self.own = slice(size * share.rank, size * (share.rank + 1))
        dtype, device = parameters[0].dtype, parameters[0].device
        self.compute = torch.zeros(size * share.world, dtype=dtype, device=device)
        self.grad = torch.zeros_like(self.compute)
        start = 0
        for parameter in parameters:
            end = start + parameter.numel()
            self.compute[start:end] = parameter.detach().flatten()
            parameter.data = self.compute[start:end].view_as(parameter)
            parameter.grad = self.grad[start:end].view_as(parameter)
            start = end

    def read(self) -> torch.Tensor:
        """This process's weights, float32."""
        return self.compute[self.own].to(torch.float32, copy=True)

    def write(self, weights: torch.Tensor) -> None:
        self.compute[self.own].copy_(weights)
        self.share.gather(self.compute)

    def collect(self, parallel: Parallel) -> None:
        """Adds the other processes' gradients."""
        parallel.add(self.grad)

    def gradient(self) -> torch.Tensor:
        return self.grad[self.own].float()

    def clear(self) -> None:
        self.grad.zero_()


class DividedWeights:
    """This process's parts of parameters that `sharding` has divided, one after another."""

    def __init__(self, parameters: Sequence[nn.Parameter]) -> None:
        self.parameters = parameters
        self.own = slice(0, sum(local(p).numel() for p in parameters))

    def read(self) -> torch.Tensor:
        return torch.cat([local(p.detach()).flatten().float() for p in self.parameters])

    @torch.no_grad()
    def write(self, weights: torch.Tensor) -> None:
        start = 0
        for part in map(local, self.parameters):
            part.copy_(weights[start : start + part.numel()].view_as(part))
            start += part.numel()

    def collect(self, parallel: Parallel) -> None:
        """The backward pass has added them already."""

    def gradient(self) -> torch.Tensor:
        parts = [
            torch.zeros_like(local(p)) if p.grad is None else local(p.grad) for p in self.parameters
        ]
        return torch.cat([part.flatten().float() for part in parts])

    def clear(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None


class FlatOptimizer:
    """Owns the parameters that learn, through `WholeWeights` or `DividedWeights`.

    Weight decay applies to matrices only. Parameters for which `slow(name)` holds learn at
    `slow_rate` times the rate; matrices for which `muon(name)` holds learn by Muon, with updates
    of AdamW's size (`match_rms_adamw`), so one rate does for all. `average`: exponential moving
    average of the masters, which it is where `ema` is 0.

    `share`: the processes that the weights, or masters and moments alone, are divided among; then
    `use` and `step` are for all of them to call.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        weight_decay: float,
        betas: tuple[float, float],
        ema: float,
        slow: Callable[[str], bool] = lambda name: False,
        muon: Callable[[str], bool] = lambda name: False,
        share: Parallel | None = None,
    ) -> None:
        groups: dict[tuple[bool, int], list[nn.Parameter]] = {}
        for name, parameter in model.named_parameters():
            if not parameter.requires_grad:
                continue
            kind = ADAMW_MATRICES if parameter.ndim >= 2 else ADAMW_VECTORS
            if parameter.ndim == 2 and muon(name):
                kind = MUON
            groups.setdefault((slow(name), kind), []).append(parameter)
        self.parameters = [p for key in sorted(groups) for p in groups[key]]
        self.share = share or Parallel()
        if self.share.world > 1 and any(kind == MUON for _, kind in groups):
            raise UserError("Muon needs whole matrices", hint="leave --sharded out, or use adamw")
        divided = any(local(p) is not p for p in self.parameters)
        self.weights = (
            DividedWeights(self.parameters)
            if divided
            else WholeWeights(self.parameters, self.share)
        )
        self.master = self.weights.read()
        self.average = self.master.clone() if ema else self.master
        self.ema, self.steps = ema, 0
        self._betas, self._decay = betas, weight_decay
        self.optimizers = self._optimizers(groups)

    def _optimizers(
        self, groups: dict[tuple[bool, int], list[nn.Parameter]]
    ) -> dict[str, torch.optim.Optimizer]:
        """AdamW on whole stretches of the masters, Muon on single matrices; `_views`: what moves,
        and where it starts in the masters. Each group says whether it is `slow`.
        """
        self._views: list[tuple[nn.Parameter, int]] = []
        adamw: list[dict[str, Any]] = []
        muon: list[dict[str, Any]] = []
        start, own = 0, self.weights.own
        divided = isinstance(self.weights, DividedWeights)
        count = lambda p: (local(p) if divided else p).numel()  # noqa: E731
        for (slow, kind), members in sorted(groups.items()):
            shapes = [p.shape for p in members] if kind == MUON else [None]
            for shape in shapes:
                size = shape.numel() if shape else sum(count(p) for p in members)
                first = max(start, own.start) - own.start
                part = self.master[first : max(first, start + size - own.start)]
                start += size
                if not part.numel():
                    continue
                view = nn.Parameter(part.view(shape) if shape else part)
                decay = 0.0 if kind == ADAMW_VECTORS else self._decay
                group = {"params": [view], "weight_decay": decay, "slow": slow}
                (muon if kind == MUON else adamw).append(group)
                self._views.append((view, first))
        made: dict[str, torch.optim.Optimizer] = {}
        if adamw:
            made["adamw"] = torch.optim.AdamW(adamw, lr=1e-3, betas=self._betas, fused=True)
        if muon:
            made["muon"] = torch.optim.Muon(muon, lr=1e-3, adjust_lr_fn="match_rms_adamw")
        return made

    def step(self, rate: float, clip: float, slow_rate: float = 1.0) -> float:
        """One update at learning rate `rate`; returns the gradient's norm before clipping.

        `clip` 0 does not clip. A gradient that is not finite is dropped.
        """
        grad = self.weights.gradient()
        norm = float(torch.linalg.vector_norm(grad))
        if self.share.world > 1:
            norm = float(self.share.total(np.array([norm**2])).item() ** 0.5)
        if math.isfinite(norm):
            if 0 < clip < norm:
                grad.mul_(clip / norm)
            for view, start in self._views:
                view.grad = grad[start : start + view.numel()].view_as(view)
            for optimizer in self.optimizers.values():
                for group in optimizer.param_groups:
                    group["lr"] = rate * (slow_rate if group["slow"] else 1.0)
                optimizer.step()
            self.steps += 1
            if self.ema:
                decay = min(self.ema, (1 + self.steps) / (10 + self.steps))
                self.average.lerp_(self.master, 1 - decay)
            self.use(self.master)
        self.weights.clear()
        return norm

    def absorb(self) -> None:
        """Takes over weights that were set in the model from outside."""
        self.master.copy_(self.weights.read())
        self.average.copy_(self.master)

    def use(self, weights: torch.Tensor) -> None:
        """Puts `average` or `master` into the model; where it is shared, in all processes."""
        self.weights.write(weights)

    def state(self) -> dict[str, Any]:
        """What resuming needs, of this process's stretch."""
        return {
            "master": self.master,
            "average": self.average,
            "steps": self.steps,
            **{name: each.state_dict() for name, each in self.optimizers.items()},
        }

    def load(self, state: dict[str, Any]) -> None:
        self.master.copy_(state["master"])
        self.average.copy_(state["average"])
        self.steps = int(state["steps"])
        for name, each in self.optimizers.items():
            each.load_state_dict(state[name])
        self.use(self.master)


def rate(progress: float, step: int, *, peak: float, warmup: int, schedule: str) -> float:
    """Learning rate at `progress` in [0, 1]: linear warmup, then cosine to 2 % or constant."""
    warm = min(1.0, (step + 1) / max(1, warmup))
    if schedule == "constant":
        return peak * warm
    return peak * warm * (0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * min(1.0, progress))))
