"""Estimates for the whole run from raters' answers about a stratified sample.

Every estimate is a ratio of sums, weighted by the number of sentences of the run that a sampled
sentence stands for (Hájek's estimator). Intervals are central 95 % intervals of the Poisson
bootstrap over images. Strata are not resampled separately, which makes the intervals slightly
conservative.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from revise_captions.benchmarks.annotation_protocol import AGAINST
from revise_captions.pipelines.annotate.answers.consensus import (
    CollectedAnswers,
    ItemResult,
    majority,
)
from revise_captions.pipelines.annotate.tasks.interfaces import ASKING
from revise_captions.pipelines.annotate.tasks.units import ItemTarget, Unit
from revise_captions.pipelines.metrics.agreement import agreement_of
from revise_captions.stats.calibration import effective_size
from revise_captions.stats.exact import exact_interval
from revise_captions.stats.means import ratio
from revise_captions.stats.paired_tests import measured_sums


@dataclass(frozen=True, slots=True)
class ShareEstimate:
    """One cell of a table: a fraction in [0, 1], or a change in [-1, 1]; None without judgments.

    Attributes:
        plain: The unweighted fraction in the sample.
        rows: Number of sentences.
        images: Number of images.
        effective: Kish's effective sample size: how many equally weighted sentences carry as much
            information.
    """

    table: str
    row: str
    column: str
    value: float | None
    low: float | None
    high: float | None
    plain: float | None
    rows: int
    images: int
    effective: float

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True, slots=True)
class RatioTerm:
    """One sentence's contribution to a ratio."""

    unit: Unit
    top: float
    bottom: float = 1.0


def share(
    table: str, row: str, column: str, rows: Sequence[RatioTerm], replicates: int
) -> ShareEstimate:
    """Σ w·top / Σ w·bottom with its interval."""
    used = [one for one in rows if one.bottom]
    if not used:
        return ShareEstimate(table, row, column, None, None, None, None, 0, 0, 0.0)
    images = [one.unit.image for one in used]
    w = np.array([one.unit.weight for one in used])
    parts = np.array([(one.top, one.bottom) for one in used])
    found = measured_sums(ratio, w[:, None] * parts, images, replicates)
    interval = found.low, found.high
    if (parts[:, 0] >= 0).all() and found.value in (0.0, 1.0):
        # nothing varies: the exact interval for as many trials as there are images
        interval = exact_interval(round(found.value * found.units), found.units)
    plain = ratio(parts.sum(0))
    effective = effective_size(w)
    return ShareEstimate(
        table, row, column, found.value, *interval, plain, len(used), found.units, effective
    )


# --- The tables ---------------------------------------------------------------------------------


def tables(found: CollectedAnswers, replicates: int) -> list[ShareEstimate]:
    """The tables for which there are answers."""
    return [
        *_critic(found, replicates),
        *_table_5(found, replicates),
        *_table_6(found, replicates),
        *_run(found, replicates),
        *_preferences(found, replicates),
    ]


def _critic(found: CollectedAnswers, replicates: int) -> Iterator[ShareEstimate]:
    """The critic's precision, recall and accuracy against people."""
    judged = list(found.of(ItemTarget.ORIGINAL).values())
    flagged = [RatioTerm(o.unit, not o.good) for o in judged if o.unit.flagged]
    wrong = [RatioTerm(o.unit, o.unit.flagged) for o in judged if not o.good]
    scored = [o for o in judged if o.unit.p_factual is not None]
    agree = [RatioTerm(o.unit, o.good is not o.unit.flagged) for o in scored]
    if judged:
        name = "critic"
        yield share(name, "precision", "flagged sentences that are wrong", flagged, replicates)
        yield share(name, "recall", "wrong sentences that are flagged", wrong, replicates)
        yield share(name, "accuracy", "judged sentences labeled as by people", agree, replicates)


def _table_5(found: CollectedAnswers, replicates: int) -> Iterator[ShareEstimate]:
    """Table 5 of VNLI-Critique: the fraction of rationales that people call correct."""
    judged = found.of(ItemTarget.CRITIQUE)
    truth = found.of(ItemTarget.ORIGINAL)
    every = [RatioTerm(o.unit, bool(o.good)) for o in judged.values()]
    wrong = [
        RatioTerm(o.unit, bool(o.good))
        for name, o in judged.items()
        if name in truth and not truth[name].good
    ]
    if judged and truth:
        yield share("5", "sentences that people call wrong", "correct", wrong, replicates)
    if judged:
        yield share("5", "all explained sentences", "correct", every, replicates)


