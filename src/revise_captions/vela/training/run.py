"""`captions train-vela`: turns rated captions into a metric's folder."""

from __future__ import annotations

import math
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from revise_captions.command_line.extras import expect_libraries
from revise_captions.errors import BadRecord, UserError
from revise_captions.io.images import load_image
from revise_captions.io.writing import write_json_lines
from revise_captions.runs.training_folder import check_run_folder, mark_run_folder
from revise_captions.vela import card as cards
from revise_captions.vela.branches import PairEncoder, VelaItem
from revise_captions.vela.card import Backbone, VelaCard
from revise_captions.vela.feature_cache import FeatureCache, check_cache
from revise_captions.vela.features import Branches
from revise_captions.vela.head import Floats, LinearHead
from revise_captions.vela.language import LanguageBranch, load_language
from revise_captions.vela.pairs.load import load_pair
from revise_captions.vela.training import data as rated
from revise_captions.vela.training.data import BadRating, RatedCaption
from revise_captions.vela.training.figures import (
    as_lines,
    figures_of,
    held_out,
    over_seeds,
    seeds_lines,
)
from revise_captions.vela.training.loop import (
    FeatureSource,
    FrozenFeatures,
    Targets,
    TrainingSet,
    VelaTrainer,
)
from revise_captions.vela.training.settings import RatingFields, VelaJob

_WINDOW = 64
COMMAND = "captions train-vela"
STATE = "state-{seed}.safetensors"
Say = Callable[[str], None]


def run(job: VelaJob, say: Say) -> dict[str, Any]:
    """Trains, tests and writes a metric; returns the figures in its card.

    Raises:
        UserError: Something is missing, or there is nothing to train on.
    """
    if job.settings.lora_rank:
        expect_libraries("--lora-rank", "peft", "peft")
    check_run_folder(job.out, COMMAND, go_on=job.resume or job.force)
    check_cache(job.cache, [job.data, job.language, job.pair])
    captions, perspectives, bad = _captions(job)
    fields = replace(job.fields, perspectives=perspectives)
    with ExitStack() as closing:
        cache = closing.enter_context(FeatureCache(job.cache))
        branches = load_branches(job, tuple(dict.fromkeys(perspectives.values())))
        began = time.monotonic()
        known, failed = _computed(job, captions, branches, cache, say)
        say(f"features of {len(known.captions):,} captions in {time.monotonic() - began:.0f} s")
    bad += failed
    _require_enough(known)
    mark_run_folder(job.out, COMMAND)
    _quarantine(job.out, bad, say)
    best = -math.inf
    each = []
    for own, trainer, source in _trained(job, known, branches, say):
        scores = held_out(trainer, known)
        each.append(figures_of(scores, known, branches.perspectives, replicates=1))
        if trainer.state.best > best:
            best, kept = trainer.state.best, (own, trainer, scores)
            if source is not None:
                source.save(job.out / cards.ADAPTER)
    own, trainer, scores = kept
    figures = figures_of(scores, known, branches.perspectives, job.replicates)
    spread = over_seeds(each)
    card = _card(own, known, branches, fields, trainer, figures, bad)
    card = replace(card, training={**card.training, "seeds": job.seeds, "over seeds": spread})
    _write_test_scores(job.out, scores, known, branches.perspectives)
    cards.save(job.out, card, trainer.head.tensors())
    if job.seeds > 1:
        say(f"kept: seed {own.settings.seed}, the best on the validation split (τ-c {best:.3f})")
    for line in (*as_lines(figures), *seeds_lines(spread, job.seeds)):
        say(line)
    if known.cut:
        say(f"{known.cut:,} captions were too long for a branch and read in part")
    return figures


def load_branches(job: VelaJob, perspectives: tuple[str, ...]) -> Branches:
    """Loads the backbones. Raises UserError if both branches are off."""
    language: LanguageBranch | None = None
    pair: PairEncoder | None = None
    if job.language == "none" and job.pair == "none":
        raise UserError("both branches are off", hint="name a --language, a --pair, or both")
    if job.settings.lora_rank and job.language == "none":
        raise UserError("--lora-rank adapts the language model, but --language is none")
    if job.language != "none":
        language = load_language(
            job.language,
            device=job.device,
            dtype=job.dtype,
            max_tokens=job.max_tokens,
            batch_size=job.prompts,
        )
    if job.pair != "none":
        pair = load_pair(job.pair, device=job.device)
    return Branches(language, pair, perspectives, job.references)


