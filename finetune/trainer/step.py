"""One optimizer step, whose gradient does not depend on micro-batches and processes.

Each task's
loss is the mean over the tokens of the whole batch: every part divides its sums by the counts of
all. So one pass over eight captions, eight passes over one, and two processes with four each give
the same gradient.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from revise_captions.errors import UserError
from revise_captions.finetune.data.targets import TokenTask
from revise_captions.finetune.models.protocol import ForwardInputs, ForwardOutputs
from revise_captions.finetune.optim.optimizer import rate
from revise_captions.finetune.optim.sharding import is_divided
from revise_captions.finetune.trainer.batches import EncodedBatch, fraction, passes

if TYPE_CHECKING:
    from revise_captions.finetune.trainer.setup import TrainingRun

#: Index of the error-onset sum, which follows the tasks' sums.
ERROR_ONSET = len(TokenTask)
Floats = NDArray[np.float64]


def step(run: TrainingRun, batch: EncodedBatch) -> dict[str, float]:
    """One optimizer step on one batch; returns the losses by task, and counts for the log."""
    progress, asked, members = run.progress, batch.passes, batch.drawn.members
    own = (counts(one.inputs) for one in asked)
    totals = run.parallel.total(sum(own, np.zeros(ERROR_ONSET + 1)))
    if not totals[: len(TokenTask)].any():
        raise UserError(
            f"no question about the captions of a batch fits in {run.settings.model.max_length} "
            "tokens",
            hint="raise --max-length",
        )
    sums, dense = np.zeros(ERROR_ONSET + 1), 0.0
    _pad_passes(run, batch)
    for one in asked:
        seen = run.forward(one.inputs)
        loss, parts = _loss(run, one.inputs, seen, totals)
        if run.dense is not None and run.settings.losses.tower and seen.tower is not None:
            share = len(one.images) / len(members)
            found, _ = run.dense_loss(seen.tower, np.array(one.images), one.colors)
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
    progress.longest = max([progress.longest, *(one.inputs.longest for one in asked)])
    losses["captions"] = len(members)
    losses["sentences"] = totals[TokenTask.CLASSIFY]
    losses["length"] = max([0, *(one.inputs.width for one in asked)])
    losses["skipped"] = sum(one.inputs.skipped for one in asked)
    progress.captions += len(members)
    progress.sentences += int(losses["sentences"])
    return losses


def _backward(run: TrainingRun, loss: torch.Tensor) -> None:
    if is_divided(run.network):  # all processes must have gradients for the same weights
        loss = loss + 0.0 * sum(p.sum() for p in run.network.error_onset.parameters())
    loss.backward()  # type: ignore[no-untyped-call]


def _pad_passes(run: TrainingRun, batch: EncodedBatch) -> None:
    """With sharded weights, adds passes of zero weight until all processes have made as many."""
    if not is_divided(run.network):
        return
    missing = run.parallel.largest(len(batch.passes)) - len(batch.passes)
    if missing:
        everyone = [[k] for k in range(len(batch.drawn.members))]
        spare = batch.passes or passes(run, batch.drawn, everyone)
        for _ in range(missing):
            _backward(run, 0.0 * run.forward(spare[0].inputs).logits.sum())


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
