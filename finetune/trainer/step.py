"""One optimiser step, in as many forward passes and processes as are wanted, always the same one.

What is drawn at random depends on (seed, epoch, batch) alone and is drawn for the whole batch. Each
task's loss is the mean over the tokens of the whole batch: sums over parts of it are divided by
counts that all parts and processes share. So eight captions at once, eight times one, and two
processes with four each give the same gradient.
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
from revise_captions.finetune.data.targets import Choice, TokenTask, choose, without_colours
from revise_captions.finetune.models.protocol import ForwardInputs, ForwardOutputs, Images
from revise_captions.finetune.optim.optimizer import rate
from revise_captions.finetune.optim.sharding import is_divided

if TYPE_CHECKING:
    from revise_captions.finetune.data.records import TrainingExample
    from revise_captions.finetune.trainer.setup import TrainingRun

#: Sums that are kept of a step: one for each task, then the trace.
TRACE = len(TokenTask)
Floats = NDArray[np.float64]


def fraction(run: TrainingRun) -> float:
    """How far the main phase is, in [0, 1], by whichever limit is nearer."""
    limits, progress = run.settings.limits, run.progress
    by_time = progress.seconds / (limits.minutes * 60) if limits.minutes else 0.0
    by_step = progress.step / limits.steps if limits.steps else 0.0
    by_epoch = 0.0
    if limits.epochs:
        by_epoch = progress.captions / (limits.epochs * epoch_size(run.train, run.settings))
    return min(1.0, max(by_time, by_step, by_epoch))


def step(run: TrainingRun, epoch: int, index: int, members: list[int]) -> dict[str, float]:
    """One optimiser step on one batch; what it cost, by task."""
    progress = run.progress
    asked = _asked(run, epoch, index, members)
    totals = run.parallel.total(sum((counts(one) for one, _ in asked), np.zeros(TRACE + 1)))
    if not totals[: len(TokenTask)].any():
        raise UserError(
            "no question about the captions of a batch fits into "
            f"{run.settings.model.max_length} tokens",
            hint="raise --max-length",
        )
    sums, dense = np.zeros(TRACE + 1), 0.0
    _keep_up(run, asked, (epoch, index, members))
    for one, images in asked:
        seen = run.see(one)
        loss, parts = _loss(run, one, seen, totals)
        if run.dense is not None and run.settings.losses.tower and seen.tower is not None:
            share = len(images.index) / len(members)
            found, _ = run.dense_loss(seen.tower, np.array(images.index), images.colours)
            loss = loss + run.settings.losses.tower * share * found
            dense += share * float(found.detach())
        _backward(run, loss)
        sums += parts
    run.optimizer.weights.collect(run.parallel)
    sums = run.parallel.total(sums)
    losses = {t.name.lower(): sums[t] / totals[t] for t in TokenTask if totals[t]}
    if totals[TRACE]:
        losses["trace"] = sums[TRACE] / totals[TRACE]
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
    if is_divided(run.network):  # whose processes must agree on what gets a gradient
        loss = loss + 0.0 * sum(p.sum() for p in run.network.trace.parameters())
    loss.backward()  # type: ignore[no-untyped-call]


def _keep_up(
    run: TrainingRun,
    asked: Sequence[tuple[ForwardInputs, Images]],
    batch: tuple[int, int, list[int]],
) -> None:
    """Passes that count nothing, where other processes make more and weights are divided."""
    if not is_divided(run.network):
        return
    missing = run.parallel.largest(len(asked)) - len(asked)
    if missing:
        spare = asked or _asked(run, *batch, mine=[[k] for k in range(len(batch[2]))])
        for _ in range(missing):
            _backward(run, 0.0 * run.see(spare[0][0]).logits.sum())


def _asked(
    run: TrainingRun,
    epoch: int,
    index: int,
    members: list[int],
    mine: list[list[int]] | None = None,
) -> list[tuple[ForwardInputs, Images]]:
    """A batch's parts, encoded, with their images: those of this process, or `mine`."""
    settings = run.settings
    rng = np.random.default_rng((settings.seed, 2, epoch, index))
    share = settings.data.describe_early if fraction(run) < 0.5 else settings.data.describe_late
    describe = float(rng.random() < share)  # all of a batch or none: rows of about one length
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
    worn = (rng.random(len(members)) < settings.data.robust_share).astype(int)
    colours = _recolour(run, rng, examples, choices)
    asked = []
    for part in _parts(run, len(members)) if mine is None else mine:
        images = Images(
            run.train,
            [run.train.image_of[members[k]] for k in part],
            [int(worn[k]) for k in part],
            [colours[k] for k in part] if any(colours) else (),
        )
        one = run.learner.encode(*_picked(examples, choices, part), images)
        if one is not None:
            asked.append((one, images))
    return asked


def _parts(run: TrainingRun, count: int) -> list[list[int]]:
    """This process's share of `count` captions, in parts that go through the model together."""
    mine = list(range(run.parallel.rank, count, run.parallel.world))
    size = max(1, run.settings.compute.micro_batch or len(mine))
    return [mine[start : start + size] for start in range(0, len(mine), size)]


def _recolour(
    run: TrainingRun,
    rng: np.random.Generator,
    examples: Sequence[TrainingExample],
    choices: list[Choice],
) -> list[int]:
    """Draws the images that are recoloured: their seeds, else 0. Their choices are changed."""
    settings, seeds = run.settings, [0] * len(examples)
    if not settings.data.recolor_share:
        return seeds
    for k, example in enumerate(examples):
        if rng.random() < settings.data.recolor_share:
            choice = without_colours(
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
    """Target tokens by task, and places of the trace."""
    found = np.bincount(asked.tasks, minlength=TRACE + 1).astype(float)
    found[TRACE] = len(asked.trace)
    return found


def token_weights(run: TrainingRun, asked: ForwardInputs) -> Floats:
    """What each target token weighs: its task's weight, and the balance of the two classes."""
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
    """This part's share of the batch's loss, and the sums of the losses by task, unweighted."""
    device = seen.logits.device
    each = cross_entropy(seen.logits, torch.from_numpy(asked.ids).to(device), reduction="none")
    shares = token_weights(run, asked) / np.maximum(totals, 1)[asked.tasks]
    loss = (each * torch.from_numpy(shares).to(device, each.dtype)).sum()
    costs = each.detach().double().cpu().numpy()
    sums: Floats = np.bincount(asked.tasks, costs, TRACE + 1).astype(np.float64)
    if run.settings.losses.error_onset and seen.trace is not None and len(asked.trace):
        told = torch.from_numpy(asked.trace).to(device).float()
        trace = binary_cross_entropy_with_logits(seen.trace, told, reduction="sum")
        sums[TRACE] = float(trace.detach())
        loss = loss + run.settings.losses.error_onset / totals[TRACE] * trace
    return loss, sums
