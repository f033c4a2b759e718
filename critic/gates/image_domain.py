"""The domain gate: do the tower's features show an image of a kind the critic was trained on?

A small network reads the tower's hidden states: a linear map of every patch plus an offset for its
position, a ReLU, then mean, maximum and standard deviation over patches, one hidden layer, a logit.
It is fitted against out-of-domain images made for the purpose (`scripts.research.domain_gate.fit`).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from revise_captions.errors import UserError, described

if TYPE_CHECKING:
    import torch
    from transformers import PaliGemmaForConditionalGeneration

GATE_FILE = "domain.safetensors"
Floats = NDArray[np.float32]


def tower_states(
    model: PaliGemmaForConditionalGeneration, pixel_values: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor]:
    """The tower's output and what the gate reads, from one pass.

    Args:
        model: The critic's network.
        pixel_values: (images, 3, size, size), in [-1, 1].

    Returns:
        The output, (images, patches, hidden), and the gate's features, float32 (images, patches,
        4 × hidden): hidden states after the first layer, half-way and before the last, and the
        output.
    """
    import torch

    output = model.model.vision_tower(pixel_values, output_hidden_states=True)
    last = len(output.hidden_states) - 1  # hidden_states[0] are the patch embeddings
    chosen = [output.hidden_states[layer] for layer in (1, -(-last // 2), max(1, last - 1))]
    states = torch.cat([*chosen, output.last_hidden_state], dim=-1)
    return output.last_hidden_state, states.float()


@dataclass(frozen=True, slots=True)
class DomainGate:
    """The gate's weights: an ensemble whose logits are averaged.

    With F features of a patch, P patches, and M members of H channels and K hidden units each:

    Attributes:
        embed: (F, M·H).
        place: (P, M·H).
        hidden: (M, 3·H, K).
        bias: (M, K).
        out: (M, K).
        offset: (M,).
        limit: The least logit of an image in the domain.
    """

    embed: Floats
    place: Floats
    hidden: Floats
    bias: Floats
    out: Floats
    offset: Floats
    limit: float

    def score(self, features: Floats | torch.Tensor) -> Floats:
        """Logits of being in the domain, (images,).

        Args:
            features: As `tower_states` returns them.

        Raises:
            ValueError: They are from a tower of another shape.
        """
        import torch

        expected = (self.place.shape[0], self.embed.shape[0])
        if tuple(features.shape[1:]) != expected:
            raise ValueError(f"features of shape {features.shape[1:]}, this gate reads {expected}")
        # in PyTorch, as NumPy's threads would keep spinning on cores that the model needs next
        embed, place, hidden, bias, out, offset = (
            torch.from_numpy(getattr(self, name)) for name in _WEIGHTS
        )
        if len(features) == 0:
            return np.zeros(0, dtype=np.float32)
        logits = []
        for part in torch.as_tensor(features).cpu().split(64):
            units = (part @ embed + place).relu().unflatten(-1, (len(offset), -1))
            pooled = torch.cat([units.mean(1), units.amax(1), units.std(1, correction=0)], dim=-1)
            last = (torch.einsum("imf,mfk->imk", pooled, hidden) + bias).relu()
            logits.append(((last * out).sum(-1) + offset).mean(-1))
        return np.asarray(torch.cat(logits))

    def inside(self, features: Floats | torch.Tensor) -> NDArray[np.bool_]:
        """Which images are in the domain, (images,)."""
        return np.asarray(self.score(features) >= self.limit)

    def write(self, folder: Path) -> None:
        """Writes `domain.safetensors` to a checkpoint's folder."""
        from safetensors.numpy import save_file

        tensors = {name: np.ascontiguousarray(getattr(self, name)) for name in _WEIGHTS}
        tensors["limit"] = np.array([self.limit], dtype=np.float32)
        save_file(tensors, folder / GATE_FILE)


#: The tensors and how many axes each has.
_WEIGHTS = {"embed": 2, "place": 2, "hidden": 3, "bias": 2, "out": 2, "offset": 1}


def read_gate(folder: Path) -> DomainGate | None:
    """The gate beside the weights, or None where the checkpoint has none.

    Raises:
        UserError: Its file is broken, or holds something else.
    """
    from safetensors import SafetensorError
    from safetensors.numpy import load_file

    path = folder / GATE_FILE
    if not path.exists():
        return None
    try:
        tensors = load_file(path)
    except (OSError, SafetensorError) as error:
        raise UserError(f"{path} is not a critic's gate: {described(error)}") from None
    for name, axes in (*_WEIGHTS.items(), ("limit", 1)):
        found = tensors.get(name)
        if found is None or found.ndim != axes or not found.size or found.dtype != np.float32:
            what = "is missing" if found is None else f"is {found.dtype} of shape {found.shape}"
            raise UserError(f"{path} is not a critic's gate: `{name}` {what}")
    weights = {name: tensors[name] for name in _WEIGHTS}
    return DomainGate(**weights, limit=float(tensors["limit"][0]))