def _table_6(found: CollectedAnswers, replicates: int) -> Iterator[ShareEstimate]:
    """Table 6 of VNLI-Critique: flagged sentences that are factual, before and after the rewrite.

    Covers sentences that people judged in both versions. The paper keeps every rewrite; here
    rewrites can be rejected, so accepted ones have rows of their own.
    """
    before, after = found.of(ItemTarget.ORIGINAL), found.of(ItemTarget.REVISED)
    both = [name for name in before if name in after and before[name].unit.flagged]
    for subset, names in (
        ("all rewrites", both),
        ("accepted rewrites", [n for n in both if before[n].unit.accepted]),
    ):
        if not both:
            return
        people = [
            (before[n].unit, float(before[n].good or 0), float(after[n].good or 0)) for n in names
        ]
        yield from _change(f"{subset}, people", people, replicates)
        units = [before[n].unit for n in names]
        critic = [(u, 0.0, float(u.p_after >= u.threshold)) for u in units if u.p_after is not None]
        original, *others = _change(f"{subset}, critic", critic, replicates)
        yield replace(original, low=None, high=None)  # none is factual: it flagged them
        yield from others


def _change(
    row: str, pairs: Sequence[tuple[Unit, float, float]], replicates: int
) -> Iterator[ShareEstimate]:
    for column, rows in (
        ("original", [RatioTerm(unit, a) for unit, a, _ in pairs]),
        ("fixed", [RatioTerm(unit, b) for unit, _, b in pairs]),
        ("change", [RatioTerm(unit, b - a) for unit, a, b in pairs]),
    ):
        yield share("6", row, column, rows, replicates)


def _run(found: CollectedAnswers, replicates: int) -> Iterator[ShareEstimate]:
    """Factual sentences of the run before and after, with accepted rewrites and deletions."""
    before, after = found.of(ItemTarget.ORIGINAL), found.of(ItemTarget.REVISED)
    pairs = []
    for name, result in before.items():
        unit = result.unit
        if unit.accepted and unit.revised is not None:
            if name in after:
                pairs.append((result, float(after[name].good or 0), 1.0))
        else:
            stays = not unit.gone
            pairs.append((result, float(stays and bool(result.good)), float(stays)))
    if pairs:
        first = [RatioTerm(o.unit, float(o.good or 0)) for o, _, _ in pairs]
        last = [RatioTerm(o.unit, top, bottom) for o, top, bottom in pairs]
        yield share("run", "factual sentences", "before", first, replicates)
        yield share("run", "factual sentences", "after", last, replicates)


def _preferences(found: CollectedAnswers, replicates: int) -> Iterator[ShareEstimate]:
    judged = found.of(ItemTarget.PREFERENCE).values()
    said = Counter(result.majority or "no majority" for result in judged)
    for subset, accepted in (("accepted rewrites", True), ("rejected rewrites", False)):
        own = [result for result in judged if result.unit.accepted is accepted]
        for label in sorted(said) if own else ():
            rows = [RatioTerm(o.unit, (o.majority or "no majority") == label) for o in own]
            yield share("preference", subset, label.lower(), rows, replicates)


# --- Raters -------------------------------------------------------------------------------------


def agreement(found: CollectedAnswers, replicates: int) -> list[dict[str, Any]]:
    """Krippendorff's α and Fleiss' κ for each interface, unweighted."""
    figures = []
    for name in dict.fromkeys(ASKING.values()):
        own = [o for o in found.results if ASKING[o.asked] == name and len(o.labels) > 1]
        images = [o.unit.image for o in own]
        if not own:
            continue
        figures += agreement_of([o.labels for o in own], images, name, replicates)
        if name == "factuality":
            two = [{r.rater: r.vote in AGAINST for r in o.ratings} for o in own]
            figures += agreement_of(two, images, f"{name}, wrong or not", replicates)
    return [
        {"axis": f.axis, "name": f.name, "value": f.value, "low": f.low, "high": f.high,
         "items": f.rows, "note": f.note}
        for f in figures
    ]  # fmt: skip


def raters(results: Sequence[ItemResult]) -> list[dict[str, Any]]:
    """Each rater's number of answers and agreement with the majority of the others, by interface.

    For sentences, agreement is on factual or not: neutral and contradiction are one label.
    """
    answers: Counter[tuple[str, str]] = Counter()
    compared: Counter[tuple[str, str]] = Counter()
    agreed: Counter[tuple[str, str]] = Counter()
    for result in results:
        wrong = {rating.rater: str(rating.vote in AGAINST) for rating in result.ratings}
        labels = wrong or result.labels
        for rater, label in labels.items():
            key = ASKING[result.asked], rater
            answers[key] += 1
            usual = majority([other for who, other in labels.items() if who != rater])
            compared[key] += usual is not None
            agreed[key] += usual == label
    return [
        {"interface": name, "rater": rater, "answers": answers[name, rater],
         "with_the_others": _share_of(agreed, compared, (name, rater))}
        for name, rater in sorted(answers, key=lambda key: (key[1], key[0]))
    ]  # fmt: skip


def _share_of(
    top: Mapping[tuple[str, str], int], bottom: Mapping[tuple[str, str], int], key: tuple[str, str]
) -> float | None:
    return top[key] / bottom[key] if bottom[key] else None
