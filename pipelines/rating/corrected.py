"""Captioners' shares of true sentences, corrected for the errors of the critic that judged them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from revise_captions.pipelines.rating.autorater import REVISED, RatedCaptioners
from revise_captions.stats.bootstrap import MIN_RECORDS
from revise_captions.stats.error_correction import CorrectedShare, ErrorRates, as_written
from revise_captions.stats.leaderboard import keys_of, resamples
from revise_captions.text.formatting import plural


def corrected(
    rated: RatedCaptioners, errors: ErrorRates | None, replicates: int
) -> dict[str, CorrectedShare]:
    """By captioner, with 95 % intervals over images and over what the critic was measured on.

    Images that another critic judged are left out: these are not its errors. Revised captions have
    none: the critic chose their rewrites by its own errors, which its rates on sentences as they
    were written do not describe.
    """
    if errors is None:
        return {}
    ratings = rated.ratings
    own = np.array([image not in rated.elsewhere for image in ratings.images], dtype=bool)
    top, bottom = (sums[:, own] for sums in ratings.sums("overall"))
    images = [image for image, mine in zip(ratings.images, own, strict=True) if mine]
    drawn = resamples(top, bottom, keys_of(images), replicates)
    found = {}
    for k, name in enumerate(ratings.captioners):
        if name.endswith(REVISED) or np.count_nonzero(bottom[k]) < MIN_RECORDS:
            continue
        said = float(top[k].sum() / bottom[k].sum())
        if (share := as_written(said, drawn[:, k], errors)) is not None:
            found[name] = share
    return found


def with_corrected(
    rows: list[dict[str, Any]], found: Mapping[str, CorrectedShare]
) -> list[dict[str, Any]]:
    """The overall table's rows with three more columns, where anything is known."""
    if not found:
        return rows
    empty = CorrectedShare(None, float("nan"), float("nan"))
    return [row | _columns(found.get(row["captioner"], empty)) for row in rows]


def _columns(share: CorrectedShare) -> dict[str, float | None]:
    known = share.value is not None
    return {
        "corrected": share.value,
        "corrected_low": share.low if known else None,
        "corrected_high": share.high if known else None,
    }


def note(errors: ErrorRates, elsewhere: int = 0) -> str:
    """What the correction rests on, and how many images are left out."""
    kept, passed = (100 * rate.share for rate in (errors.true_kept, errors.wrong_kept))
    text = (
        f"Corrected by {errors.origin}: the critic calls {kept:.1f} % of the true and "
        f"{passed:.1f} % of the wrong sentences factual. Revised captions cannot be corrected so."
    )
    if not elsewhere:
        return text
    return f"{text} Without {plural(elsewhere, 'image')} of charts, which another critic judged."
