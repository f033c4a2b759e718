"""A fine-tuning run from its data to the finished critic."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path

from revise_captions.critic.checkpoints import CARD
from revise_captions.finetune.config import TrainingSettings, require_limit
from revise_captions.finetune.export.checkpoint import export, snapshot, vocabulary
from revise_captions.finetune.optim.distributed import stop
from revise_captions.finetune.trainer.batches import workers_alive
from revise_captions.finetune.trainer.loop import (
    align,
    averaged,
    last_moment,
    save,
    train_all,
    train_tower,
    validate,
)
from revise_captions.finetune.trainer.setup import Report, TrainingRun, prepare
from revise_captions.finetune.trainer.state import best_name


def finetune(
    data: Path,
    base: str,
    out: Path,
    settings: TrainingSettings,
    *,
    resume: bool,
    report: Report,
    began: float | None = None,
) -> Path:
    """Trains a critic on `data` and writes it to `out`; state and log are in `out/training`.

    Args:
        data: Folder with train.jsonl, validation.jsonl and images.
        base: `new`, `bundled`, a folder, or a hub id.
        out: Folder to write.
        settings: Determine the result, with data and base.
        resume: Continue from the last save in `out`.
        report: Receives each line of the log.
        began: Start of `settings.limits.minutes` (`time.monotonic`); None: now.

    Returns:
        `out`.

    Raises:
        UserError: Data, base or settings do not fit.
    """
    require_limit(settings)
    run = prepare(data, base, out, settings, resume=resume, report=report, began=began)
    train_tower(run, snapshot)
    if base == "new" and run.dense is not None and settings.tower.align and run.progress.step == 0:
        align(run, run.dense)
    if run.parallel.first:
        # before the end is timed, as it reads all captions, once
        run.vocabulary = vocabulary(run)
    with workers_alive():
        train_all(run, snapshot, export)
    save(run, snapshot)
    _finish(run, out)
    run.parallel.wait()
    stop(run.parallel)
    return out


def _finish(run: TrainingRun, out: Path) -> None:
    """Validates and writes the best or last weights."""
    run.parallel.wait()  # the first may still be writing the best weights
    name = best_name(run.optimizer.share)
    best = run.folder.load(name) if run.settings.validation.keep == "best" else None
    if best is not None:
        run.optimizer.average.copy_(best["average"])
    run.settings = run.settings.with_options(validate_captions=0)  # as many as time allows
    with averaged(run):
        if run.parallel.first:
            validate(run, last_moment(run))
            run.folder.finish(lambda folder: export(run, folder), last=CARD)
            run.progress.seconds = time.monotonic() - run.began
            run.log("end", out=str(out), **asdict(run.progress))
