"""A run's factuality, corrected for its critic's known errors.

The critic's own figures say what it sees. These estimate the truth, as far as its errors are known:
before the revision by Rogan and Gladen's estimator, after it with the share of true sentences
among accepted rewrites, measured on such rewrites (`stats.error_correction`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np

from revise_captions.pipelines.output.shares import COLUMN
from revise_captions.stats.bootstrap import MIN_RECORDS, Sums
from revise_captions.stats.error_correction import (
    CorrectedShare,
    ErrorRates,
    MeasuredShare,
    RevisedParts,
    as_written,
    pooled,
    revised,
    share_draws,
)
from revise_captions.text.formatting import percent, plural

_PARTS = ("kept_after", "flagged_after", "rewritten_after")


@dataclass(frozen=True, slots=True)
class _Corrected:
    """What one expert judged, corrected for its errors, before and after the revision."""

    expert: str
    errors: ErrorRates
    before: CorrectedShare
    after: CorrectedShare
    sums: Sums


def corrected_together(
    experts: Mapping[str, Sums], errors: Mapping[str, ErrorRates | None]
) -> dict[str, Any] | None:
    """Shares of true sentences, before and after, with intervals, and their basis.

    Each expert's judgments are corrected for its own errors, and weighted by its number of
    sentences. The intervals reflect both samples: the records of the run, and the sentences that
    the experts were measured on.

    Args:
        experts: Counts of the run, by expert.
        errors: What is known about each expert's errors.

    Returns:
        None if nothing is known about any expert's errors, or the run is too small.
    """
    every = [_corrected(name, sums, errors.get(name)) for name, sums in experts.items()]
    parts = [part for part in every if part is not None]
    before = _pooled([(part.before, part.sums) for part in parts], "scored_before")
    after = _pooled([(part.after, part.sums) for part in parts], "scored_after")
    if before is None or after is None:
        return None
    names = {part.expert for part in parts}
    others = (sums for name, sums in experts.items() if name not in names)
    return {
        "before": before.as_json(),
        "after": after.as_json(),
        "rests_on": [_basis(part) for part in parts],
        "rewrites": int(sum(part.sums.total[COLUMN["rewritten_after"]] for part in parts)),
        "left_out": int(sum(sums.total[COLUMN["scored_before"]] for sums in others)),
    }


def _corrected(name: str, sums: Sums, errors: ErrorRates | None) -> _Corrected | None:
    """None if nothing is known about the expert's errors, or it judged too few records."""
    scored, factual = COLUMN["scored_before"], COLUMN["factual_before"]
    if errors is None or sums.nonzero[scored] < MIN_RECORDS:
        return None
    total, drawn = sums.total, sums.resampled
    said = float(total[factual] / total[scored])
    judged = drawn[:, scored]
    said_drawn = np.divide(
        drawn[:, factual], judged, out=np.full(len(judged), np.nan), where=judged > 0
    )
    stream = crc32(name.encode())
    said_drawn = share_draws(said, said_drawn, int(sums.nonzero[scored]), stream)
    before = as_written(said, said_drawn, errors, stream)
    after = revised(
        RevisedParts(said, *(float(total[COLUMN[part]]) for part in _PARTS)),
        RevisedParts(said_drawn, *(drawn[:, COLUMN[part]] for part in _PARTS)),
        errors,
        stream,
    )
    if before is None or after is None:
        return None
    return _Corrected(name, errors, before, after, sums)


def _pooled(parts: Sequence[tuple[CorrectedShare, Sums]], column: str) -> CorrectedShare | None:
    place = COLUMN[column]
    sizes = [float(sums.total[place]) for _, sums in parts]
    drawn = [sums.resampled[:, place] for _, sums in parts]
    return pooled([share for share, _ in parts], sizes, drawn)


def _basis(part: _Corrected) -> dict[str, Any]:
    """What is known about an expert's errors."""
    other, levels = part.errors.elsewhere, part.errors.levels
    return {
        "expert": part.expert,
        **_rates(part.errors),
        **({} if other is None else {"elsewhere": _rates(other)}),
        **({} if levels is None else {"kinds_of_captions": len(levels.offsets)}),
    }


def _rates(errors: ErrorRates) -> dict[str, Any]:
    return {
        "origin": errors.origin,
        "true_called_factual": _measured(errors.true_kept),
        "wrong_called_factual": _measured(errors.wrong_kept),
        "accepted_rewrites_true": (
            None if errors.rewrites_true is None else _measured(errors.rewrites_true)
        ),
    }


def _measured(found: MeasuredShare) -> dict[str, float | int]:
    return {"share": round(found.share, 6), "sentences": found.sentences}


def trust(summary: Mapping[str, Any]) -> str:
    """The basis of the corrected shares, or why there are none, in a sentence or two."""
    found = summary["corrected"]
    if found is None:
        if summary["calibrated"]:
            return ""
        return (
            "These shares are uncalibrated: this critic's error rates were never measured "
            "(captions calibrate does)."
        )
    text = " ".join(map(_told, found["rests_on"]))
    if found["left_out"]:
        text += (
            f" Without {plural(found['left_out'], 'sentence')} judged by a critic whose error "
            "rates were never measured."
        )
    unknown = any(basis["accepted_rewrites_true"] is None for basis in found["rests_on"])
    if found["rewrites"] and unknown:
        text += " The share of accepted rewrites that are true was never measured, hence bounds."
    return text


def _told(basis: Mapping[str, Any]) -> str:
    """What is known about one expert's errors, in words."""
    kept, passed = basis["true_called_factual"], basis["wrong_called_factual"]
    who = f"“{basis['expert']}”" if basis["expert"] else "it"
    text = (
        f"Corrected by {basis['origin']}: {who} calls {percent(kept['share'])} of true and "
        f"{percent(passed['share'])} of wrong sentences factual."
    )
    rewrites = basis["accepted_rewrites_true"]
    if rewrites is not None:
        text += f" Of accepted rewrites {percent(rewrites['share'])} were true."
    if kinds := basis.get("kinds_of_captions"):
        text += (
            " These rates change with the share that it calls factual: the values follow "
            f"{kinds} kinds of captions, and the intervals allow for how far those differ."
        )
    if (other := basis.get("elsewhere")) is not None:
        kept, passed = other["true_called_factual"], other["wrong_called_factual"]
        text += (
            f" The intervals allow for {other['origin']}, too: {percent(kept['share'])} and "
            f"{percent(passed['share'])}"
        )
        if (rewrites := other["accepted_rewrites_true"]) is not None:
            text += f", of accepted rewrites {percent(rewrites['share'])}"
        text += "."
    return text
