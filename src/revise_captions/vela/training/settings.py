"""How VELA is trained; the defaults are the paper's (Table 3, appendix C)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class VelaSettings:
    """Settings of the training.

    Attributes:
        epochs: At most.
        batch_size: Captions per step.
        learning_rate: Of AdamW, β = (0.9, 0.999).
        weight_decay: Of AdamW; PyTorch's default, the paper names none.
        patience: Epochs without a better τ-c on the validation split after which training stops.
        seed: Of initial weights and order.
        lora_rank: Rank of a LoRA adapter on the language model; 0: the model is frozen.
        lora_alpha: Scale of the adapter.
        lora_targets: Names of the layers that get one.
    """

    epochs: int = 10
    batch_size: int = 4
    learning_rate: float = 1e-4
    weight_decay: float = 0.01
    patience: int = 1
    seed: int = 0
    lora_rank: int = 0
    lora_alpha: float = 32.0
    lora_targets: tuple[str, ...] = ("q_proj", "v_proj")
