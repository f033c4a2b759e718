"""From a rater's probabilities to captioners' scores, in several ways, none of them fitted here.

Each way gives every judged sentence a value, its estimated truth; the paper's criteria then are
sums of values: their mean (overall), the mean of their means by caption (per description), and the
mean of their products by caption (response: all of it is right).

    thresholded     1 at P ≥ threshold, else 0: VNLI-Critique's AutoRater
    mean P          P itself
    rates taken out (said − q) / (r − q), with r and q how often the critic calls true and wrong
                    sentences true on its own validation data (Rogan & Gladen 1978). A linear change
                    for all alike, so the order by means stays; the scores come nearer
    prior adjusted  P under the share of true sentences that explains the captioner's P best
                    (Saerens, Latinne & Decaestecker 2002, EM), from the share in validation
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.critic.known_errors import rates_of_curve
from revise_captions.errors import UserError
from revise_captions.stats.leaderboard import COLUMNS, Ratings, collect
from scripts.research.autorater.scores import CaptionScores, Rater

Floats = NDArray[np.float64]
Estimator = Callable[[Sequence[CaptionScores], Rater], list[Floats]]
#: P is kept this far from 0 and 1, so that one sentence cannot decide about a captioner.
_CERTAIN = 1e-3
_STEPS = 500


def thresholded(captions: Sequence[CaptionScores], rater: Rater) -> list[Floats]:
    return [np.where(np.isnan(c.p), np.nan, c.p >= rater.threshold) for c in captions]


def mean_p(captions: Sequence[CaptionScores], rater: Rater) -> list[Floats]:
    return [c.p for c in captions]


def rates_taken_out(captions: Sequence[CaptionScores], rater: Rater) -> list[Floats]:
    """Raises `UserError` where the critic's validation says that it tells nothing apart."""
    r, q = rates(rater)
    if r <= q:
        raise UserError(f"this critic calls true and wrong sentences true alike: {r:.3f}, {q:.3f}")
    return [(said - q) / (r - q) for said in thresholded(captions, rater)]


def rates(rater: Rater) -> tuple[float, float]:
    """How often true, and wrong, validation sentences are called true at the threshold."""
    known = rates_of_curve(rater.calibration, rater.threshold)
    if known is None:
        raise UserError("this critic stores nothing about its errors: it was not calibrated")
    return known.true_kept.share, known.wrong_kept.share


def prior_adjusted(captions: Sequence[CaptionScores], rater: Rater) -> list[Floats]:
    base = rater.calibration["factual"] / rater.calibration["sentences"]
    by_captioner: dict[str, list[Floats]] = {}
    for c in captions:
        by_captioner.setdefault(c.captioner, []).append(c.p)
    shares = {name: prior(np.concatenate(p), base) for name, p in by_captioner.items()}
    return [_under(c.p, base, shares[c.captioner]) for c in captions]


def prior(p: Floats, base: float) -> float:
    """The share of true sentences that makes these P likeliest, `base` being that of training."""
    known = p[np.isfinite(p)]
    share = base
    for _ in range(_STEPS if len(known) else 0):
        found = float(_under(known, base, share).mean())
        if abs(found - share) < 1e-7:
            break
        share = found
    return share


def _under(p: Floats, base: float, share: float) -> Floats:
    """P of “true” where a share `share` is true instead of `base` (Bayes)."""
    held = np.clip(p, _CERTAIN, 1 - _CERTAIN)
    true, wrong = held * share / base, (1 - held) * (1 - share) / (1 - base)
    return np.asarray(true / (true + wrong))


ESTIMATORS: Mapping[str, Estimator] = {
    "thresholded": thresholded,
    "mean P": mean_p,
    "rates taken out": rates_taken_out,
    "prior adjusted": prior_adjusted,
}


def truth(captions: Sequence[CaptionScores]) -> Ratings:
    """The oracle's leaderboard."""
    return ratings(captions, [c.factual.astype(np.float64) for c in captions])


def ratings(captions: Sequence[CaptionScores], values: Sequence[Floats]) -> Ratings:
    """Counts by captioner and image, from a value of each sentence (NaN: unscored)."""
    return collect(
        (c.captioner, c.image, _row(c, own)) for c, own in zip(captions, values, strict=True)
    )


def _row(c: CaptionScores, values: Floats) -> tuple[float, ...]:
    """As `leaderboard.counts_of`, with values between 0 and 1 too."""
    known = values[np.isfinite(values)]
    response = bool(len(values)) and (len(known) == len(values) or bool((known == 0).any()))
    row: dict[str, Any] = {
        "captions": 1,
        "responses_judged": response,
        "responses_right": known.prod() if response else 0,
        "captions_judged": len(known) > 0,
        "share": known.mean() if len(known) else 0,
        "sentences": len(values),
        "judged": len(known),
        "factual": known.sum(),
        "unscored": len(values) - len(known),
        "not_assessable": (~c.assessable[np.isfinite(values)]).sum(),
        "words": c.words,
    }
    return tuple(float(row[name]) for name in COLUMNS)
