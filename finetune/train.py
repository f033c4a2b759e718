"""The training loop: tower phase, then all tasks, paragraph-packed, resumable."""

from __future__ import annotations

import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch.nn.functional import binary_cross_entropy_with_logits, cross_entropy

from revise_captions.calibration import calibrate
from revise_captions.critic.checkpoint import CriticCard, save_critic
from revise_captions.critic.language import common_words, write_lexicon
from revise_captions.critic.model import hidden_states, image_tokens, logits_at, tower_output
from revise_captions.critic.pixels import pixel_values
from revise_captions.errors import UserError
from revise_captions.finetune.align import align_projector
from revise_captions.finetune.optimizer import rate
from revise_captions.finetune.run import Report, Run, prepare
from revise_captions.finetune.settings import Settings
from revise_captions.finetune.targets import Encoded, Task, choose, encode, endless
from revise_captions.finetune.tower import Dense
from revise_captions.finetune.validate import Measured, measure


def train_tower(run: Run) -> None:
    """Trains the image tower alone on dense labels for `tower_minutes`."""
    settings, progress = run.settings, run.progress
    limit = settings.tower_minutes * 60
    if run.dense is None or progress.tower_seconds >= limit:
        return
    size, count = 64, len(run.train.images)
    shown = time.monotonic()
    tally: list[tuple[float, torch.Tensor]] = []
    while progress.tower_seconds < limit:
        began = time.monotonic()
        rng = np.random.default_rng((settings.seed, 1, progress.tower_step))
        images = np.sort(rng.choice(count, min(size, count), replace=False))
        loss, right = _dense_loss(run, images, rng)
        loss.backward()  # type: ignore[no-untyped-call]
        run.optimizer.step(
            rate(
                progress.tower_seconds / limit,
                progress.tower_step,
                peak=settings.learning_rate,
                warmup=settings.warmup,
                schedule="cosine",
            ),
            settings.clip,
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
    save(run)


def _dense_loss(
    run: Run, images: np.ndarray[Any, Any], rng: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    features = tower_output(run.model, _pixels(run, images, rng))
    return _heads(run, features, images)


def _heads(
    run: Run, features: torch.Tensor, images: np.ndarray[Any, Any]
) -> tuple[torch.Tensor, torch.Tensor]:
    assert run.dense is not None
    assert run.network.heads is not None
    labels = torch.from_numpy(run.dense.labels[images].astype(np.int64))
    result: tuple[torch.Tensor, torch.Tensor] = run.network.heads(features, labels.flatten(1, 2))
    return result


def _pixels(run: Run, images: np.ndarray[Any, Any], rng: np.random.Generator) -> torch.Tensor:
    """Pixel values of images, some of them the worn variant."""
    worn = rng.random(len(images)) < run.settings.robust_share
    variants = np.where(worn, 1, 0) if run.train_pixels.variants else np.zeros(len(images), int)
    return pixel_values(run.train_pixels.take(images.tolist(), variants.tolist()), run.model.dtype)


def align(run: Run, dense: Dense) -> None:
    """Starts image tokens as bags of words (`finetune.align`)."""
    explained = align_projector(run.model, run.codec, dense, run.train_pixels)
    run.optimizer.absorb()
    run.log("align", explained=round(explained, 4))


def fraction(run: Run) -> float:
    """How far the main phase is, in [0, 1], by whichever limit is nearer."""
    settings, progress = run.settings, run.progress
    by_time = progress.seconds / (settings.minutes * 60) if settings.minutes else 0.0
    by_step = progress.step / settings.steps if settings.steps else 0.0
    return min(1.0, max(by_time, by_step))


def train_all(run: Run) -> None:
    """The main phase: every task, until `minutes` or `steps` are used up."""
    settings, progress = run.settings, run.progress
    order = endless(
        run.train.sizes,
        settings.batch_size,
        settings.seed,
        progress.epoch,
        progress.batch,
    )
    shown = saved = validated = time.monotonic()
    tally: list[dict[str, float]] = []
    for epoch, index, members in order:
        if fraction(run) >= 1:
            break
        began = time.monotonic()
        tally.append(_step(run, epoch, index, members))
        now = time.monotonic()
        progress.seconds += now - began
        progress.epoch, progress.batch, progress.step = epoch, index + 1, progress.step + 1
        if now - shown > 20:
            _show(run, tally, now - shown)
            shown, tally = now, []
        if now - validated > settings.validate_minutes * 60:
            validate(run)
            validated = time.monotonic()
        if now - saved > settings.save_minutes * 60:
            save(run)
            saved = time.monotonic()


def _show(run: Run, tally: list[dict[str, float]], seconds: float) -> None:
    keys = {key for line in tally for key in line}
    means = {k: float(np.mean([line[k] for line in tally if k in line])) for k in sorted(keys)}
    captions = sum(line["captions"] for line in tally)
    sentences = sum(line["sentences"] for line in tally)
    run.log(
        "train",
        step=run.progress.step,
        epoch=run.progress.epoch,
        fraction=round(fraction(run), 4),
        captions=run.progress.captions,
        captions_per_s=round(captions / seconds, 1),
        sentences_per_s=round(sentences / seconds, 1),
        **{k: float(f"{v:.4g}") for k, v in means.items() if k not in ("captions", "sentences")},
    )


def _step(run: Run, epoch: int, index: int, members: list[int]) -> dict[str, float]:
    """One optimiser step on one batch. Its randomness depends on (seed, epoch, index) only."""
    settings, progress = run.settings, run.progress
    rng = np.random.default_rng((settings.seed, 2, epoch, index))
    share = settings.describe_early if fraction(run) < 0.5 else settings.describe_late
    describe = float(rng.random() < share)  # all of a batch or none: rows of about one length
    examples = [run.train[i] for i in members]
    encoded = encode(
        run.codec,
        examples,
        [
            choose(example, rng, settings.rationales, describe, settings.rewrites)
            for example in examples
        ],
        images=image_tokens(run.model),
        regime=settings.regime,
        multiple=64 if settings.compile else 8,
        max_length=settings.max_length,
    )
    images = np.array([run.train.image_of[i] for i in members])
    features = tower_output(run.model, _pixels(run, images, rng))
    loss, losses = _losses(run, encoded, features)
    if run.dense is not None and settings.tower_weight:
        dense, _ = _heads(run, features, images)
        losses["dense"] = float(dense.detach())
        loss = loss + settings.tower_weight * dense
    loss.backward()  # type: ignore[no-untyped-call]
    losses["rate"] = rate(
        fraction(run),
        progress.step,
        peak=settings.learning_rate,
        warmup=settings.warmup,
        schedule=settings.schedule,
    )
    losses["norm"] = run.optimizer.step(losses["rate"], settings.clip, settings.tower_rate)
    progress.longest = max(progress.longest, int(encoded.batch.positions.max()))
    losses["captions"] = len(members)
    losses["sentences"] = int((encoded.targets.tasks == Task.CLASSIFY).sum())
    losses["length"] = encoded.batch.ids.shape[1]
    losses["skipped"] = encoded.skipped
    progress.captions += len(members)
    progress.sentences += int(losses["sentences"])
    return losses


def _losses(
    run: Run, encoded: Encoded, features: torch.Tensor
) -> tuple[torch.Tensor, dict[str, float]]:
    """The weighted sum of each task's mean loss per target token, and the means."""
    settings = run.settings
    hidden = hidden_states(
        run.model, features, torch.from_numpy(encoded.example_of_row), encoded.batch
    )
    logits = logits_at(run.model, hidden, torch.from_numpy(encoded.targets.at))
    each = cross_entropy(logits, torch.from_numpy(encoded.targets.ids), reduction="none")
    weights = {
        Task.CLASSIFY: 1.0,
        Task.FOLLOW: settings.follow_weight,
        Task.RATIONALE: settings.rationale_weight,
        Task.DESCRIBE: settings.describe_weight,
        Task.CAPTION: settings.caption_weight,
    }
    loss = each.new_zeros(())
    losses: dict[str, float] = {}
    for task, weight in weights.items():
        members = torch.from_numpy(encoded.targets.tasks == task)
        if members.any():
            mean = each[members].mean()
            losses[task.name.lower()] = float(mean.detach())
            loss = loss + weight * mean
    if settings.trace_weight and len(encoded.targets.trace):
        words = hidden.flatten(0, 1)[torch.from_numpy(encoded.targets.trace_at)]
        scores = run.network.trace(words).float()[:, 0]
        trace = binary_cross_entropy_with_logits(
            scores, torch.from_numpy(encoded.targets.trace).float()
        )
        losses["trace"] = float(trace.detach())
        loss = loss + settings.trace_weight * trace
    return loss, losses


def validate(run: Run) -> Measured:
    """Measures the averaged weights on the validation split and logs the figures."""
    began = time.monotonic()
    run.optimizer.use(run.optimizer.average)
    rng = np.random.default_rng(run.settings.seed)
    count = min(len(run.validation), run.settings.validate_captions or len(run.validation))
    indices = np.sort(rng.choice(len(run.validation), count, replace=False)).tolist()
    run.measured = measure(
        run.model,
        run.codec,
        run.validation,
        indices,
        run.validation_pixels,
        run.settings.regime,
        max_length=run.settings.max_length,
    )
    run.optimizer.use(run.optimizer.master)
    run.log(
        "validation",
        step=run.progress.step,
        captions=count,
        took=round(time.monotonic() - began, 1),
        **{k: round(v, 4) for k, v in run.measured.figures.items()},
    )
    return run.measured


def save(run: Run) -> None:
    """Writes the resumable state and a loadable critic of the averaged weights."""
    run.folder.save(
        {
            "optimizer": run.optimizer.state(),
            "progress": asdict(run.progress),
            "rng": torch.get_rng_state(),
        }
    )
    run.folder.export("snapshot", lambda path: export(run, path))


def export(run: Run, path: Path) -> None:
    """The averaged weights as a critic folder, with the last validation's calibration."""
    from transformers import __version__ as transformers_version

    run.optimizer.use(run.optimizer.average)
    card = CriticCard(
        run.settings.regime,
        transformers=transformers_version,
        max_length=run.progress.longest or run.settings.max_length,
        training={
            **asdict(run.settings),
            **asdict(run.progress),
            "regime": str(run.settings.regime),
            "train_captions": len(run.train),
            "train_images": len(run.train.images),
        },
    )
    if run.measured is not None and 0 < run.measured.factual.mean() < 1:
        calibration = calibrate(run.measured.p, run.measured.factual)
        card = replace(
            card,
            threshold=calibration.threshold,
            calibration={**calibration.as_dict(), "figures": run.measured.figures},
        )
    save_critic(run.model, run.codec.tokenizer, card, path)
    write_lexicon(path, common_words(run.train[i].caption for i in _spread(len(run.train), 20_000)))
    run.optimizer.use(run.optimizer.master)


def _spread(total: int, limit: int) -> range:
    return range(0, total, max(1, total // limit))


def finetune(
    data: Path, base: str, out: Path, settings: Settings, *, resume: bool, report: Report
) -> Path:
    """Trains a critic on `data` and writes it to `out`. Raises UserError on bad input.

    The loop, its state and its log are in `out/training`; `resume` goes on from the last save.
    """
    if not settings.minutes and not settings.steps:
        raise UserError("training without an end", hint="add --minutes or --steps")
    run = prepare(data, base, out, settings, resume=resume, report=report)
    train_tower(run)
    if base == "new" and run.dense is not None and settings.align and run.progress.step == 0:
        align(run, run.dense)
    train_all(run)
    whole = replace(settings, validate_captions=0)
    run.settings = whole
    validate(run)
    save(run)
    export(run, out)
    run.log("end", out=str(out), **asdict(run.progress))
    return out
