"""The training loop: the tower phase, then all tasks; resumable."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import torch

from revise_captions.critic.paligemma.image_prefetch import pixel_values
from revise_captions.critic.paligemma.model import tower_output
from revise_captions.errors import UserError
from revise_captions.finetune.data.order import endless_batches
from revise_captions.finetune.models.align import align_projector
from revise_captions.finetune.models.dense_labels import Dense
from revise_captions.finetune.optim.optimizer import rate
from revise_captions.finetune.optim.sharding import whole
from revise_captions.finetune.trainer.batches import encoded, fraction
from revise_captions.finetune.trainer.setup import TrainingRun
from revise_captions.finetune.trainer.state import best_name, part_name
from revise_captions.finetune.trainer.step import step
from revise_captions.finetune.trainer.validate import (
    ValidationResult,
    measure_learner,
    samples,
)
from revise_captions.text.formatting import duration

#: Writes the current model, or the finished critic, into a folder.
Snapshot = Callable[[TrainingRun, Path], None]
#: Least distance between interim validations, as a share of training, to make patience meaningful.
APART = 0.05
#: Seconds between lines of progress.
SHOWN_EVERY = 10
#: Share of a time limit reserved for what is not timed: cards, word lists.
MARGIN = 0.03
#: Assumed bytes per second, until a save has been timed.
SLOW_DISK = 200e6
#: Captions that a validation measures at once, and the share of a time limit this may take.
TOGETHER, BATCH = 16, 0.01
#: Assumed time to train on a caption, relative to validating it, until a step has been timed.
TRAINING_COSTS = 4.0


def train_tower(run: TrainingRun, snapshot: Snapshot) -> None:
    """Trains the image tower alone on dense labels for `tower_minutes`."""
    settings, progress = run.settings, run.progress
    limit = settings.tower.minutes * 60
    if run.dense is None or progress.tower_seconds >= limit:
        return
    size, count = 64, len(run.train.images)
    shown = time.monotonic()
    tally: list[tuple[float, torch.Tensor]] = []
    while progress.tower_seconds < limit:
        began = time.monotonic()
        rng = np.random.default_rng((settings.seed, 1, progress.tower_step))
        images = np.sort(rng.choice(count, min(size, count), replace=False))
        features = tower_output(run.model, _pixels(run, images, rng))
        loss, right = run.dense_loss(features, images)
        loss.backward()  # type: ignore[no-untyped-call]
        run.optimizer.step(
            rate(
                progress.tower_seconds / limit,
                progress.tower_step,
                peak=settings.optimizer.learning_rate,
                warmup=settings.optimizer.warmup,
                schedule="cosine",
            ),
            settings.optimizer.clip,
        )
        tally.append((float(loss.detach()), right))
        progress.tower_step += 1
        progress.tower_seconds += time.monotonic() - began
        if time.monotonic() - shown > 20 or progress.tower_seconds >= limit:
            shown = time.monotonic()
            accuracy = torch.stack([r for _, r in tally]).mean(0)
            run.log(
                "tower",
                step=progress.tower_step,
                seconds=round(progress.tower_seconds, 1),
                loss=round(float(np.mean([value for value, _ in tally])), 4),
                accuracy={
                    name: round(float(a), 4)
                    for name, a in zip(run.dense.names, accuracy, strict=True)
                },
            )
            tally = []
    save(run, snapshot)


def _pixels(
    run: TrainingRun, images: np.ndarray[Any, Any], rng: np.random.Generator
) -> torch.Tensor:
    """Pixel values of images, some of them augmented."""
    assert run.train_pixels is not None
    augmented = rng.random(len(images)) < run.settings.data.robust_share
    variants = (
        np.where(augmented, 1, 0) if run.train_pixels.variants else np.zeros(len(images), int)
    )
    pixels = run.train_pixels.take(images.tolist(), variants.tolist())
    return pixel_values(pixels, run.model.dtype).to(run.model.device)


def align(run: TrainingRun, dense: Dense) -> None:
    """Initializes a new model's projector (`models.align`)."""
    assert run.train_pixels is not None
    explained = align_projector(run.model, run.codec, dense, run.train_pixels)
    run.optimizer.reload()
    run.log("align", explained=round(explained, 4))


