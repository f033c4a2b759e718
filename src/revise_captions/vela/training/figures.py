"""A trained metric's results: τ-c and τ-b of one training run, and over several seeds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np

from revise_captions.stats.correlations import Kind, correlation
from revise_captions.stats.paired_tests import measured
from revise_captions.vela.training.loop import Targets, TrainingSet, VelaTrainer

KINDS: tuple[Kind, ...] = ("kendall-c", "kendall-b")


def held_out(trainer: VelaTrainer, known: TrainingSet) -> Targets:
    """Scores of captions not trained on, (captions, perspectives); NaN for the training split."""
    rows = [k for k, caption in enumerate(known.captions) if caption.split != "train"]
    scores = np.full_like(known.targets, np.nan)
    scores[rows] = trainer.predictions(rows)
    return scores


def figures_of(
    scores: Targets, known: TrainingSet, perspectives: Sequence[str], replicates: int
) -> dict[str, Any]:
    """τ-c and τ-b of each split not trained on, with caption length as the floor."""
    found: dict[str, Any] = {}
    tests = sorted({caption.test for caption in known.captions} - {""})
    for split in ("validation", "test", *tests):
        rows = known.rows(split)
        if len(rows) < 2:
            continue
        lengths = np.array([float(len(known.captions[k].caption.split())) for k in rows])
        images = np.array([known.captions[k].image_name for k in rows], dtype=object)
        for k, name in enumerate(perspectives):
            human = known.targets[rows, k]
            rated_ = np.isfinite(human)
            own_scores = scores[rows, k][rated_]
            figure = {"captions": int(rated_.sum()), "images": len(set(images[rated_]))}
            for kind in KINDS:
                own = measured(
                    partial(correlation, kind),
                    own_scores,
                    human[rated_],
                    list(images[rated_]),
                    replicates,
                )
                figure[kind] = [own.value, own.low, own.high]  # type: ignore[assignment]
                floor = correlation(kind, lengths[rated_], human[rated_])  # type: ignore[arg-type]
                figure[f"length {kind}"] = floor if np.isfinite(floor) else None  # type: ignore[assignment]
            found.setdefault(split, {})[name] = figure
    return found


def as_lines(figures: dict[str, Any]) -> Iterator[str]:
    """The figures for a terminal, one line per split and perspective."""
    for split, by_name in figures.items():
        for name, figure in by_name.items():
            tau_c, tau_b = (_interval(figure[f"kendall-{kind}"]) for kind in "cb")
            floor = figure["length kendall-c"]
            length = "–" if floor is None else f"{floor:.3f}"
            yield (
                f"{split:<10} {name:<16} τ-c {tau_c}  τ-b {tau_b}  (caption length: {length}; "
                f"{figure['captions']:,} captions, {figure['images']:,} images)"
            )


def over_seeds(each: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Mean and sample standard deviation of every correlation over seeds; {} for one seed.

    None if a correlation does not exist for a seed, as for scores that do not vary.
    """
    if len(each) < 2:
        return {}
    found: dict[str, Any] = {}
    for split, by_name in each[0].items():
        for name in by_name:
            for kind in KINDS:
                values = [figures[split][name][kind][0] for figures in each]
                known = None not in values
                found.setdefault(split, {}).setdefault(name, {})[kind] = (
                    [float(np.mean(values)), float(np.std(values, ddof=1))] if known else None
                )
    return found


def seeds_lines(found: dict[str, Any], seeds: int) -> Iterator[str]:
    """The result of `over_seeds` for a terminal, one line per split and perspective."""
    for split, by_name in found.items():
        for name, figure in by_name.items():
            tau_c, tau_b = (_with_deviation(figure[kind]) for kind in KINDS)
            yield f"{split:<10} {name:<16} τ-c {tau_c}  τ-b {tau_b}  ({seeds} seeds)"


def _interval(figure: Sequence[float | None]) -> str:
    value, low, high = figure
    if value is None:
        return "does not exist"
    return f"{value:.3f}" + ("" if low is None else f" [{low:.3f}, {high:.3f}]")


def _with_deviation(figure: Sequence[float] | None) -> str:
    return "does not exist" if figure is None else f"{figure[0]:.3f} ± {figure[1]:.3f}"
