"""Training batches: drawn, encoded, and with `--workers` encoded ahead by other processes.

Random choices depend only on (seed, epoch, batch) and are drawn for the whole batch, so neither
the number of workers nor that of training processes changes them.
"""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from revise_captions.errors import UserError
from revise_captions.finetune.data.order import epoch_size
from revise_captions.finetune.data.targets import Choice, choose, without_colors
from revise_captions.finetune.models.protocol import ForwardInputs, Images

if TYPE_CHECKING:
    from revise_captions.finetune.data.records import TrainingExample
    from revise_captions.finetune.trainer.setup import TrainingRun

#: Batches that each worker encodes ahead.
AHEAD = 4


@dataclass(frozen=True, slots=True)
class DrawnBatch:
    """Which captions are asked about.

    Attributes:
        epoch: From 0.
        index: Of the batch in its epoch.
        members: Indices into the training captions.
        describe: Share of batches that ask for descriptions, at this point of training.
    """

    epoch: int
    index: int
    members: list[int]
    describe: float


@dataclass(frozen=True, slots=True)
class EncodedPass:
    """What one forward pass needs.

    Attributes:
        images: Index of each image in the split.
        colors: As in `models.protocol.Images`.
    """

    inputs: ForwardInputs
    images: Sequence[int]
    colors: Sequence[int]


@dataclass(frozen=True, slots=True)
class EncodedBatch:
    """A batch with this process's forward passes, one for each micro-batch."""

    drawn: DrawnBatch
    passes: list[EncodedPass]


def fraction(run: TrainingRun) -> float:
    """Progress of the main phase in [0, 1], by the nearest limit."""
    limits, progress = run.settings.limits, run.progress
    by_time = 0.0
    if limits.minutes:
        free = limits.minutes * 60 - run.end.total - progress.prepared
        by_time = (progress.seconds - progress.prepared) / free if free > 0 else 1.0
    by_step = progress.step / limits.steps if limits.steps else 0.0
    by_epoch = 0.0
    if limits.epochs:
        by_epoch = progress.captions / (limits.epochs * epoch_size(run.train, run.settings))
    return min(1.0, max(by_time, by_step, by_epoch))


def encoded(
    run: TrainingRun, order: Iterator[tuple[int, int, list[int]]], most: int | None = None
) -> Iterator[EncodedBatch]:
    """The batches of `order`, encoded.

    With workers, a batch is drawn before those ahead of it have been trained on, so the share of
    descriptions follows training by so many batches.

    Args:
        order: Epoch, index and members of each batch, as `data.order.endless_batches` yields them.
        most: Captions of the first batch at most; None: all.
    """
    drawn = _drawn(run, order, most)
    if not run.settings.compute.workers:
        for one in drawn:
            yield EncodedBatch(one, passes(run, one))
        return
    from torch.utils.data import DataLoader

    os.environ["TOKENIZERS_PARALLELISM"] = "false"  # its threads do not survive a fork
    yield from DataLoader(
        _Encoding(run),  # type: ignore[arg-type]  # items are asked for by batch, not by number
        batch_size=None,
        sampler=drawn,  # type: ignore[arg-type]
        num_workers=run.settings.compute.workers,
        collate_fn=_as_it_is,
        worker_init_fn=_end_with_parent,
        prefetch_factor=AHEAD,
        multiprocessing_context="fork",  # the data and the codec are shared, not copied
    )


@contextmanager
def workers_alive() -> Iterator[None]:
    """Raises `UserError` where a worker was killed; PyTorch says so wherever training is."""
    try:
        yield
    except RuntimeError as error:
        if "DataLoader worker" not in str(error):
            raise
        raise UserError(
            f"a process that encodes batches ended early ({str(error).strip().rstrip('.')})",
            hint="continue with --resume; with fewer --workers if memory is short",
        ) from error


def _end_with_parent(worker: int) -> None:
    """Has a worker end when its parent is gone: PyTorch's would wait for good, as large as training
    was, to send a batch that nobody reads."""
    parent = os.getppid()

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(1)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def _as_it_is(batch: Any) -> Any:
    return batch


@dataclass(frozen=True, slots=True)
class _Encoding:
    """What a worker does: it encodes the batch that it is asked for."""

    run: TrainingRun

    def __getitem__(self, drawn: DrawnBatch) -> EncodedBatch:
        return EncodedBatch(drawn, passes(self.run, drawn))


def _drawn(
    run: TrainingRun, order: Iterator[tuple[int, int, list[int]]], most: int | None
) -> Iterator[DrawnBatch]:
    data = run.settings.data
    for epoch, index, members in order:
        share = data.describe_early if fraction(run) < 0.5 else data.describe_late
        yield DrawnBatch(epoch, index, members[:most], share)
        most = None


def passes(
    run: TrainingRun, drawn: DrawnBatch, mine: list[list[int]] | None = None
) -> list[EncodedPass]:
    """The encoded micro-batches of this process, or of `mine`: places in the batch."""
    data, members = run.settings.data, drawn.members
    rng = np.random.default_rng((run.settings.seed, 2, drawn.epoch, drawn.index))
    # for the whole batch, so that rows have similar lengths
    describe = float(rng.random() < drawn.describe)
    examples = [run.train[i] for i in members]
    choices = [
        choose(e, rng, data.rationales, describe, data.rewrites, data.auxiliary_sentences)
        for e in examples
    ]
    augmented = (rng.random(len(members)) < data.robust_share).astype(int)
    colors = _recolor(run, rng, examples, choices)
    found = []
    for part in _parts(run, len(members)) if mine is None else mine:
        images = Images(
            run.train,
            [run.train.image_of[members[k]] for k in part],
            [int(augmented[k]) for k in part],
            [colors[k] for k in part] if any(colors) else (),
        )
        inputs = run.learner.encode(*_picked(examples, choices, part), images)
        if inputs is not None:
            found.append(EncodedPass(inputs, images.index, images.colors))
    return found


def _parts(run: TrainingRun, count: int) -> list[list[int]]:
    """This process's share of `count` captions, in micro-batches."""
    mine = list(range(run.parallel.rank, count, run.parallel.world))
    size = max(1, run.settings.compute.micro_batch or len(mine))
    return [mine[start : start + size] for start in range(0, len(mine), size)]


def _recolor(
    run: TrainingRun,
    rng: np.random.Generator,
    examples: Sequence[TrainingExample],
    choices: list[Choice],
) -> list[int]:
    """Draws images to recolor, and replaces their choices; returns their seeds, 0 for others.

    The seeds of images that are only shifted slightly in hue are negative.
    """
    settings, seeds = run.settings, [0] * len(examples)
    recolor, shift = settings.data.recolor_share, settings.data.hue_share
    if not recolor and not shift:
        return seeds
    for k, example in enumerate(examples):
        roll = rng.random()
        if recolor <= roll < recolor + shift:
            seeds[k] = -int(rng.integers(1, 2**31))
        elif roll < recolor:
            choice = without_colors(
                example, rng, settings.data.rewrites, settings.data.auxiliary_sentences
            )
            if choice is not None:
                choices[k], seeds[k] = choice, int(rng.integers(1, 2**31))
    return seeds


def _picked(
    examples: Sequence[TrainingExample], choices: Sequence[Choice], part: Sequence[int]
) -> tuple[list[TrainingExample], list[Choice]]:
    return [examples[k] for k in part], [choices[k] for k in part]
