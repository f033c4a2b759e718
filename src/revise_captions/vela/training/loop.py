"""The training loop: mean squared error on ratings in [0, 1], early stopping on Kendall's τ-c."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch

from revise_captions.errors import UserError
from revise_captions.io.checked_json import checked
from revise_captions.io.writing import replacing
from revise_captions.stats.correlations import correlation
from revise_captions.vela.head import Floats, LinearHead
from revise_captions.vela.training.data import RatedCaption
from revise_captions.vela.training.settings import VelaSettings

Targets = npt.NDArray[np.float64]
Report = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True)
class TrainingSet:
    """The data for training and testing.

    Attributes:
        captions: All of them, with their splits.
        features: float32 (captions, perspectives, width).
        targets: (captions, perspectives) in [0, 1]; NaN if not rated.
        cut: Captions that a branch could not read in full.
    """

    captions: list[RatedCaption]
    features: Floats
    targets: Targets
    cut: int

    def rows(self, split: str) -> list[int]:
        """Rows of a split, or of a test set."""
        return [k for k, c in enumerate(self.captions) if split in (c.split, c.test)]


class FeatureSource(Protocol):
    """Features of the training and validation captions, frozen or from a trained adapter."""

    def trained(self) -> dict[str, torch.nn.Parameter]:
        """Parameters trained along with the linear layer, by name."""
        ...

    def features(self, rows: Sequence[int], *, training: bool) -> torch.Tensor:
        """float32 (rows, perspectives, width), with gradients in training."""
        ...


class FrozenFeatures:
    """Features computed once: float32 (captions, perspectives, width)."""

    def __init__(self, features: Floats) -> None:
        self._all = torch.from_numpy(features)

    def trained(self) -> dict[str, torch.nn.Parameter]:
        """Nothing."""
        return {}

    def features(self, rows: Sequence[int], *, training: bool) -> torch.Tensor:
        """See `FeatureSource`."""
        return self._all[list(rows)]


@dataclass(slots=True)
class VelaState:
    """The state after each epoch, from which a run can be resumed.

    Attributes:
        epoch: Epochs done.
        best: The best mean τ-c on the validation split; -2 before the first.
        best_epoch: The epoch that reached it.
        stale: Epochs since then.
        history: A line for each epoch.
    """

    epoch: int = 0
    best: float = -2.0
    best_epoch: int = 0
    stale: int = 0
    history: list[dict[str, Any]] = field(default_factory=list)


class VelaTrainer:
    """Trains a linear layer, and any trained parameters of its features.

    Args:
        head: The linear layer, standardized.
        source: Features of all captions.
        targets: (captions, perspectives) in [0, 1]; NaN if not rated.
        train: Rows of `targets` to train on.
        validation: Rows used for early stopping.
        settings: See `VelaSettings`.
        state_file: Where the state is kept for `--resume`.
    """

    def __init__(
        self,
        head: LinearHead,
        source: FeatureSource,
        targets: Targets,
        train: Sequence[int],
        validation: Sequence[int],
        settings: VelaSettings,
        state_file: Path,
    ) -> None:
        self.head, self.source, self.settings = head, source, settings
        self.targets, self.rows, self.validation = targets, list(train), list(validation)
        self.state_file = state_file
        self.parameters = {"weight": head.weight, "bias": head.bias, **source.trained()}
        self.optimizer = torch.optim.AdamW(
            self.parameters.values(),
            lr=settings.learning_rate,
            betas=(0.9, 0.999),
            weight_decay=settings.weight_decay,
        )
        self.state = VelaState()
        self.kept = self._copies()

    def run(self, report: Report) -> VelaState:
        """Trains to the end, then restores the best epoch's weights."""
        s = self.settings
        while self.state.epoch < s.epochs and self.state.stale < s.patience:
            loss = self._epoch()
            taus = self.taus(self.validation)
            mean = float(np.mean([tau for tau in taus if np.isfinite(tau)] or [-1.0]))
            state = self.state
            state.epoch += 1
            state.stale += 1
            if mean > state.best:
                state.best, state.best_epoch, state.stale = mean, state.epoch, 0
                self.kept = self._copies()
            line = {"epoch": state.epoch, "loss": round(loss, 6), "validation": _rounded(taus)}
            state.history.append(line)
            self._save()
            report(line)
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(self.kept[name])
        return self.state

    def predictions(self, rows: Sequence[int]) -> Targets:
        """Scores of captions: (rows, perspectives)."""
        found = []
        with torch.inference_mode():
            for start in range(0, len(rows), 64):
                part = rows[start : start + 64]
                found.append(self.head(self.source.features(part, training=False)))
        return torch.cat(found).double().numpy()

    def taus(self, rows: Sequence[int]) -> list[float]:
        """Kendall's τ-c of each perspective; NaN where ratings or scores do not vary."""
        scores, targets = self.predictions(rows), self.targets[list(rows)]
        known = np.isfinite(targets)
        return [
            correlation("kendall-c", scores[known[:, k], k], targets[known[:, k], k])
            for k in range(targets.shape[1])
        ]

    def _epoch(self) -> float:
        """One pass over the training data in a new order; returns the mean loss."""
        order = np.random.default_rng([self.settings.seed, self.state.epoch]).permutation(self.rows)
        total = 0.0
        for start in range(0, len(order), self.settings.batch_size):
            part = order[start : start + self.settings.batch_size]
            wanted = torch.from_numpy(self.targets[part]).float()
            known = torch.isfinite(wanted)
            scores = self.head(self.source.features(part.tolist(), training=True))
            loss = ((scores - wanted.nan_to_num())[known] ** 2).mean()
            if not torch.isfinite(loss):
                raise UserError("the loss is not a number", hint="try a lower --learning-rate")
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            total += float(loss.detach()) * len(part)
        return total / len(order)

    # --- Going on after an interruption ---------------------------------------------------------

    def _copies(self) -> dict[str, torch.Tensor]:
        return {name: p.detach().clone() for name, p in self.parameters.items()}

    def _save(self) -> None:
        from safetensors.torch import save

        tensors = {f"now.{name}": tensor for name, tensor in self._copies().items()}
        tensors |= {f"best.{name}": tensor for name, tensor in self.kept.items()}
        for name, parameter in self.parameters.items():
            for key, value in self.optimizer.state[parameter].items():
                tensors[f"adam.{key}.{name}"] = torch.as_tensor(value).detach().clone()
        tensors |= {"shift": self.head.shift.clone(), "scale": self.head.scale.clone()}
        meta = {"state": json.dumps(asdict(self.state)), "settings": self._fingerprint()}
        with replacing(self.state_file) as file:
            file.write(save(tensors, meta))

    def _fingerprint(self) -> str:
        return json.dumps(
            [asdict(self.settings), [len(self.rows), len(self.validation)], self.head.weight.shape]
        )

    def resume(self) -> None:
        """Continues from the state file; a run interrupted in its first epoch has none.

        Raises:
            UserError: It is from another run, or cannot be read.
        """
        from safetensors import SafetensorError, safe_open

        if not self.state_file.exists():
            return
        try:
            with safe_open(self.state_file, "pt") as file:
                meta: Mapping[str, str] = file.metadata() or {}
                tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        except (OSError, SafetensorError) as error:
            raise UserError(
                f"there is nothing to resume in {self.state_file}: {error}",
                hint="start over with --force",
            ) from None
        if meta.get("settings") != self._fingerprint():
            raise UserError(
                f"{self.state_file} is of a run with other settings or other data",
                hint="give the same options, or start over with --force",
            )
        self.state = checked(
            VelaState, meta.get("state", ""), f"{self.state_file} is not the state of a training"
        )
        self.head.shift, self.head.scale = tensors["shift"], tensors["scale"]
        with torch.no_grad():
            for name, parameter in self.parameters.items():
                parameter.copy_(tensors[f"now.{name}"])
                self.kept[name] = tensors[f"best.{name}"]
                self.optimizer.state[parameter] = {
                    key: tensors[f"adam.{key}.{name}"] for key in ("step", "exp_avg", "exp_avg_sq")
                }


def _rounded(values: Sequence[float]) -> list[float | None]:
    return [round(value, 4) if np.isfinite(value) else None for value in values]
