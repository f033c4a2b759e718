"""What the scores say: shares lower, same, higher; correlations; what the metric is unfit for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.benchmarks.types import Example
from revise_captions.pipelines.metrics.levels import judged_by_people
from revise_captions.pipelines.stress.checks import CHECKS, Check
from revise_captions.pipelines.stress.scores import ORIGINAL, StressScores
from revise_captions.stats.bootstrap import ratio_interval
from revise_captions.stats.pearson import pearson

#: Scores this close, relative to their size, are the same: sums in another order differ by less.
SAME = 1e-5
WAYS = ("lower", "same", "higher")


def way(before: float, after: float, decimals: int | None = None) -> str:
    """Which way a score went; with `decimals`, both are rounded first."""
    if decimals is not None:
        before, after = round(before, decimals), round(after, decimals)
    if abs(after - before) <= SAME * max(abs(before), abs(after)):
        return "same"
    return "lower" if after < before else "higher"


def check_shares(
    check: Check,
    scores: StressScores,
    images: Sequence[str],
    replicates: int,
    decimals: int | None = None,
) -> dict[str, Any]:
    """How many scores went which way, with intervals over images, and a verdict."""
    pairs = list(zip(scores.values[ORIGINAL], scores.values[check.name], images, strict=True))
    known = [(before, after, image) for before, after, image in pairs
             if before is not None and after is not None]  # fmt: skip
    names = {image: k for k, image in enumerate(dict.fromkeys(image for *_, image in known))}
    counts = np.zeros((len(names), len(WAYS)), dtype=np.int64)
    for before, after, image in known:
        counts[names[image], WAYS.index(way(before, after, decimals))] += 1
    shares = {
        name: ratio_interval(counts[:, k], counts.sum(1), replicates=replicates).as_json()
        for k, name in enumerate(WAYS)
    }
    moved = [after - before for before, after, _ in known]
    return {
        "check": check.name,
        "expected": check.expected,
        "shares": shares,
        "compared": len(known),
        "images": len(names),
        "mean_change": float(np.mean(moved)) if moved else None,
        "outcome": outcome(shares, len(known)),
    }


def outcome(shares: Mapping[str, Any], compared: int) -> str:
    """`passes` if most scores surely fall, `rewards` if most surely rise, `insensitive` if surely
    most do not fall, else `unclear`.

    Surely: the whole interval is on one side of one half; without an interval, the share itself.
    """
    if not compared:
        return "not tested"

    def end(name: str, which: str) -> float:
        value = shares[name][which]
        return float(shares[name]["value"] if value is None else value)

    if end("lower", "low") > 0.5:
        return "passes"
    if end("higher", "low") > 0.5:
        return "rewards"
    return "insensitive" if end("lower", "high") < 0.5 else "unclear"


def verdict(name: str, checks: Sequence[Mapping[str, Any]]) -> str:
    """One line: what the metric must not be used for, and what it cannot be relied on for."""
    by: dict[str, list[str]] = {}
    for own in checks:
        by.setdefault(own["outcome"], []).append(own["check"])
    untested, unclear = by.get("not tested", []), by.get("unclear", [])
    failed = by.get("rewards", []) + by.get("insensitive", [])  # what pays comes first
    tested = len(checks) - len(untested)
    also = f" Not tested: {', '.join(untested)}." if untested else ""
    if not tested:
        return f"{name}: no check could be computed, so it must not be used at all.{also}"
    if not failed and not unclear:
        return f"{name} passes all {tested} checks that could be computed.{also}"
    said = [f"{name} fails {len(failed)} of {tested} checks."]
    if failed:
        said.append(f"Do not use it to {_purposes(failed)}.")
    if unclear:
        said.append(
            f"Whether most scores fall is unclear, so do not rely on it to {_purposes(unclear)}."
        )
    return " ".join(said) + also


def _purposes(names: Sequence[str]) -> str:
    """What checks show a metric to be unfit for; a purpose of several checks is named once."""
    unfit = {check.name: check.unfit for check in CHECKS}
    purposes: dict[str, list[str]] = {}
    for name in names:
        purpose, _, why = unfit[name].partition(": ")
        purposes.setdefault(purpose, []).extend([why] if why else [])
    return ", to ".join(
        f"{purpose} ({'; '.join(dict.fromkeys(why))})" if why else purpose
        for purpose, why in purposes.items()
    )


def rises_by(checks: Sequence[Mapping[str, Any]]) -> list[str]:
    """Which ways to say more without saying anything raise most scores."""
    padded = ("exact repetition", "irrelevant final sentence")
    return [
        own["check"]
        for own in checks
        if own["check"] in padded
        and (own["shares"]["higher"]["value"] or 0) > (own["shares"]["lower"]["value"] or 0)
    ]


def agreements(
    examples: Sequence[Example], metrics: Sequence[StressScores], replicates: int
) -> list[dict[str, Any]]:
    """Pearson's r with people's mean ratings of the originals, by axis, with intervals."""
    place = {example.id: k for k, example in enumerate(examples)}
    found = []
    for judged in judged_by_people(examples, each=False):  # one value per description and axis
        for metric in metrics:
            values = [metric.values[ORIGINAL][place[example.id]] for example in judged.examples]
            known = [k for k, value in enumerate(values) if value is not None]
            scores = np.array([values[k] for k in known], dtype=np.float64)
            images = [judged.examples[k].image for k in known]
            own = {"axis": judged.axis, "metric": metric.name, "rows": len(known)}
            found.append(own | pearson(scores, judged.human[known], images, replicates))
    return found


def among_themselves(metrics: Sequence[StressScores]) -> dict[str, Any] | None:
    """Correlations among metrics on the originals that all of them score, similar ones together.

    Ordered by the entries of the correlation matrix's first eigenvector (ContextRef, Figure A.5).
    None for fewer than two metrics, or three common originals.
    """
    known = [
        values
        for values in zip(*(metric.values[ORIGINAL] for metric in metrics), strict=True)
        if all(value is not None for value in values)
    ]
    if len(metrics) < 2 or len(known) < 3:
        return None
    table: npt.NDArray[np.float64] = np.array(known, dtype=np.float64)
    with np.errstate(invalid="ignore", divide="ignore"):
        matrix = np.atleast_2d(np.corrcoef(table, rowvar=False))
    first = np.linalg.eigh(np.nan_to_num(matrix))[1][:, -1]
    order = np.argsort(-first if first.sum() > 0 else first, kind="stable")
    return {
        "names": [metrics[k].name for k in order],
        "rows": len(known),
        "matrix": [
            [round(float(v), 4) if np.isfinite(v) else None for v in row]
            for row in matrix[np.ix_(order, order)]
        ],
    }
