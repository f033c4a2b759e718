"""`--dry-run`: time, memory and disk of a training run, measured on its first batches."""

from __future__ import annotations

import math
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import torch

from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.order import endless_batches, epoch_size
from revise_captions.finetune.models.adapters import trained_parts
from revise_captions.finetune.trainer.batches import encoded, workers_alive
from revise_captions.finetune.trainer.setup import DTYPES, TrainingRun, prepare
from revise_captions.finetune.trainer.step import step
from revise_captions.process_memory import peak_memory

#: Timed steps, after one for warmup.
TIMED = 2
GIB = 2**30


def optimizer_bytes(trained: int, settings: TrainingSettings, share: int = 1) -> int:
    """Bytes for masters, moments, average and gradient of the trained weights, per process.

    Args:
        share: Processes that shard it; the gradient in the model's dtype is sharded only along with
            the weights.
    """
    compute = settings.compute
    width = DTYPES[compute.dtype].itemsize / (share if compute.shard_weights else 1)
    copies = 4 * (3 + bool(settings.optimizer.ema))  # float32
    copies += 4  # the gradient in the step
    return math.ceil(trained * (copies / share + width))


def dry_run(data: Path, base: str, out: Path, settings: TrainingSettings) -> str:
    """Trains a few steps in a temporary folder and reports their cost; `out` is not written.

    Raises:
        UserError: As training would raise.
    """
    with tempfile.TemporaryDirectory(prefix="finetune-critic-") as folder:
        lines: list[Mapping[str, object]] = []
        tried = settings.with_options(log_with=None, compile=False)
        run = prepare(data, base, Path(folder), tried, resume=False, report=lines.append)
        # memory: PyTorch's count on a GPU, the process's peak size on a CPU
        if torch.cuda.is_available():
            torch.cuda.reset_peak_memory_stats()
        with workers_alive():
            seconds = _timed(run)
        return "\n".join(_report(run, out, run.settings, seconds))


def _timed(run: TrainingRun) -> float:
    """Seconds per step. Changes the weights."""
    order = endless_batches(run.train, run.settings, 0, 0)
    began = 0.0
    run.train_mode()
    for count, batch in enumerate(encoded(run, order)):
        if count == 1:
            began = time.monotonic()
        if count == 1 + TIMED:
            break
        step(run, batch)
    return (time.monotonic() - began) / TIMED


def _report(
    run: TrainingRun, out: Path, settings: TrainingSettings, seconds: float
) -> Iterator[str]:
    parts = trained_parts(run.model)
    trained = sum(parts.values())
    total = sum(p.numel() for p in run.model.parameters())
    named = ", ".join(f"{part} {count:,}" for part, count in parts.items())
    yield f"learns: {trained:,} of {total:,} parameters ({named}), {settings.lora.method}"
    processes = f"{run.parallel.world} process(es)"
    yield f"device: {run.model.device}, {settings.compute.dtype}, {processes}"
    steps = _steps(run, settings)
    if steps is None:
        minutes = settings.limits.minutes
        yield f"steps: as many as fit into {minutes:g} minutes, at {seconds:.2f} s each"
    else:
        yield f"steps: {steps:,} at {seconds:.2f} s each: {_hours(steps * seconds)}"
    if torch.cuda.is_available():
        peak = torch.cuda.max_memory_allocated() / GIB
    else:
        peak = peak_memory() / GIB
    optimizer = optimizer_bytes(trained, settings, run.optimizer.share.world) / GIB
    yield (
        f"memory: {peak:.1f} GiB at its peak in these steps, of which the optimizer "
        f"{optimizer:.1f} GiB; longer captions need more"
    )
    state = trained * 4 * (3 + bool(settings.optimizer.ema))
    written = total if run.wrapped is None or settings.lora.merge else 0
    whole = written * DTYPES[settings.compute.dtype].itemsize
    disk = 2 * state + 3 * whole  # the old copy exists while a new one is written; plus the result
    if settings.validation.keep == "best":
        disk += 2 * trained * 4
    yield f"disk: {disk / GIB:.1f} GiB in {out}"


def _steps(run: TrainingRun, settings: TrainingSettings) -> int | None:
    """The number of steps; None if only time ends training."""
    limits = settings.limits
    allowed = [limits.steps] if limits.steps else []
    if limits.epochs:
        captions = limits.epochs * epoch_size(run.train, settings)
        allowed.append(math.ceil(captions / settings.data.batch_size))
    return min(allowed) if allowed else None


def _hours(seconds: float) -> str:
    if seconds < 90:
        return f"about {seconds:.0f} seconds"
    return (
        f"about {seconds / 60:.0f} minutes" if seconds < 5400 else f"about {seconds / 3600:.1f} h"
    )
