"""Features with a LoRA adapter on the R2C branch's language model, trained with the linear layer.

The paper's 3.68 million trained parameters are far more than the linear layer's 17 thousand; a LoRA
of rank 16 on the query and value projections of Qwen2.5-3B has 3,686,400. This is our inference, as
the paper does not say what it trained.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from revise_captions.errors import UserError
from revise_captions.vela.features import Branches
from revise_captions.vela.head import Floats
from revise_captions.vela.training.settings import VelaSettings


class LoraFeatures:
    """A `FeatureSource` that runs the language model at every step.

    Args:
        branches: The branches, with a language model.
        texts: Candidate and references of each caption.
        i2c: The frozen I2C features, (captions, width); None: the branch is off.
        settings: Rank, scale and targets of the adapter.

    Raises:
        UserError: PEFT is missing, or the model has no layers of these names.
    """

    def __init__(
        self,
        branches: Branches,
        texts: Sequence[tuple[str, tuple[str, ...]]],
        i2c: Floats | None,
        settings: VelaSettings,
    ) -> None:
        assert branches.language is not None
        self.branch = branches.language
        self._rows = [
            [self.branch.row(perspective, *text).ids for perspective in branches.perspectives]
            for text in texts
        ]
        self._i2c = None if i2c is None else torch.from_numpy(i2c)
        self.model: Any = _adapted(self.branch.model, settings)
        self.branch.model = self.model

    def trained(self) -> dict[str, torch.nn.Parameter]:
        """The adapter's matrices."""
        return {n: p for n, p in self.model.named_parameters() if p.requires_grad}

    def features(self, rows: Sequence[int], *, training: bool) -> torch.Tensor:
        """See `FeatureSource`."""
        self.model.train(training)
        prompts = [ids for row in rows for ids in self._rows[row]]
        pooled = self.branch.pooled(prompts).cpu()
        r2c = pooled.view(len(rows), -1, pooled.shape[1])
        if self._i2c is None:
            return r2c
        pair = self._i2c[list(rows)][:, None].expand(-1, r2c.shape[1], -1)
        return torch.cat([r2c, pair], dim=2)

    def save(self, folder: Path) -> None:
        """Writes the adapter in PEFT's format."""
        self.model.save_pretrained(str(folder))

    def remove(self) -> None:
        """Removes the adapter from the branch's model, so that another can be trained."""
        self.branch.model = self.model.unload()


def _adapted(model: Any, settings: VelaSettings) -> Any:
    from peft import LoraConfig, get_peft_model

    torch.manual_seed(settings.seed)
    config = LoraConfig(
        r=settings.lora_rank,
        lora_alpha=settings.lora_alpha,
        target_modules=list(settings.lora_targets),
    )
    try:
        return get_peft_model(model, config)
    except ValueError as error:
        raise UserError(
            f"no LoRA on {', '.join(settings.lora_targets)}: {str(error).splitlines()[0]}",
            hint="name layers of the language model by --lora-targets",
        ) from None
