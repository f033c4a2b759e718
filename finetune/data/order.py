"""The order of training captions, a function of the seed alone, so that runs can be resumed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from revise_captions.finetune.config import TrainingSettings
    from revise_captions.finetune.data.records import Examples


@dataclass(frozen=True, slots=True)
class Replayed:
    """Each epoch takes `drawn` of the `total` replayed examples, which follow the data's own."""

    total: int = 0
    drawn: int = 0

    def of_epoch(self, seed: int, epoch: int) -> NDArray[np.int64]:
        """An epoch's slice of concatenated permutations: none repeats before all were drawn."""
        first, end = epoch * self.drawn, (epoch + 1) * self.drawn
        turns = range(first // self.total, math.ceil(end / self.total))
        order = [np.random.default_rng((seed, 3, turn)).permutation(self.total) for turn in turns]
        start = first - turns.start * self.total
        return np.concatenate(order)[start : start + self.drawn]


NOTHING = Replayed()


def replay_of(train: Examples, settings: TrainingSettings) -> Replayed:
    """How many captions of an epoch are replayed, by `replay_share`."""
    total, share = len(train) - train.own, settings.data.replay_share
    return Replayed(total, round(train.own * share / (1 - share))) if total else NOTHING


def epoch_size(train: Examples, settings: TrainingSettings) -> int:
    """Captions in one epoch: the data's own, once each, plus replayed ones."""
    return train.own + replay_of(train, settings).drawn


def batches(
    lengths: Sequence[int],
    size: int,
    seed: int,
    epoch: int,
    window: int = 64,
    replayed: Replayed = NOTHING,
) -> list[list[int]]:
    """One epoch's batches of example indices, shuffled, then grouped by length within windows.

    All have `size` members, since compiled layers need few shapes; a window's remainder is left to
    later epochs.
    """
    size = min(size, len(lengths))
    rng = np.random.default_rng((seed, epoch))
    own = len(lengths) - replayed.total
    order = rng.permutation(own)
    if replayed.drawn:
        order = rng.permutation(np.concatenate([order, own + replayed.of_epoch(seed, epoch)]))
    made: list[list[int]] = []
    for start in range(0, len(order), size * window):
        part = sorted(order[start : start + size * window].tolist(), key=lambda i: lengths[i])
        made += [part[i : i + size] for i in range(0, len(part) - size + 1, size)]
    return [made[i] for i in rng.permutation(len(made))]


def endless_batches(
    train: Examples, settings: TrainingSettings, epoch: int, step: int
) -> Iterator[tuple[int, int, list[int]]]:
    """Yields (epoch, step in epoch, example indices) without end, from a given step on."""
    size, seed, more = settings.data.batch_size, settings.seed, replay_of(train, settings)
    while True:
        for index, batch in enumerate(batches(train.sizes, size, seed, epoch, replayed=more)):
            if index >= step:
                yield epoch, index, batch
        epoch, step = epoch + 1, 0
