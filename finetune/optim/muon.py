"""Muon for processors without instructions for bfloat16 (Jordan et al. 2024).

PyTorch's computes the Newton–Schulz iteration in bfloat16, which such a processor has to emulate:
nearly three quarters of a step of a small critic. This one does the same in float32.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import torch

#: PyTorch's: the polynomial's coefficients, its repetitions, and the least norm divided by.
COEFFICIENTS, REPETITIONS, LEAST = (3.4445, -4.775, 2.0315), 5, 1e-7


class Float32Muon(torch.optim.Optimizer):
    """`torch.optim.Muon(…, adjust_lr_fn="match_rms_adamw")` in float32, with the same state.

    Args:
        groups: Parameter groups of float32 matrices, each with `weight_decay`.
        lr: Learning rate, as AdamW would have it.
        momentum: Of Nesterov's kind.
    """

    def __init__(
        self, groups: Iterable[dict[str, Any]], lr: float = 1e-3, momentum: float = 0.95
    ) -> None:
        super().__init__(groups, {"lr": lr, "momentum": momentum})

    @torch.no_grad()
    def step(self, closure: None = None) -> None:  # type: ignore[override]
        """Updates all matrices that have a gradient."""
        for group in self.param_groups:
            rate, momentum = group["lr"], group["momentum"]
            for matrix in group["params"]:
                if matrix.grad is None:
                    continue
                state = self.state[matrix]
                if not state:
                    state["momentum_buffer"] = torch.zeros_like(matrix.grad)
                mean = state["momentum_buffer"].lerp_(matrix.grad, 1 - momentum)
                update = orthogonal(matrix.grad.lerp(mean, momentum))
                matrix.mul_(1 - rate * group["weight_decay"])
                matrix.add_(update, alpha=-rate * 0.2 * math.sqrt(max(matrix.shape)))


def orthogonal(matrix: torch.Tensor) -> torch.Tensor:
    """The nearest matrix with orthonormal rows or columns, roughly: singular values between .7 and
    1.2, by five steps of a Newton–Schulz iteration."""
    a, b, c = COEFFICIENTS
    tall = matrix.shape[0] > matrix.shape[1]
    x = matrix.T if tall else matrix
    x = x / x.norm().clamp(min=LEAST)
    for _ in range(REPETITIONS):
        gram = x @ x.T
        x = torch.addmm(x, torch.addmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
    return x.T if tall else x
