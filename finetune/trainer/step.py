"""One optimizer step, whose gradient does not depend on micro-batches and processes.

Random choices depend only on (seed, epoch, batch) and are drawn for the whole batch. Each task's
loss is the mean over the tokens of the whole batch: every part divides its sums by the counts of
all. So one pass over eight captions, eight passes over one, and two processes with four each give
the same gradient.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from revise_captions.errors import UserError
from revise_captions.finetune.data.order import epoch_size
from revise_captions.finetune.data.targets import Choice, TokenTask, choose, without_colors
from revise_captions.finetune.models.protocol import ForwardInputs, ForwardOutputs, Images
from revise_captions.finetune.optim.optimizer import rate
from revise_captions.finetune.optim.sharding import is_divided

if TYPE_CHECKING:
    from revise_captions.finetune.data.records import TrainingExample
    from revise_captions.finetune.trainer.setup import TrainingRun

#: Index of the error-onset sum, which follows the tasks' sums.
ERROR_ONSET = len(TokenTask)
Floats = NDArray[np.float64]


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


def step(run: TrainingRun, epoch: int, index: int, members: list[int]) -> dict[str, float]:
    """One optimizer step on one batch; returns the losses by task, and counts for the log."""
    progress = run.progress
    asked = _asked(run, epoch, index, members)
    totals = run.parallel.total(sum((counts(one) for one, _ in asked), np.zeros(ERROR_ONSET + 1)))
    if not totals[: len(TokenTask)].any():
        raise UserError(
            f"no question about the captions of a batch fits in {run.settings.model.max_length} "
            "tokens",
            hint="raise --max-length",
        )
    sums, dense = np.zeros(ERROR_ONSET + 1), 0.0
    _pad_passes(run, asked, (epoch, index, members))
    for one, images in asked:
        seen = run.forward(one)
        loss, parts = _loss(run, one, seen, totals)
        if run.dense is not None and run.settings.losses.tower and seen.tower is not None:
            share = len(images.index) / len(members)
            found, _ = run.dense_loss(seen.tower, np.array(images.index), images.colors)
            loss = loss + run.settings.losses.tower * share * found
            dense += share * float(found.detach())
        _backward(run, loss)
        sums += parts
    run.optimizer.weights.collect(run.parallel)
    sums = run.parallel.total(sums)
    losses = {t.name.lower(): sums[t] / totals[t] for t in TokenTask if totals[t]}
    if totals[ERROR_ONSET]:
        losses["error_onset"] = sums[ERROR_ONSET] / totals[ERROR_ONSET]
    if run.dense is not None:
        losses["dense"] = dense
    losses["rate"] = rate(
        fraction(run),
        progress.step,
        peak=run.settings.optimizer.learning_rate,
        warmup=run.settings.optimizer.warmup,
        schedule=run.settings.optimizer.schedule,
    )
    losses["norm"] = run.optimizer.step(
        losses["rate"], run.settings.optimizer.clip, run.settings.optimizer.tower_rate
    )
    progress.longest = max([progress.longest, *(one.longest for one, _ in asked)])
    losses["captions"] = len(members)
    losses["sentences"] = totals[TokenTask.CLASSIFY]
    losses["length"] = max([0, *(one.width for one, _ in asked)])
    losses["skipped"] = sum(one.skipped for one, _ in asked)
    progress.captions += len(members)
    progress.sentences += int(losses["sentences"])
    return losses


def _backward(run: TrainingRun, loss: torch.Tensor) -> None:
    if is_divided(run.network):  # all processes must have gradients for the same weights
        loss = loss + 0.0 * sum(p.sum() for p in run.network.error_onset.parameters())
    loss.backward()  # type: ignore[no-untyped-call]


def _pad_passes(
    run: TrainingRun,
    asked: Sequence[tuple[ForwardInputs, Images]],
    batch: tuple[int, int, list[int]],
) -> None:
    """With sharded weights, adds passes of zero weight until all processes have made as many."""
    if not is_divided(run.network):
        return
    missing = run.parallel.largest(len(asked)) - len(asked)
    if missing:
        spare = asked or _asked(run, *batch, mine=[[k] for k in range(len(batch[2]))])
        for _ in range(missing):
            _backward(run, 0.0 * run.forward(spare[0][0]).logits.sum())


def _asked(
    run: TrainingRun,
    epoch: int,
    index: int,
    members: list[int],
    mine: list[list[int]] | None = None,
) -> list[tuple[ForwardInputs, Images]]:
    """The encoded micro-batches, with their images, of this process or of `mine`."""
    settings = run.settings
    rng = np.random.default_rng((settings.seed, 2, epoch, index))
    share = settings.data.describe_early if fraction(run) < 0.5 else settings.data.describe_late
    describe = float(rng.random() < share)  # for the whole batch, so that rows have similar lengths
    examples = [run.train[i] for i in members]
    choices = [
        choose(
            e,
            rng,
            settings.data.rationales,
            describe,
            settings.data.rewrites,
            settings.data.auxiliary_sentences,
        )
        for e in examples
    ]
    augmented = (rng.random(len(members)) < settings.data.robust_share).astype(int)
    colors = _recolor(run, rng, examples, choices)
    asked = []
    for part in _parts(run, len(members)) if mine is None else mine:
        images = Images(
            run.train,
            [run.train.image_of[members[k]] for k in part],
            [int(augmented[k]) for k in part],
            [colors[k] for k in part] if any(colors) else (),
        )
        one = run.learner.encode(*_picked(examples, choices, part), images)
        if one is not None:
            asked.append((one, images))
    return asked


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


def counts(asked: ForwardInputs) -> Floats:
    """Numbers of target tokens by task, then of error-onset labels."""
    found = np.bincount(asked.tasks, minlength=ERROR_ONSET + 1).astype(float)
    found[ERROR_ONSET] = len(asked.error_onset)
    return found


def token_weights(run: TrainingRun, asked: ForwardInputs) -> Floats:
    """The weight of each target token: its task's, times that of its class."""
    settings = run.settings
    by_task = np.zeros(len(TokenTask))
    by_task[TokenTask.CLASSIFY] = 1.0
    by_task[TokenTask.FOLLOW] = settings.losses.follow
    by_task[TokenTask.RATIONALE] = settings.losses.rationale
    by_task[TokenTask.DESCRIBE] = settings.losses.describe
    by_task[TokenTask.CAPTION] = settings.losses.caption
    weights = by_task[asked.tasks]
    if settings.losses.balance:
        judged = asked.tasks == TokenTask.CLASSIFY
        wrong = np.isin(asked.ids, run.learner.wrong_ids)
        weights[judged & wrong] *= run.class_weights[0]
        weights[judged & ~wrong] *= run.class_weights[1]
    return weights


def _loss(
    run: TrainingRun, asked: ForwardInputs, seen: ForwardOutputs, totals: Floats
) -> tuple[torch.Tensor, Floats]:
    """This micro-batch's share of the batch's loss, and its unweighted sums by task."""
    device = seen.logits.device
    each = cross_entropy(seen.logits, torch.from_numpy(asked.ids).to(device), reduction="none")
    shares = token_weights(run, asked) / np.maximum(totals, 1)[asked.tasks]
    loss = (each * torch.from_numpy(shares).to(device, each.dtype)).sum()
    costs = each.detach().double().cpu().numpy()
    sums: Floats = np.bincount(asked.tasks, costs, ERROR_ONSET + 1).astype(np.float64)
    if run.settings.losses.error_onset and seen.error_onset is not None and len(asked.error_onset):
        told = torch.from_numpy(asked.error_onset).to(device).float()
        error_onset = binary_cross_entropy_with_logits(seen.error_onset, told, reduction="sum")
        sums[ERROR_ONSET] = float(error_onset.detach())
        loss = loss + run.settings.losses.error_onset / totals[ERROR_ONSET] * error_onset
    return loss, sums
