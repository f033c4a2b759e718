"""Sentences and segments (captions): a metric's scores against people's."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations

import numpy as np
import numpy.typing as npt

from revise_captions.benchmarks.types import Example
from revise_captions.pipelines.metrics.estimates import (
    Column,
    Figure,
    FigureSpec,
    compared_shares,
    compute_figures,
    from_measured,
    hits_of,
    tested,
)
from revise_captions.pipelines.metrics.score_table import Scores
from revise_captions.stats import classification as sentences
from revise_captions.stats import weighted_classification as weighted
from revise_captions.stats.correlations import (
    KINDS,
    accuracy_of_differences,
    correlation,
    unexplained,
    within_groups,
)
from revise_captions.stats.means import mean_over
from revise_captions.stats.paired_tests import (
    compared_sums,
    measured,
    measured_sums,
    ranks,
    standardized,
    unchanged,
)

Floats = npt.NDArray[np.float64]
SHARE = "factual share"
_CORRELATIONS = (
    *(
        FigureSpec(
            kind,
            partial(correlation, kind),
            standardized if kind == "pearson" else ranks,
        )
        for kind in KINDS
    ),
    FigureSpec("1 − R²", unexplained, unchanged, "of raw scores, lower is better"),
)


def sentence_level(
    examples: Sequence[Example], metrics: Sequence[Scores], replicates: int, by_captioner: bool
) -> list[Figure]:
    """Figures over all labeled sentences, and over those of each captioner."""
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
        Column(
            metric.name,
            _values([metric.sentences.get((e.id, k)) for e, k in keys]),
            metric.probabilities,
        )
        for metric in metrics
        if metric.sentences
    ]
    specs = _sentence_specs(metrics)
    axis = "pooled over sentences"
    asked = partial(compute_figures, level="sentence", axis=axis, replicates=replicates)
    found = [_floor_of(truth, images, axis, replicates)]
    found += [_coverage(column, images, axis, replicates) for column in columns]
    found += asked(specs, columns, truth, images)
    captioners = sorted({example.captioner for example in examples} - {""})
    main = [q for q in specs if q.name.startswith(("ROC", "macro-F1 at"))]
    for name in captioners if by_captioner and len(captioners) > 1 else ():
        own = np.array([example.captioner == name for example, _ in keys])
        chosen = [replace(column, scores=column.scores[own]) for column in columns]
        kept = [image for image, mine in zip(images, own, strict=True) if mine]
        found += [_floor_of(truth[own], kept, axis, replicates, name)]
        found += asked(main, chosen, truth[own], kept, subset=name)
    return found


def _sentence_specs(metrics: Sequence[Scores]) -> list[FigureSpec]:
    stored = sorted({m.threshold for m in metrics if m.threshold is not None})
    cuts = [
        (sentences.HALF, "0.5, the higher of two confidences"),
        *((t, "stored") for t in stored),
    ]
    return [
        FigureSpec("ROC-AUC", sentences.roc_auc, batch=weighted.roc_auc),
        *(
            FigureSpec(
                f"macro-F1 at {cut:g}" + (" (stored)" if note == "stored" else ""),
                sentences.macro_f1_at(cut),
                unchanged,
                note,
                of_probabilities=True,
                batch=weighted.macro_f1_at(cut),
            )
            for cut, note in cuts
        ),
        FigureSpec(
            "macro-F1, best threshold",
            sentences.best_macro_f1,
            note="fitted to these sentences",
            batch=weighted.best_macro_f1,
        ),
        FigureSpec(
            "average precision of wrong",
            sentences.average_precision_of_wrong,
            batch=weighted.average_precision_of_wrong,
        ),
        FigureSpec(
            "calibration error",
            sentences.calibration_error,
            unchanged,
            "lower is better",
            of_probabilities=True,
            batch=weighted.calibration_error,
        ),
    ]


def _floor_of(
    truth: Floats, images: Sequence[str], axis: str, replicates: int, subset: str = ""
) -> Figure:
    one = measured(
        lambda _, true: sentences.one_class_macro_f1(true), truth, truth, images, replicates
    )
    note = f"{truth.mean():.1%} of them factual"
    return from_measured(one, "sentence", "macro-F1", axis, "floor: one class", subset, note)


def _coverage(column: Column, images: Sequence[str], axis: str, replicates: int) -> Figure:
    judged = np.isfinite(column.scores)
    low, high = share_bounds(judged, images, replicates)
    return Figure(
        "sentence",
        "share judged",
        axis,
        column.metric,
        float(judged.mean()),
        low,
        high,
        rows=len(judged),
        units=len(set(images)),
    )


def _values(values: Sequence[float | None]) -> Floats:
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class RatedCaptions:
    """Captions with human scores on one axis. `human` has one value per row."""

    axis: str
    examples: tuple[Example, ...]
    human: Floats


def judged_by_people(examples: Sequence[Example], *, each: bool) -> list[RatedCaptions]:
    """Captions with human scores, by axis.

    If no caption has a score, its score is the fraction of its labeled sentences that is factual.

    Args:
        each: One row per rating, as Flickr8k's figures are computed; otherwise one row per mean.
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
        RatedCaptions(axis, tuple(e for e, _ in pairs), np.array([v for _, v in pairs]))
        for axis, pairs in sorted(found.items())
    ]


