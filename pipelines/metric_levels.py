"""Sentences, segments (captions) and systems (captioners): a metric's scores against people's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from revise_captions import sentence_metrics as sentences
from revise_captions.benchmarks.types import Example
from revise_captions.correlations import (
    KINDS,
    accuracy_of_differences,
    correlation,
    pairwise_accuracy,
    soft_pairwise_accuracy,
)
from revise_captions.leaderboard import keys_of, resamples
from revise_captions.pipelines.metric_figures import Column, Figure, Question, ask
from revise_captions.pipelines.metric_scores import Scores
from revise_captions.resampling import bounds, ranks, standardised, unchanged
from revise_captions.statistics import weights

Floats = npt.NDArray[np.float64]
SHARE = "factual share"
#: Resamples of soft pairwise accuracy, each of which is a permutation test itself.
_SOFT = 200
_CORRELATIONS = tuple(
    Question(
        kind,
        partial(correlation, kind),
        standardised if kind == "pearson" else ranks,
    )
    for kind in KINDS
)


def sentence_level(
    examples: Sequence[Example], metrics: Sequence[Scores], replicates: int, by_captioner: bool
) -> list[Figure]:
    """Of all labelled sentences, and of each captioner's."""
    keys = [
        (example, number)
        for example in examples
        for number, sentence in enumerate(example.sentences)
        if sentence.factual is not None
    ]
    if not keys:
        return []
    truth = np.array([float(bool(e.sentences[k].factual)) for e, k in keys])
    images = [example.image for example, _ in keys]
    columns = [
        Column(metric.name, _values([metric.sentences.get((e.id, k)) for e, k in keys]))
        for metric in metrics
        if metric.sentences
    ]
    questions = _sentence_questions(metrics)
    axis = "pooled over sentences"
    asked = partial(ask, level="sentence", axis=axis, replicates=replicates)
    found = [_floor_of(truth, axis), *(_coverage(column, axis) for column in columns)]
    found += asked(questions, columns, truth, images)
    captioners = sorted({example.captioner for example in examples} - {""})
    main = [q for q in questions if q.name.startswith(("ROC", "macro-F1 at"))]
    for name in captioners if by_captioner and len(captioners) > 1 else ():
        own = np.array([example.captioner == name for example, _ in keys])
        chosen = [Column(column.metric, column.scores[own]) for column in columns]
        kept = [image for image, mine in zip(images, own, strict=True) if mine]
        found += [_floor_of(truth[own], axis, name)]
        found += asked(main, chosen, truth[own], kept, subset=name)
    return found


def _sentence_questions(metrics: Sequence[Scores]) -> list[Question]:
    stored = sorted({m.threshold for m in metrics if m.threshold is not None})
    cuts = [
        (sentences.HALF, "0.5, the higher of two confidences"),
        *((t, "stored") for t in stored),
    ]
    probabilities = sentences.are_probabilities
    return [
        Question("ROC-AUC", sentences.roc_auc),
        *(
            Question(
                f"macro-F1 at {cut:g}" + (" (stored)" if note == "stored" else ""),
                sentences.macro_f1_at(cut),
                unchanged,
                note,
                probabilities,
            )
            for cut, note in cuts
        ),
        Question(
            "macro-F1, best threshold", sentences.best_macro_f1, ranks, "fitted to these sentences"
        ),
        Question("average precision of wrong", sentences.average_precision_of_wrong),
        Question(
            "calibration error", sentences.calibration_error, unchanged, "lower is better",
            probabilities,
        ),
    ]  # fmt: skip


def _floor_of(truth: Floats, axis: str, subset: str = "") -> Figure:
    value = sentences.one_class_macro_f1(truth)
    return Figure(
        "sentence",
        "macro-F1",
        axis,
        "floor: one class",
        value if np.isfinite(value) else None,
        rows=len(truth),
        subset=subset,
        note=f"{truth.mean():.1%} of them factual",
    )


def _coverage(column: Column, axis: str) -> Figure:
    judged = int(np.isfinite(column.scores).sum())
    return Figure(
        "sentence",
        "share judged",
        axis,
        column.metric,
        judged / len(column.scores),
        rows=len(column.scores),
    )