# --- Data ---------------------------------------------------------------------------------------


def _captions(job: VelaJob) -> tuple[list[RatedCaption], dict[str, str], list[BadRating]]:
    """Captions with normalized ratings and splits, perspectives by axis, and bad rows."""
    items = rated.read_rated(job.data, job.benchmark, job.fields)
    perspectives = rated.chosen_perspectives(items, job.fields)
    fields = replace(job.fields, perspectives=perspectives)
    items = rated.normalized(items, fields)
    good = rated.merged([item for item in items if isinstance(item, RatedCaption)])
    bad = [item for item in items if isinstance(item, BadRating)]
    if not good:
        (reason, count), *_ = Counter(item.reason for item in bad).most_common(1)
        hint = bad[0].detail
        if reason == "rating_out_of_range":
            hint += ": give the scale of the ratings by --scale LOW HIGH"
        raise UserError(f"none of {len(bad):,} rows can be used ({reason}: {count:,})", hint=hint)
    good = rated.split(good, job.validation_share, job.test_share, job.settings.seed)
    return good[: job.limit], perspectives, bad


def _computed(
    job: VelaJob,
    captions: Sequence[RatedCaption],
    branches: Branches,
    cache: FeatureCache,
    say: Say,
) -> tuple[TrainingSet, list[BadRating]]:
    """Features of all captions, a window at a time; captions without any become bad rows."""
    kept: list[RatedCaption] = []
    parts: list[Floats] = []
    bad: list[BadRating] = []
    cut = 0
    for start in range(0, len(captions), _WINDOW):
        window = captions[start : start + _WINDOW]
        items, failed = _items(job, window, branches)
        bad += failed
        if items:
            found = branches.compute([item for _, item in items], cache)
            kept += [caption for caption, _ in items]
            parts.append(found.features)
            lost = zip(found.cut_prompt, found.cut_pair, strict=True)
            cut += sum(prompt + pair > 0 for prompt, pair in lost)
        if start and start % (16 * _WINDOW) == 0:
            say(f"{start:,} of {len(captions):,} captions")
    if not kept:
        raise UserError(
            "no caption can be scored", hint=bad[0].detail if bad else "the data is empty"
        )
    targets = [[c.ratings.get(name, np.nan) for name in branches.perspectives] for c in kept]
    return TrainingSet(kept, np.concatenate(parts), np.array(targets), cut), bad


def _items(
    job: VelaJob, window: Sequence[RatedCaption], branches: Branches
) -> tuple[list[tuple[RatedCaption, VelaItem]], list[BadRating]]:
    """The scorable captions of a window; images shared by several captions are read once."""
    folder = job.data if job.data.is_dir() else job.data.parent
    load = partial(load_image, root=job.image_root, folder=None if job.benchmark else folder)
    images: dict[str, Any] = {}
    found, bad = [], []
    for caption in window:
        image = None
        try:
            if branches.sees:
                if caption.image_name not in images:
                    images[caption.image_name] = load(caption.image)
                image = images[caption.image_name]
        except BadRecord as error:
            bad.append(BadRating(*caption.place, str(error.reason), error.detail, caption.caption))
            continue
        texts = tuple(text for text in caption.references if text.strip())
        item = VelaItem(caption.caption, texts, image)
        if problem := branches.problem(item):
            bad.append(BadRating(*caption.place, "cannot_score", problem, caption.caption))
        else:
            found.append((caption, item))
    return found, bad


def _quarantine(out: Path, bad: Sequence[BadRating], say: Say) -> None:
    if not bad:
        return
    path = out / "training" / "quarantine.jsonl"
    write_json_lines(path, (asdict(item) for item in bad))
    reasons = Counter(item.reason for item in bad)
    told = ", ".join(f"{reason} {count:,}" for reason, count in reasons.most_common())
    say(f"{len(bad):,} rows cannot be used ({told}): see {path}")


