"""The trained part: ŷ = σ(W[g_r2c, g_i2c] + b), one row of W for each perspective.

Each perspective has its own prompt, and hence its own R2C feature; the I2C feature is the same for
all. Inputs are standardized by the training data's means and standard deviations, which the paper
does not mention: frozen models' features have some coordinates hundreds of times larger than
others, and at a learning rate of 1e-4 a linear layer on raw ones does not converge in ten epochs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    import torch

Floats = npt.NDArray[np.float32]


class LinearHead:
    """A linear layer and a sigmoid for each perspective.

    Args:
        perspectives: How many.
        width: Length of a feature vector.
        seed: Of the initial weights.
    """

    def __init__(self, perspectives: int, width: int, seed: int = 0) -> None:
        import torch

        generator = torch.Generator().manual_seed(seed)
        bound = width**-0.5
        weight = (2 * torch.rand(perspectives, width, generator=generator) - 1) * bound
        self.weight = torch.nn.Parameter(weight)
        self.bias = torch.nn.Parameter(torch.zeros(perspectives))
        self.shift = torch.zeros(perspectives, width)
        self.scale = torch.ones(perspectives, width)

    def parameters(self) -> list[torch.nn.Parameter]:
        return [self.weight, self.bias]

    def standardize(self, features: Floats) -> None:
        """Fixes shift and scale by the training data's features, (captions, perspectives, width).

        A feature that does not vary is left at 0.
        """
        import torch

        mean, deviation = features.mean(0), features.std(0)
        self.shift = torch.from_numpy(mean)
        varies = deviation > 1e-6
        scale = np.divide(1.0, deviation, out=np.zeros_like(deviation), where=varies)
        self.scale = torch.from_numpy(scale.astype(np.float32))

    def __call__(self, features: torch.Tensor) -> torch.Tensor:
        """Scores in (0, 1), (captions, perspectives), for features (…, perspectives, width)."""
        import torch

        standard = (features - self.shift) * self.scale
        return torch.sigmoid((standard * self.weight).sum(-1) + self.bias)

    def scores(self, features: Floats) -> npt.NDArray[np.float64]:
        """`__call__` without gradients, for arrays."""
        import torch

        with torch.inference_mode():
            return self(torch.from_numpy(features)).double().numpy()

    def tensors(self) -> dict[str, torch.Tensor]:
        """Copies of everything that determines a score."""
        return {
            "weight": self.weight.detach().clone(),
            "bias": self.bias.detach().clone(),
            "shift": self.shift.clone(),
            "scale": self.scale.clone(),
        }

    def load(self, tensors: dict[str, torch.Tensor]) -> None:
        """Restores what `tensors` returned."""
        import torch

        with torch.no_grad():
            self.weight.copy_(tensors["weight"])
            self.bias.copy_(tensors["bias"])
        self.shift, self.scale = tensors["shift"].clone(), tensors["scale"].clone()


def stacked(r2c: Sequence[Floats] | None, i2c: Floats | None, perspectives: int) -> Floats:
    """Features of both branches: float32 (captions, perspectives, width).

    Args:
        r2c: For each perspective, (captions, R2C width); None: the branch is off.
        i2c: (captions, I2C width); None: the branch is off.
        perspectives: How many.
    """
    parts: list[Any] = []
    if r2c is not None:
        parts.append(np.stack(r2c, axis=1))
    if i2c is not None:
        parts.append(np.repeat(i2c[:, None], perspectives, axis=1))
    return np.concatenate(parts, axis=2).astype(np.float32)