def _values(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Judged:
    """Captions with a human score on one axis: `human`, flat; one row for each rating, or mean."""

    axis: str
    examples: tuple[Example, ...]
    human: Floats


def judged_by_people(examples: Sequence[Example], *, each: bool) -> list[Judged]:
    """By axis; where no caption has a score, the share of its labelled sentences that is factual.

    `each`: a row for every rating, as Flickr8k's figures are computed; else a row for the mean.
    """
    found: dict[str, list[tuple[Example, float]]] = {}
    for example in examples:
        by_axis: dict[str, list[float]] = {}
        for score in example.scores:
            by_axis.setdefault(score.axis, []).append(score.value)
        for axis, values in by_axis.items():
            kept = values if each else [sum(values) / len(values)]
            found.setdefault(axis, []).extend((example, value) for value in kept)
    if not found:
        for example in examples:
            labels = [s.factual for s in example.sentences if s.factual is not None]
            if labels:
                found.setdefault(SHARE, []).append((example, sum(labels) / len(labels)))
    return [
        Judged(axis, tuple(e for e, _ in pairs), np.array([v for _, v in pairs]))
        for axis, pairs in sorted(found.items())
    ]


def segment_level(
    judged: Judged, metrics: Sequence[Scores], replicates: int, *, each: bool
) -> list[Figure]:
    """All correlations over captions, and pairwise accuracy within images."""
    columns = _caption_columns(judged, metrics)
    images = [example.image for example in judged.examples]
    axis = f"pooled over {'ratings' if each else 'captions'}, {judged.axis}"
    found = ask(
        _CORRELATIONS,
        columns,
        judged.human,
        images,
        level="segment",
        axis=axis,
        replicates=replicates,
    )
    return found + [
        figure
        for column in columns
        if (figure := _within_images(column, judged, images, replicates)) is not None
    ]


def _caption_columns(judged: Judged, metrics: Sequence[Scores]) -> list[Column]:
    return [
        Column(m.name, _values([m.caption(e.id) for e in judged.examples]))
        for m in metrics
        if m.scores_captions
    ]


def _within_images(
    column: Column, judged: Judged, images: Sequence[str], replicates: int
) -> Figure | None:
    """acc_eq over the pairs of captions of one image, the metric's ties calibrated on all of them.

    The interval holds the calibrated threshold fixed.
    """
    by_image: dict[str, list[int]] = {}
    for row, image in enumerate(images):
        if np.isfinite(column.scores[row]):
            by_image.setdefault(image, []).append(row)
    names, gaps, human = [], [], []
    for image, rows in by_image.items():
        first, second = np.triu_indices(len(rows), k=1)
        index = np.array(rows)
        names += [image] * len(first)
        gaps.append(column.scores[index[first]] - column.scores[index[second]])
        human.append(judged.human[index[first]] - judged.human[index[second]])
    if not names:
        return None
    x, y = np.concatenate(gaps), np.concatenate(human)
    best = accuracy_of_differences(x, y, threshold=None)
    hits = np.where(np.abs(x) <= best.threshold, y == 0, (np.sign(x) == np.sign(y)) & (y != 0))
    low, high = share_bounds(hits, names, replicates)
    return Figure(
        "segment",
        "pairwise accuracy with ties",
        f"within images, {judged.axis}",
        column.metric,
        best.accuracy,
        low,
        high,
        len(x),
        len(set(names)),
        note=f"{np.mean(y == 0):.0%} human ties; the metric ties up to {best.threshold:.4g}, "
        "calibrated on these pairs",
    )


def share_bounds(
    hits: npt.ArrayLike, images: Sequence[str], replicates: int
) -> tuple[float | None, float | None]:
    """The interval over images of a share of rows."""
    names, unit = np.unique(np.asarray(images).astype(str), return_inverse=True)
    top = np.bincount(unit, np.asarray(hits, dtype=np.float64))[None, :].astype(np.float64)
    bottom = np.bincount(unit).astype(np.float64)[None, :]
    drawn = resamples(top, bottom, keys_of(list(names)), replicates)[:, 0]
    return bounds(drawn, len(names))


def system_level(judged: Judged, metrics: Sequence[Scores], replicates: int) -> list[Figure]:
    """Captioners by their mean over images: correlations, pairwise and soft pairwise accuracy.

    A caption counts where both people and metric scored it, so that means are of the same images.
    """
    found = []
    for metric in metrics:
        column = _caption_columns(judged, [metric])
        if column:
            found += _systems(judged, column[0], replicates)
    return found


def _systems(judged: Judged, column: Column, replicates: int) -> list[Figure]:
    kept = [
        row
        for row, example in enumerate(judged.examples)
        if example.captioner and np.isfinite(column.scores[row])
    ]
    captioners = sorted({judged.examples[row].captioner for row in kept})
    if len(captioners) < 3:
        return []
    images = sorted({judged.examples[row].image for row in kept})
    sums = np.zeros((3, len(captioners), len(images)))  # metric, human, count
    places = (
        {name: k for k, name in enumerate(captioners)},
        {name: k for k, name in enumerate(images)},
    )
    for row in kept:
        example = judged.examples[row]
        cell = places[0][example.captioner], places[1][example.image]
        sums[(slice(None), *cell)] += (column.scores[row], judged.human[row], 1)
    keys = keys_of(images)
    drawn = [resamples(part, sums[2], keys, replicates) for part in sums[:2]]
    means = [part.sum(1) / sums[2].sum(1) for part in sums[:2]]
    axis = f"{len(captioners)} captioners, means over images, {judged.axis}"

    def figure(name: str, value: float, spread: Floats, note: str = "") -> Figure:
        exists = bool(np.isfinite(value))
        low, high = bounds(spread, len(images)) if exists else (None, None)
        return Figure(
            "system",
            name,
            axis,
            column.metric,
            value if exists else None,
            low,
            high,
            len(captioners),
            len(images),
            note=note,
        )

    found = [
        figure(kind, correlation(kind, *means),
               np.array([correlation(kind, m, h) for m, h in zip(*drawn, strict=True)]))
        for kind in KINDS
    ]  # fmt: skip
    best = pairwise_accuracy(*means, threshold=None)
    spread = [pairwise_accuracy(m, h, threshold=best.threshold).accuracy
              for m, h in zip(*drawn, strict=True)]  # fmt: skip
    note = f"the metric ties up to {best.threshold:.4g}, calibrated on these captioners"
    found.append(figure("pairwise accuracy with ties", best.accuracy, np.array(spread), note))
    found.append(figure("soft pairwise accuracy", *_soft(sums, keys)))
    return found


def _soft(sums: Floats, keys: npt.NDArray[np.uint64]) -> tuple[float, Floats, str]:
    with np.errstate(invalid="ignore", divide="ignore"):
        metric, human = sums[0] / sums[2], sums[1] / sums[2]
    drawn = weights(keys, _SOFT)
    spread = []
    for b in range(_SOFT):
        chosen = np.repeat(np.arange(len(keys)), drawn[:, b])
        spread.append(soft_pairwise_accuracy(metric[:, chosen], human[:, chosen], resamples=_SOFT))
    value = soft_pairwise_accuracy(metric, human)
    return value, np.array(spread), f"interval from {_SOFT} resamples"


def system_table(judged: Judged, metrics: Sequence[Scores]) -> list[dict[str, object]]:
    """Captioners by people's mean, best first: rank, captions, means by people and by each metric.

    A metric's mean is over the captions that it judged, None where there is none.
    """
    columns = _caption_columns(judged, metrics)
    names = np.array([example.captioner for example in judged.examples], dtype=object)
    rows: list[dict[str, object]] = []
    for captioner in sorted(set(names) - {""}):
        own = names == captioner
        row: dict[str, object] = {"captioner": captioner, "captions": int(own.sum())}
        row["people"] = float(judged.human[own].mean())
        for column in columns:
            known = column.scores[own & np.isfinite(column.scores)]
            row[column.metric] = float(known.mean()) if len(known) else None
        rows.append(row)
    rows.sort(key=lambda row: -float(str(row["people"])))
    return rows