def train_all(run: TrainingRun, snapshot: Snapshot, export: Snapshot) -> None:
    """The main phase: every task, until a limit or the patience is reached."""
    settings, progress = run.settings, run.progress
    every, patience = settings.validation, settings.limits.patience
    order = endless_batches(run.train, settings, progress.epoch, progress.batch)
    tally: list[dict[str, float]] = []
    _time_the_end(run, export)
    run.train_mode()
    first = last = fraction(run)
    shown = saved = validated = began = time.monotonic()
    batches = encoded(run, order, _fitting(run))
    while fraction(run) < 1 and not (patience and progress.worse >= patience):
        before, batch = time.monotonic(), next(batches)
        tally.append(step(run, batch))
        now = time.monotonic()
        # the slowest recent one, as a step's time depends on its captions, and on other programs
        whole = min(settings.data.batch_size, len(run.train))
        took = (now - before) / len(batch.drawn.members) * whole
        run.end.step = max(0.8 * run.end.step, took)
        progress.epoch, progress.batch = batch.drawn.epoch, batch.drawn.index + 1
        progress.step += 1
        # by the first process's clock: all must stop, validate and save together
        if every.steps:
            check_due = progress.step % every.steps == 0
        else:
            waited = fraction(run) - last >= APART
            check_due = waited and (now - validated) * every.time_share >= _interim(run)
        save_due = _due(progress.step, every.save_steps, every.save_minutes, now - saved)
        progress.seconds, run.end.total, check, keep = run.parallel.agree(
            now - run.began, _end_of(run), check_due, save_due
        )
        if now - shown > SHOWN_EVERY or (shown == began and now - shown > 1):
            done = fraction(run)
            left = (now - began) * (1 - done) / (done - first) if done > first else None
            _log_progress(run, tally, now - shown, left)
            shown, tally = now, []
        if check:
            _validate_and_keep_best(run)
            validated, last = time.monotonic(), fraction(run)
        if keep:
            save(run, snapshot)
            saved = time.monotonic()
    if not progress.step:
        raise UserError(
            f"preparation took {duration(progress.seconds)}, which left none of the "
            f"{settings.limits.minutes:g} minutes for training",
            hint="raise --minutes: it includes preparation, validation and export",
        )
    if every.keep == "best" and progress.checked < progress.step:
        _validate_and_keep_best(run)


def _time_the_end(run: TrainingRun, export: Snapshot) -> None:
    """Rehearses the end: validates a few captions, and writes a throwaway critic. The time that the
    end takes is reserved within a time limit."""
    settings, progress = run.settings, run.progress
    if settings.limits.minutes or settings.validation.time_share:
        with averaged(run):
            if run.parallel.first:
                run.end.caption = _seconds_a_caption(run)
                run.end.writing = _seconds_to_write(run, export) if settings.limits.minutes else 0.0
        held = run.optimizer.average.numel() * 4 * 4  # weights, two moments, average: float32
        run.end.saving = held / SLOW_DISK
    passed = time.monotonic() - run.began
    progress.seconds, run.end.total, run.end.caption, run.end.writing = run.parallel.agree(
        passed, _end_of(run), run.end.caption, run.end.writing
    )
    progress.prepared = progress.prepared or progress.seconds


def _seconds_a_caption(run: TrainingRun) -> float:
    """Seconds to validate a caption, measured on two captions, and on more if that is fast."""
    seconds = 0.0
    for count in (2, TOGETHER):
        few = list(range(min(count, len(run.validation))))
        began = time.monotonic()
        measure_learner(run.learner, run.validation, few)
        seconds = (time.monotonic() - began) / len(few)
        if seconds > 0.1:
            break
    return seconds


def _seconds_to_write(run: TrainingRun, export: Snapshot) -> float:
    """Seconds to write the finished critic, with random figures for all validation captions."""
    told = [(k, s.factual) for k, one in enumerate(run.validation) for s in one.sentences]
    owner, factual = (np.array(column) for column in zip(*told, strict=True))
    chance = np.random.default_rng(run.settings.seed).random(len(told))
    run.measured = ValidationResult(chance, factual, 0.0, 0.0, 0.0, caption=owner)
    began = time.monotonic()
    list(samples(run.learner, run.learner.card(), run.validation, run.settings.validation.samples))
    run.folder.try_out(lambda path: export(run, path))
    run.measured = None
    return time.monotonic() - began


def _fitting(run: TrainingRun) -> int | None:
    """How many captions of the first step fit into a time limit; None: all.

    Later steps begin only if there is time for one.
    """
    limit, caption = run.settings.limits.minutes * 60, run.end.caption
    if run.progress.step or not limit or not caption:
        return None
    left = limit - run.progress.prepared - run.end.total
    return max(1, int(left / (TRAINING_COSTS * caption)))


def _interim(run: TrainingRun) -> float:
    """Seconds for an interim validation, at most its share of a time limit."""
    validation, limit = run.settings.validation, run.settings.limits.minutes * 60
    count = validation.captions or len(run.validation)
    seconds = min(count, len(run.validation)) * run.end.caption
    return min(seconds, validation.time_share * limit) if limit else seconds


def _end_of(run: TrainingRun) -> float:
    """Seconds for the last validation, within its share of a time limit, saving and export."""
    validation, limit = run.settings.validation, run.settings.limits.minutes * 60
    last = len(run.validation) * run.end.caption
    if limit:
        last = min(last, max(validation.time_share, MARGIN) * limit)
    if validation.keep == "best":
        last += _interim(run)
    # a state, a snapshot and the critic
    return last + run.end.saving + 2 * run.end.writing + run.end.step + MARGIN * limit


