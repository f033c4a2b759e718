"""Agreement between raters: Krippendorff's α and Fleiss' κ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.benchmarks.annotation_protocol import AGAINST
from revise_captions.benchmarks.types import Example
from revise_captions.pipelines.metrics.estimates import Figure, from_resamples
from revise_captions.stats.agreement import counts_of, fleiss_kappa, krippendorff_alpha
from revise_captions.stats.bootstrap import weights
from revise_captions.stats.leaderboard import keys_of
from revise_captions.stats.paired_tests import units_of

#: With more distinct scores than this, scores are not labels: only interval α is computed.
_LABELS = 12


def agreement_level(examples: Sequence[Example], replicates: int) -> list[Figure]:
    """Agreement on sentence labels and on caption scores."""
    votes = [(e.image, {r.rater: r for r in s.ratings}) for e in examples for s in e.sentences]
    votes = [(image, ratings) for image, ratings in votes if len(ratings) > 1]
    found = []
    if votes:
        images = [image for image, _ in votes]
        four = [{who: str(r.vote) for who, r in ratings.items()} for _, ratings in votes]
        two = [{who: r.vote in AGAINST for who, r in ratings.items()} for _, ratings in votes]
        found += agreement_of(two, images, "sentences, wrong or not", replicates)
        found += agreement_of(four, images, "sentences, four labels", replicates)
    by_axis: dict[str, list[tuple[str, dict[str, float]]]] = {}
    for example in examples:
        given: dict[str, dict[str, float]] = {}
        for score in example.scores:
            if score.rater:
                given.setdefault(score.axis, {})[score.rater] = score.value
        for axis, scores in given.items():
            if len(scores) > 1:
                by_axis.setdefault(axis, []).append((example.image, scores))
    for axis, rows in sorted(by_axis.items()):
        images = [image for image, _ in rows]
        found += agreement_of(
            [scores for _, scores in rows], images, f"captions, {axis}", replicates
        )
    return found


def agreement_of(
    items: Sequence[Mapping[str, Any]], images: Sequence[str], axis: str, replicates: int
) -> list[Figure]:
    """Agreement on items.

    Args:
        items: Each item's labels, by rater. Interval α is computed only if all are floats.
        images: Each item's image, the unit of the bootstrap.
        axis: What the figures are called.
        replicates: Bootstrap resamples.
    """
    labels = sorted({label for item in items for label in item.values()})
    numeric = all(isinstance(label, float) for label in labels)
    table = counts_of(items, labels)
    names, unit = units_of(images)
    drawn = weights(keys_of(names), replicates)[unit]
    found = []

    def add(
        name: str,
        value: npt.NDArray[np.float64],
        spread: npt.NDArray[np.float64],
        rows: int,
        note: str = "",
    ) -> None:
        figure = from_resamples(
            "agreement", name, axis, "people", float(value[0]), spread, rows, len(names), note,
            undefined="everybody always says the same",
        )  # fmt: skip
        found.append(figure)

    if numeric:
        alpha = krippendorff_alpha(table, labels), krippendorff_alpha(table, labels, drawn)
        add("Krippendorff's α (interval)", *alpha, len(items))
    if len(labels) <= _LABELS:
        alpha = krippendorff_alpha(table), krippendorff_alpha(table, None, drawn)
        add("Krippendorff's α (nominal)", *alpha, len(items))
        raters = table.sum(1)
        usual = np.bincount(raters.astype(int)).argmax()
        same = raters == usual
        left_out = int((~same).sum())
        note = f"only items with {usual} raters, {left_out} left out" if left_out else ""
        kappa = fleiss_kappa(table[same]), fleiss_kappa(table[same], drawn[same])
        add("Fleiss' κ", *kappa, int(same.sum()), note)
    return found
