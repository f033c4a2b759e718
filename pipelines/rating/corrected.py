"""Captioners' shares of true sentences, corrected for the errors of the critic that judged them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any
from zlib import crc32

import numpy as np

from revise_captions.pipelines.rating.autorater import REVISED, RatedCaptioners
from revise_captions.stats.bootstrap import MIN_RECORDS
from revise_captions.stats.error_correction import (
    CorrectedShare,
    ErrorRates,
    as_written,
    pooled,
    share_draws,
)
from revise_captions.stats.leaderboard import keys_of, resamples
from revise_captions.text.formatting import plural


def corrected(
    rated: RatedCaptioners, errors: Mapping[str, ErrorRates | None], replicates: int
) -> dict[str, CorrectedShare]:
    """By captioner, with 95 % intervals over images and over what the critics were measured on.

    What each expert of a panel judged is corrected for its own errors; what one judged of whose
    errors nothing is known is left out. Revised captions have none: the critic chose their rewrites
    by its own errors, which its rates on sentences as they were written do not describe.

    Args:
        rated: Ratings of captioners.
        errors: What is known of each expert's errors; "" where one critic judges everything.
        replicates: Of the bootstrap.
    """
    parts: dict[str, list[tuple[CorrectedShare, float]]] = {}
    judged = dict.fromkeys(rated.ratings.captioners, 0)
    for expert, known in errors.items():
        if known is None:
            continue
        # captioners are compared on the same images: of another kind, all would be off alike
        alone = replace(known, elsewhere=None)
        for name, records, found in _of_expert(rated, expert, alone, replicates):
            judged[name] += records
            parts.setdefault(name, []).append(found)
    shares = {}
    for name, found_parts in parts.items():
        sizes = [size for _, size in found_parts]
        drawn = [np.full(replicates, size) for size in sizes]
        share = pooled([share for share, _ in found_parts], sizes, drawn)
        if share is not None and judged[name] >= MIN_RECORDS:
            shares[name] = share
    return shares


def _of_expert(
    rated: RatedCaptioners, expert: str, errors: ErrorRates, replicates: int
) -> Iterator[tuple[str, int, tuple[CorrectedShare, float]]]:
    """By captioner: how many images the expert judged, its corrected share, and its sentences."""
    ratings = rated.ratings
    own = np.array([rated.experts.get(i, "") == expert for i in ratings.images], dtype=bool)
    top, bottom = (sums[:, own] for sums in ratings.sums("overall"))
    images = [image for image, mine in zip(ratings.images, own, strict=True) if mine]
    drawn = resamples(top, bottom, keys_of(images), replicates)
    stream = crc32(expert.encode())
    for k, name in enumerate(ratings.captioners):
        size = float(bottom[k].sum())
        if name.endswith(REVISED) or size == 0:
            continue
        said, judged = float(top[k].sum()) / size, int(np.count_nonzero(bottom[k]))
        share = as_written(said, share_draws(said, drawn[:, k], judged, stream), errors, stream)
        if share is not None:
            yield name, judged, (share, size)


def with_corrected(
    rows: list[dict[str, Any]], found: Mapping[str, CorrectedShare]
) -> list[dict[str, Any]]:
    """The overall table's rows with three more columns, where anything is known."""
    if not found:
        return rows
    return [row | _columns(found.get(row["captioner"])) for row in rows]


def _columns(share: CorrectedShare | None) -> dict[str, float | None]:
    known = share is not None and share.value is not None
    return {
        "corrected": share.value if share is not None else None,
        "corrected_low": share.low if share is not None and known else None,
        "corrected_high": share.high if share is not None and known else None,
    }


def note(rated: RatedCaptioners, errors: Mapping[str, ErrorRates | None]) -> str:
    """What the correction rests on, and how many images are left out."""
    texts = []
    for expert, known in errors.items():
        if known is None:
            continue
        kept, passed = (100 * rate.share for rate in (known.true_kept, known.wrong_kept))
        texts.append(
            f"Corrected by {known.origin}: {f'“{expert}”' if expert else 'the critic'} calls "
            f"{kept:.1f} % of the true and {passed:.1f} % of the wrong sentences factual."
        )
    if any(name.endswith(REVISED) for name in rated.ratings.captioners):
        texts.append("Shares of revised captions cannot be corrected this way.")
    unknown = {expert for expert, known in errors.items() if known is None}
    left = sum(rated.experts.get(image, "") in unknown for image in rated.ratings.images)
    if left:
        texts.append(
            f"Without {plural(left, 'image')} judged by a critic whose error rates were never "
            "measured."
        )
    return " ".join(texts)
