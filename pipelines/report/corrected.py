"""A run's factuality, corrected for what is known of its critic's errors.

The critic's own figures say what it sees. These say what is there, as far as its errors are known:
before the revision by Rogan and Gladen's estimator, after it with the share of true sentences
among accepted rewrites, measured on such rewrites (`stats.error_correction`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from revise_captions.pipelines.output.shares import COLUMN
from revise_captions.stats.bootstrap import MIN_RECORDS, Sums
from revise_captions.stats.error_correction import (
    ErrorRates,
    MeasuredShare,
    RevisedParts,
    as_written,
    revised,
)
from revise_captions.text.formatting import percent, plural

_PARTS = ("kept_after", "flagged_after", "rewritten_after")


def corrected(
    sums: Sums, errors: ErrorRates | None, other: Sums | None = None
) -> dict[str, Any] | None:
    """Shares of true sentences, before and after, with intervals, and what they rest on.

    The intervals cover both samples: the records of the run, and the sentences that the critic was
    measured on.

    Args:
        sums: Of the run.
        errors: The critic's.
        other: The part of `sums` that another critic judged, which is left out.

    Returns:
        None where nothing is known of the critic's errors, or the run is too small.
    """
    scored, factual = COLUMN["scored_before"], COLUMN["factual_before"]
    sums = sums if other is None else sums - other
    if errors is None or sums.nonzero[scored] < MIN_RECORDS:
        return None
    total, drawn = sums.total, sums.resampled
    said = float(total[factual] / total[scored])
    judged = drawn[:, scored]
    said_drawn = np.divide(
        drawn[:, factual], judged, out=np.full(len(judged), np.nan), where=judged > 0
    )
    before = as_written(said, said_drawn, errors)
    after = revised(
        RevisedParts(said, *(float(total[COLUMN[part]]) for part in _PARTS)),
        RevisedParts(said_drawn, *(drawn[:, COLUMN[part]] for part in _PARTS)),
        errors,
    )
    if before is None or after is None:
        return None
    return {
        "before": before.as_json(),
        "after": after.as_json(),
        "rests_on": errors.origin,
        "true_called_factual": _measured(errors.true_kept),
        "wrong_called_factual": _measured(errors.wrong_kept),
        "accepted_rewrites_true": (
            None if errors.rewrites_true is None else _measured(errors.rewrites_true)
        ),
        "rewrites": int(total[COLUMN["rewritten_after"]]),
        "left_out": 0 if other is None else int(other.total[scored]),
    }


def _measured(found: MeasuredShare) -> dict[str, float | int]:
    return {"share": round(found.share, 6), "sentences": found.sentences}


def trust(summary: Mapping[str, Any]) -> str:
    """What the corrected shares rest on, or why there are none, in a sentence or two."""
    found = summary["corrected"]
    if found is None:
        if summary["calibrated"]:
            return ""
        return (
            "These shares are uncalibrated: nobody measured how often this critic errs "
            "(captions calibrate does)."
        )
    kept, passed = found["true_called_factual"], found["wrong_called_factual"]
    text = (
        f"Corrected by {found['rests_on']}: it calls {percent(kept['share'])} of true and "
        f"{percent(passed['share'])} of wrong sentences factual."
    )
    if found["left_out"]:
        charts = plural(found["left_out"], "sentence")
        text += f" Without {charts} about charts, which another critic judged."
    rewrites = found["accepted_rewrites_true"]
    if rewrites is not None:
        return f"{text} Of accepted rewrites {percent(rewrites['share'])} were true."
    if found["rewrites"]:
        return f"{text} How many accepted rewrites are true, nobody measured: bounds."
    return text
