"""Is this an image of the kind the critic was trained on? Decided by its own tower's features.

The gate is a small network that reads the tower's hidden states: a linear map of every patch with
an offset for its place, the mean, largest value and spread over patches, one hidden layer, a logit.
It is fitted against images made to be foreign (`scripts.research.domain_gate.fit`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    import torch
    from transformers import PaliGemmaForConditionalGeneration

GATE_FILE = "domain.safetensors"
Floats = NDArray[np.float32]


def tower_states(
    model: PaliGemmaForConditionalGeneration, pixel_values: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The tower's output (images, patches, hidden) and what the gate reads, from one pass.

    The latter, (images, patches, 4 × hidden), float32: the hidden states after the first layer,
    half-way and before the last, and the output.
    """
    import torch

    output = model.model.vision_tower(pixel_values, output_hidden_states=True)
    last = len(output.hidden_states) - 1  # hidden_states[0] are the patch embeddings
    chosen = [output.hidden_states[layer] for layer in (1, -(-last // 2), max(1, last - 1))]
    states = torch.cat([*chosen, output.last_hidden_state], dim=-1)
    return output.last_hidden_state, states.float()


@dataclass(frozen=True, slots=True)
class DomainGate:
    """Weights of the gate; an image is inside where its `score` is at least `limit`.

    With F features of a patch, P patches, M members that vote by their mean logit, each of H
    channels and K hidden units: `embed` (F, M·H), `place` (P, M·H), `hidden` (M, 3·H, K),
    `bias` (M, K), `out` (M, K), `offset` (M,).
    """

    embed: Floats
    place: Floats
    hidden: Floats
    bias: Floats
    out: Floats
    offset: Floats
    limit: float

    def score(self, features: Floats | torch.Tensor) -> Floats:
        """Logit of being inside, shape (images,). Features as `tower_states` gives them.

        Computed by PyTorch, whose threads are at hand: NumPy's own would go on spinning after it,
        on the cores that the model wants next. Raises ValueError where they come from a tower of
        another shape.
        """
        import torch

        expected = (self.place.shape[0], self.embed.shape[0])
        if tuple(features.shape[1:]) != expected:
            raise ValueError(f"features of shape {features.shape[1:]}, this gate reads {expected}")
        embed, place, hidden, bias, out, offset = (
            torch.from_numpy(getattr(self, name)) for name in _WEIGHTS
        )
        if len(features) == 0:
            return np.zeros(0, dtype=np.float32)
        logits = []
        for part in torch.as_tensor(features).cpu().split(64):
            seen = (part @ embed + place).relu().unflatten(-1, (len(offset), -1))
            pooled = torch.cat([seen.mean(1), seen.amax(1), seen.std(1, correction=0)], dim=-1)
            units = (torch.einsum("imf,mfk->imk", pooled, hidden) + bias).relu()
            logits.append(((units * out).sum(-1) + offset).mean(-1))
        return np.asarray(torch.cat(logits))

    def inside(self, features: Floats | torch.Tensor) -> NDArray[np.bool_]:
        """True where the image looks like the training images, shape (images,)."""
        return np.asarray(self.score(features) >= self.limit)

    def write(self, folder: Path) -> None:
        """Writes `domain.safetensors` to a checkpoint's folder."""
        from safetensors.numpy import save_file

        tensors = {name: np.ascontiguousarray(getattr(self, name)) for name in _WEIGHTS}
        tensors["limit"] = np.array([self.limit], dtype=np.float32)
        save_file(tensors, folder / GATE_FILE)


_WEIGHTS = ("embed", "place", "hidden", "bias", "out", "offset")


def read_gate(folder: Path) -> DomainGate | None:
    """The gate beside the weights, or None where the checkpoint has none."""
    from safetensors.numpy import load_file

    path = folder / GATE_FILE
    if not path.exists():
        return None
    tensors = load_file(path)
    weights = {name: tensors[name] for name in _WEIGHTS}
    return DomainGate(**weights, limit=float(tensors["limit"][0]))  # type: ignore[arg-type]
