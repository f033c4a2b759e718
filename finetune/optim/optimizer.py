"""AdamW or Muon on float32 masters of a bfloat16 model, all parameters in one flat buffer.

The model computes in its own dtype, and gradients accumulate in one flat buffer, so the update,
clipping and weight averaging are a few operations on flat float32 vectors. Muon (Jordan et al.
2024) updates the chosen matrices, AdamW the rest; for a model in float32 it computes in float32.

Processes may shard the optimizer (ZeRO, stage 1: Rajbhandari et al. 2020, section 5.1): each keeps
masters, average and moments of its slice of the buffer and updates it, then the weights are
gathered. If the weights themselves are sharded (`sharding`), each process updates its shards.
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
from revise_captions.finetune.optim.muon import Float32Muon
from revise_captions.finetune.optim.sharding import local

ADAMW_VECTORS, ADAMW_MATRICES, MUON = range(3)


class WholeWeights:
    """Parameters as views of one flat buffer `compute`, their gradients of `grad`.

    `own` is this process's half-open slice: everything unless the optimizer is sharded.
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
        """A float32 copy of this process's weights."""
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
    """This process's shards of the parameters divided by `sharding`, concatenated."""

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
        """Does nothing, as the backward pass has already summed them."""

    def gradient(self) -> torch.Tensor:
        parts = [
            torch.zeros_like(local(p)) if p.grad is None else local(p.grad) for p in self.parameters
        ]
        return torch.cat([part.flatten().float() for part in parts])

    def clear(self) -> None:
        for parameter in self.parameters:
            parameter.grad = None


class FlatOptimizer:
    """Optimizer of a model's trained parameters; weight decay applies to matrices only.

    Args:
        model: Its parameters become views of the flat buffer, unless they are sharded.
        ema: Decay of `average`, the moving average of `master`; at 0 the two are the same.
        slow: Names of the parameters that `step` updates at `slow_rate` times the rate.
        muon: Names of the matrices for Muon, whose updates are scaled to AdamW's
            (`match_rms_adamw`), so that one rate serves both.
        share: The processes that shard optimizer or weights; all must call `use` and `step`.

    Raises:
        UserError: Muon with a sharded optimizer.
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
        """AdamW on whole slices of the masters, Muon on single matrices; each group has `slow`.

        `_views` gets the updated parameters with their offsets in the masters.
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
            made["muon"] = (
                Float32Muon(muon)
                if self.parameters[0].dtype == torch.float32
                else torch.optim.Muon(muon, lr=1e-3, adjust_lr_fn="match_rms_adamw")
            )
        return made

    def step(self, rate: float, clip: float, slow_rate: float = 1.0) -> float:
        """One update at learning rate `rate`; a gradient that is not finite is dropped.

        Args:
            clip: Largest gradient norm, 0 for no clipping.
            slow_rate: Factor of the rate for slow parameters.

        Returns:
            The gradient's norm before clipping.
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
            for view, _ in self._views:
                view.grad = None  # as large as the masters, so freed before the next step's
            self.steps += 1
            if self.ema:
                decay = min(self.ema, (1 + self.steps) / (10 + self.steps))
                self.average.lerp_(self.master, 1 - decay)
            self.use(self.master)
        self.weights.clear()
        return norm

    def reload(self) -> None:
        """Resets masters and average to the model's weights, after setting these directly."""
        self.master.copy_(self.weights.read())
        self.average.copy_(self.master)

    def use(self, weights: torch.Tensor) -> None:
        """Writes `average` or `master` into the model, in all processes."""
        self.weights.write(weights)

    def state(self) -> dict[str, Any]:
        """What resuming needs from this process's slice."""
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