# --- Training and its figures -------------------------------------------------------------------


def _require_enough(known: TrainingSet) -> None:
    train, validation = known.rows("train"), known.rows("validation")
    if len(train) < 2 or len(validation) < 2:
        raise UserError(
            f"{len(train)} captions to train on and {len(validation)} for early stopping are too "
            "few",
            hint="at least two of each are needed, of different images",
        )


def _trained(
    job: VelaJob, known: TrainingSet, branches: Branches, say: Say
) -> Iterator[tuple[VelaJob, VelaTrainer, Any]]:
    """Trains with each seed; yields its job, the trainer, and the source from `_trainer`."""
    for seed in range(job.settings.seed, job.settings.seed + job.seeds):
        own = replace(job, settings=replace(job.settings, seed=seed))
        trainer, source = _trainer(own, known, branches)
        if job.resume:
            trainer.resume()
        start = f"seed {seed}, " if job.seeds > 1 else ""
        told = partial(_epoch_line, branches.perspectives, start)
        trainer.run(lambda line, told=told: say(told(line)))  # type: ignore[misc]
        yield own, trainer, source
        if source is not None:
            source.remove()


def _trainer(job: VelaJob, known: TrainingSet, branches: Branches) -> tuple[VelaTrainer, Any]:
    """The trainer, and the source that holds an adapter to save; None if nothing is adapted."""
    train, validation = known.rows("train"), known.rows("validation")
    head = LinearHead(len(branches.perspectives), known.features.shape[2], job.settings.seed)
    head.standardize(known.features[train])
    source: FeatureSource = FrozenFeatures(known.features)
    adapted = None
    if job.settings.lora_rank:
        from revise_captions.vela.training.lora import LoraFeatures

        assert branches.language is not None
        width = branches.language.width
        i2c = known.features[:, 0, width:] if branches.pair is not None else None
        texts = [(c.caption, c.references if job.references else ()) for c in known.captions]
        source = adapted = LoraFeatures(branches, texts, i2c, job.settings)
    state = job.out / "training" / STATE.format(seed=job.settings.seed)
    trainer = VelaTrainer(head, source, known.targets, train, validation, job.settings, state)
    return trainer, adapted


def _epoch_line(perspectives: Sequence[str], start: str, line: dict[str, Any]) -> str:
    taus = zip(perspectives, line["validation"], strict=True)
    told = ", ".join(f"{name} {'–' if t is None else f'{t:.3f}'}" for name, t in taus)
    return f"{start}epoch {line['epoch']}: loss {line['loss']:.4f}, validation τ-c: {told}"


def _card(
    job: VelaJob,
    known: TrainingSet,
    branches: Branches,
    fields: RatingFields,
    trainer: VelaTrainer,
    figures: dict[str, Any],
    bad: Sequence[BadRating],
) -> VelaCard:
    language, pair = branches.language, branches.pair
    sizes = Counter(caption.split for caption in known.captions)
    training = {
        "settings": asdict(job.settings),
        "data": job.benchmark or job.data.name,
        "axes": dict(fields.perspectives),
        "captions": dict(sizes),
        "left out": len(bad),
        "read in part": known.cut,
        "epochs": trainer.state.history,
        "best epoch": trainer.state.best_epoch,
        "figures": figures,
    }
    return VelaCard(
        branches.perspectives,
        tuple((fields.low, fields.high) for _ in branches.perspectives),
        None if language is None else Backbone(job.language, dict(language.settings)),
        None if pair is None else Backbone(job.pair, dict(pair.settings)),
        job.references,
        bool(job.settings.lora_rank),
        training,
    )


def _write_test_scores(
    out: Path, scores: Targets, known: TrainingSet, perspectives: Sequence[str]
) -> None:
    """Writes a file of scores per perspective, in the format of `captions evaluate-metric`."""
    rows = known.rows("test")
    if not rows:
        return
    for k, name in enumerate(perspectives):
        path = out / "training" / f"test-{name}.jsonl"
        lines = (
            {"id": known.captions[row].id, "score": round(float(value), 6)}
            for row, value in zip(rows, scores[rows, k], strict=True)
        )
        write_json_lines(path, lines)