def last_moment(run: TrainingRun) -> float | None:
    """When the last validation has to end, given a time limit (`time.monotonic`)."""
    limit = run.settings.limits.minutes * 60
    return run.began + limit * (1 - MARGIN) - run.end.writing if limit else None


def batch_of(run: TrainingRun) -> int:
    """Captions per validation batch, which may take its share of a time limit."""
    limit, caption = run.settings.limits.minutes * 60, run.end.caption
    return max(1, min(TOGETHER, int(BATCH * limit / caption))) if limit and caption else TOGETHER


def _due(step: int, steps: int, minutes: float, waited: float) -> bool:
    """Whether it is time again, by steps if set, else by minutes."""
    return step % steps == 0 if steps else waited > minutes * 60


def _validate_and_keep_best(run: TrainingRun) -> None:
    """Validates the averaged weights, and saves them if they are the best so far."""
    settings, progress = run.settings, run.progress
    progress.checked = progress.step
    with averaged(run):
        room = settings.validation.time_share * settings.limits.minutes * 60
        until = time.monotonic() + room if room else None
        score = validate(run, until).score if run.parallel.first else 0.0
        (score,) = run.parallel.agree(score)
        if progress.best is None or score > progress.best:
            progress.best, progress.best_step, progress.worse = score, progress.step, 0
            share = run.optimizer.share
            if settings.validation.keep == "best" and (run.parallel.first or share.world > 1):
                kept = {"average": run.optimizer.average, "step": progress.step}
                run.folder.save(kept, best_name(share))
        else:
            progress.worse += 1
    run.train_mode()


@contextmanager
def averaged(run: TrainingRun) -> Iterator[None]:
    """Puts the averaged weights into the model, gathered in the first process."""
    run.optimizer.use(run.optimizer.average)
    with whole(run.network, run.parallel):
        yield
    run.optimizer.use(run.optimizer.master)


def _log_progress(
    run: TrainingRun, tally: list[dict[str, float]], seconds: float, left: float | None
) -> None:
    keys = {key for line in tally for key in line}
    means = {k: float(np.mean([line[k] for line in tally if k in line])) for k in sorted(keys)}
    captions = sum(line["captions"] for line in tally)
    sentences = sum(line["sentences"] for line in tally)
    if left is not None:
        left += run.end.total
        if limit := run.settings.limits.minutes * 60:
            left = min(left, max(0.0, limit - run.progress.seconds))
    run.log(
        "train",
        step=run.progress.step,
        epoch=run.progress.epoch,
        fraction=round(fraction(run), 4),
        left=None if left is None else round(left),
        captions=run.progress.captions,
        captions_per_s=round(captions / seconds, 1),
        sentences_per_s=round(sentences / seconds, 1),
        **{k: float(f"{v:.4g}") for k, v in means.items() if k not in ("captions", "sentences")},
    )


def validate(run: TrainingRun, until: float | None = None) -> ValidationResult:
    """Measures the model's current weights on the validation split; logs figures and samples.

    `until`: as in `measure_learner`.
    """
    began = time.monotonic()
    rng = np.random.default_rng(run.settings.seed)
    count = min(len(run.validation), run.settings.validation.captions or len(run.validation))
    indices = np.sort(rng.choice(len(run.validation), count, replace=False)).tolist()
    run.measured = measure_learner(run.learner, run.validation, indices, batch_of(run), until)
    if until is not None:
        count = len(np.unique(run.measured.caption))
    run.end.caption = (time.monotonic() - began) / max(count, 1)
    said = list(
        samples(run.learner, run.learner.card(), run.validation, run.settings.validation.samples)
    )
    run.log(
        "validation",
        step=run.progress.step,
        captions=count,
        of=len(run.validation),
        took=round(time.monotonic() - began, 1),
        **run.measured.shown,
        **({"samples": said} if said else {}),
    )
    return run.measured


def save(run: TrainingRun, snapshot: Snapshot) -> None:
    """Writes the resumable state and a loadable critic of the averaged weights.

    Each process writes its part of a sharded optimizer before the state that names the parts.
    """
    began = time.monotonic()
    share, folder, step = run.optimizer.share, run.folder, run.progress.step
    state: dict[str, Any] = {"progress": asdict(run.progress), "rng": torch.get_rng_state()}
    if share.world > 1:
        folder.save(run.optimizer.state(), part_name(step, share))
        state["parts"] = share.world
        state["weights_divided"] = run.settings.compute.shard_weights
        run.parallel.wait()
    else:
        state["optimizer"] = run.optimizer.state()
    if torch.cuda.is_available():
        state["cuda_rng"] = torch.cuda.get_rng_state()
    if run.parallel.first:
        folder.save(state)
        folder.remove_old_parts(step)
    run.end.saving = time.monotonic() - began
    with averaged(run):
        if run.parallel.first:
            folder.export("snapshot", lambda path: snapshot(run, path))
    run.log("saved", step=step)