def segment_level(
    judged: RatedCaptions, metrics: Sequence[Scores], replicates: int, *, each: bool
) -> list[Figure]:
    """Correlations and 1 − R² over captions; sample-wise τ, pairwise accuracy within images."""
    columns = caption_columns(judged, metrics)
    images = [example.image for example in judged.examples]
    axis = f"pooled over {'ratings' if each else 'captions'}, {judged.axis}"
    found = compute_figures(
        _CORRELATIONS,
        columns,
        judged.human,
        images,
        level="segment",
        axis=axis,
        replicates=replicates,
    )
    found += _by_image(columns, judged, images, replicates)
    return found + _within_images(columns, judged, images, replicates)


def _by_image(
    columns: Sequence[Column], judged: RatedCaptions, images: Sequence[str], replicates: int
) -> list[Figure]:
    """Sample-wise τ: Kendall's τ-b among the captions of each image, averaged over images."""
    found: list[Figure] = []
    first: dict[str, float] = {}
    for column in columns:
        kept = np.isfinite(column.scores)
        names = [image for image, known in zip(images, kept, strict=True) if known]
        taus = within_groups("kendall-b", column.scores[kept], judged.human[kept], names)
        own = {image: tau for image, tau in taus.items() if np.isfinite(tau)}
        one = measured_sums(_mean, _summands(own, own), list(own), replicates)
        axis = f"mean over images, {judged.axis}"
        figure = from_measured(one, "segment", "sample-wise τ-b", axis, column.metric)
        if left_out := len(taus) - len(own):
            note = f"{left_out:,} images left out: one caption, or scores that do not vary"
            figure = replace(figure, note=note)
        if found:
            both = [image for image in first if image in own]
            sums = _summands(first, both), _summands(own, both)
            figure = tested(figure, compared_sums(_mean, *sums, both, replicates=replicates))
        first = first if found else own
        found.append(figure)
    return found


def _summands(values: Mapping[str, float], images: Iterable[str]) -> Floats:
    """Each image's value beside 1, to be summed: shape (images, 2)."""
    return np.array([(values[image], 1.0) for image in images]).reshape(-1, 2)


def _mean(sums: Floats) -> float:
    return float(sums[0] / sums[1]) if sums[1] else float("nan")


def caption_columns(judged: RatedCaptions, metrics: Sequence[Scores]) -> list[Column]:
    return [
        Column(m.name, _values([m.caption(e.id) for e in judged.examples]))
        for m in metrics
        if m.scores_captions
    ]


def _within_images(
    columns: Sequence[Column], judged: RatedCaptions, images: Sequence[str], replicates: int
) -> list[Figure]:
    """Pairwise accuracy with ties over pairs of captions of one image (acc_eq*).

    The metric's tie threshold is calibrated on all pairs; interval and test hold it fixed.
    """
    found: list[Figure] = []
    thresholds: list[float] = []
    for column in columns:
        names, x, y = _pairs(np.isfinite(column.scores), column.scores, judged.human, images)
        best = accuracy_of_differences(x, y, threshold=None)
        thresholds.append(best.threshold)
        if not names:
            continue
        low, high = share_bounds(hits_of(x, y, best.threshold), names, replicates)
        figure = Figure(
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
        if found:
            both = np.isfinite(columns[0].scores) & np.isfinite(column.scores)
            pairs = [_pairs(both, c.scores, judged.human, images) for c in (columns[0], column)]
            cuts = thresholds[0], best.threshold
            hits = [hits_of(x, y, cut) for (_, x, y), cut in zip(pairs, cuts, strict=True)]
            figure = tested(figure, compared_shares(hits[0], hits[1], pairs[0][0], replicates))
        found.append(figure)
    return found


def _pairs(
    kept: npt.NDArray[np.bool_], scores: Floats, human: Floats, images: Sequence[str]
) -> tuple[list[str], Floats, Floats]:
    """For all pairs of kept captions of one image: the image and both score differences."""
    by_image: dict[str, list[int]] = {}
    for row in np.flatnonzero(kept).tolist():
        by_image.setdefault(images[row], []).append(row)
    names: list[str] = []
    first: list[int] = []
    second: list[int] = []
    for image, rows in by_image.items():
        for a, b in combinations(rows, 2):
            names.append(image)
            first.append(a)
            second.append(b)
    return names, scores[first] - scores[second], human[first] - human[second]


def share_bounds(
    hits: npt.ArrayLike, images: Sequence[str], replicates: int
) -> tuple[float | None, float | None]:
    """The interval of a proportion of rows, from resampling images."""
    found = mean_over(list(np.asarray(hits, dtype=np.float64)), images, replicates)
    return found.low, found.high
