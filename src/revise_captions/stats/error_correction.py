"""Shares of true sentences, corrected for the errors of the critic that judged them.

A critic calls a share r of the true sentences factual, and a share q of the wrong ones. If a share
π of the sentences is true, it calls said = π·r + (1 − π)·q factual, so

    π = (said − q) / (r − q)                                        (Rogan & Gladen 1978)

r and q come from the sentences that a critic was measured on, and hold for others whose errors are
equally hard. They are for sentences as captioners wrote them. Rewrites that the same critic
accepted are different: it selected them by its own errors, so the share of them that is true is far
below what q implies, and has to be measured on accepted rewrites (`revised`).

A run's captions may be of a different kind from those a critic was measured on, without showing it.
If a critic was measured on two kinds, the first gives the value, and the interval covers both: half
of all resamples have the rates of each. If it was measured on several captioners, its rates depend
on how many sentences it calls factual (`verdict_levels`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.stats.bootstrap import REPLICATES
from revise_captions.stats.exact import LEVEL
from revise_captions.stats.verdict_levels import VerdictLevels

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]
#: With a larger share of draws in which the critic does not discriminate, there is no correction.
_UNDEFINED = 0.01


@dataclass(frozen=True, slots=True)
class MeasuredShare:
    """A share measured on a sample.

    Attributes:
        share: In [0, 1].
        size: How many independent sentences carry as much information.
        sentences: Number measured.
    """

    share: float
    size: float
    sentences: int

    def draws(self, seed: int, replicates: int = REPLICATES) -> Floats:
        """Draws from Jeffreys' posterior for the share, which has spread even at 0 and 1."""
        rng = np.random.default_rng(seed)
        hits = self.share * self.size
        return rng.beta(hits + 0.5, self.size - hits + 0.5, replicates)


@dataclass(frozen=True, slots=True)
class ErrorRates:
    """What is known about a critic's errors at one threshold.

    Attributes:
        true_kept: r, the share of true sentences that it calls factual.
        wrong_kept: q, the share of wrong ones.
        rewrites_true: Share of accepted rewrites that are true; None if it was not measured.
        origin: What they were measured on, in words.
        elsewhere: The same for sentences of another kind; None if they were not measured.
        levels: How often its verdicts are true, given the share that it calls factual; None if
            it was not measured on several populations. Replaces r and q.
    """

    true_kept: MeasuredShare
    wrong_kept: MeasuredShare
    rewrites_true: MeasuredShare | None
    origin: str
    elsewhere: ErrorRates | None = None
    levels: VerdictLevels | None = None

    def true_of(self, said: float, left: bool = False) -> tuple[Floats, Floats]:
        """The shares of true sentences among those called factual, and among the flagged, or those
        of them that a run leaves as they are."""
        if self.levels is not None:
            return self.levels.true_of(np.array(said), left=left)
        return _true_of(np.array(said), self.true_kept.share, self.wrong_kept.share)

    def true_drawn(self, said: Floats, seed: int, left: bool = False) -> tuple[Floats, Floats]:
        """Resamples of these, for resamples of the share called factual."""
        if self.levels is not None:
            return self.levels.drawn(said, seed, left)
        r, q, _ = self.draws(seed, len(said))
        return _true_of(said, r, q)

    def draws(self, seed: int, replicates: int) -> tuple[Floats, Floats, Floats | None]:
        """Resamples of the three shares, every second one from `elsewhere`."""
        r, q = self.true_kept.draws(seed, replicates), self.wrong_kept.draws(seed + 1, replicates)
        of = self.rewrites_true
        rewrites = None if of is None else of.draws(seed + 2, replicates)
        if self.elsewhere is not None:
            others = self.elsewhere.draws(seed, replicates)
            for own, other in zip((r, q, rewrites), others, strict=True):
                if own is not None and other is not None:
                    own[1::2] = other[1::2]
        return r, q, rewrites


@dataclass(frozen=True, slots=True)
class CorrectedShare:
    """A corrected share.

    Attributes:
        value: None if only its bounds are known.
        low: Lower end of its interval, or of its lower bound's.
        high: Upper end, likewise.
        points: The values of its bounds; both are `value` if that is known.
        draws: Resamples of both bounds, each (replicates,).
    """

    value: float | None
    low: float
    high: float
    points: tuple[float, float] = field(repr=False)
    draws: tuple[Floats, Floats] = field(repr=False, compare=False)

    def as_json(self) -> dict[str, Any]:
        value = None if self.value is None else round(self.value, 6)
        return {"value": value, "low": round(self.low, 6), "high": round(self.high, 6)}


def measured_share(
    yes: Bools, units: Sequence[Any] | NDArray[Any], weights: Floats | None = None
) -> MeasuredShare | None:
    """A share with the size of a simple random sample that would be equally precise.

    Args:
        yes: For each sentence.
        units: Each sentence's image; sentences of one image are not independent.
        weights: How many sentences each stands for; None: one.

    Returns:
        None for no sentences.
    """
    if len(yes) == 0:
        return None
    w = np.ones(len(yes)) if weights is None else weights
    _, place = np.unique(np.asarray(units), return_inverse=True)
    images = int(place.max()) + 1
    share = float(np.average(yes, weights=w))
    kish = float(w.sum() ** 2 / (w**2).sum())
    residuals = np.bincount(place, w * (yes - share))
    spread = float((residuals**2).sum()) / float(w.sum()) ** 2 * images / max(images - 1, 1)
    # if all agree, there is no visible spread, and each image counts as one sentence
    size = min(float(images), kish) if spread == 0 else min(share * (1 - share) / spread, kish)
    return MeasuredShare(share, max(size, 1e-6), len(yes))


def rogan_gladen(said: Floats, true_kept: Floats, wrong_kept: Floats) -> Floats:
    """π of the module's formula, in [0, 1]; NaN where r ≤ q."""
    apart = true_kept - wrong_kept
    top = np.broadcast_to(said - wrong_kept, np.broadcast(said, apart).shape)
    found = np.divide(top, apart, out=np.full(top.shape, np.nan), where=apart > 0)
    return np.clip(found, 0, 1)


def share_draws(said: float, drawn: Floats, units: int, stream: int = 0) -> Floats:
    """Resamples of a share; from Jeffreys' posterior if all units agree, as resampling then shows
    no spread.

    Args:
        said: The share.
        drawn: The same in resamples over units, (replicates,).
        units: Images or records.
        stream: See `as_written`.
    """
    if 0 < said < 1:
        return drawn
    return MeasuredShare(said, units, units).draws(3 * stream + 3, len(drawn))


def as_written(
    said: float, drawn: Floats, rates: ErrorRates, stream: int = 0
) -> CorrectedShare | None:
    """The share of true sentences among those that captioners wrote.

    Args:
        said: The share that the critic calls factual.
        drawn: The same in resamples over images or records, (replicates,).
        rates: What is known about its errors.
        stream: Of random numbers: critics with different streams err independently.

    Returns:
        None if the critic discriminates too little between true and wrong sentences.
    """
    if rates.levels is not None:
        kept, flagged = rates.true_of(said)
        value = said * kept + (1 - said) * flagged
        kept, flagged = rates.true_drawn(drawn, 3 * stream)
        return _central(float(value), drawn * kept + (1 - drawn) * flagged)
    r, q, _ = rates.draws(3 * stream, len(drawn))
    value = rogan_gladen(np.array(said), np.array(rates.true_kept.share),
                         np.array(rates.wrong_kept.share))  # fmt: skip
    return _central(float(value), rogan_gladen(drawn, r, q))


@dataclass(frozen=True, slots=True)
class RevisedParts:
    """Numbers of sentences in revised captions that the critic judged, by outcome.

    Each is a number, or an array of numbers in resamples.

    Attributes:
        said: The share of sentences that it called factual as originally written.
        kept: Unchanged sentences that it called factual.
        flagged: Unchanged sentences that it called wrong.
        rewritten: Accepted rewrites.
    """

    said: Any
    kept: Any
    flagged: Any
    rewritten: Any

    def share(self, of_kept: Any, of_flagged: Any, rewrites: Any) -> Floats:
        """The share of true sentences, given the shares of the three parts that are true."""
        top = of_kept * self.kept + of_flagged * self.flagged
        whole = np.asarray(self.kept + self.flagged + self.rewritten, dtype=np.float64)
        top = np.asarray(top + rewrites * self.rewritten)
        return np.divide(top, whole, out=np.full(top.shape, np.nan), where=whole > 0)


def _true_of(said: Floats, r: Floats | float, q: Floats | float) -> tuple[Floats, Floats]:
    """The shares of true sentences among those called factual, and among the flagged."""
    true = rogan_gladen(said, np.asarray(r), np.asarray(q))
    said = np.clip(said, 1e-9, 1 - 1e-9)
    return np.clip(true * r / said, 0, 1), np.clip(true * (1 - r) / (1 - said), 0, 1)


def revised(
    found: RevisedParts, drawn: RevisedParts, rates: ErrorRates, stream: int = 0
) -> CorrectedShare | None:
    """The share of true sentences in revised captions.

    Unchanged sentences are corrected as usual, but flagged ones as those that a run leaves, where
    how many of these are true was measured. Accepted rewrites get the share measured on accepted
    rewrites; if there is none, only bounds can be given, assuming that no rewrite is true, or that
    all are.

    Args:
        found: The counts.
        drawn: The same in resamples.
        rates: What is known about the critic's errors.
        stream: See `as_written`.
    """
    replicates = len(drawn.said)
    of_rewrites = rates.draws(3 * stream, replicates)[2]
    means = rates.true_of(found.said, left=True)
    parts = rates.true_drawn(drawn.said, 3 * stream, left=True)
    if rates.rewrites_true is not None or found.rewritten == 0:
        of = 0.0 if rates.rewrites_true is None else rates.rewrites_true.share
        spread = 0.0 if of_rewrites is None else of_rewrites
        return _central(float(found.share(*means, of)), drawn.share(*parts, spread))
    least = _central(float(found.share(*means, 0.0)), drawn.share(*parts, 0.0))
    most = _central(float(found.share(*means, 1.0)), drawn.share(*parts, 1.0))
    if least is None or most is None:
        return None
    points, draws = zip(*((one.points[0], one.draws[0]) for one in (least, most)), strict=True)
    return CorrectedShare(None, least.low, most.high, points, draws)


def pooled(
    shares: Sequence[CorrectedShare], sizes: Sequence[float], drawn: Sequence[Floats]
) -> CorrectedShare | None:
    """The share among the sentences of several critics, each corrected for its own errors.

    Args:
        shares: One for each critic.
        sizes: How many sentences each judged.
        drawn: The same in resamples, each (replicates,).

    Returns:
        None for no sentences.
    """
    if not shares or sum(sizes) <= 0:
        return None
    if len(shares) == 1:
        return shares[0]
    ends = []
    for end in (0, 1):
        value = float(np.average([share.points[end] for share in shares], weights=sizes))
        top = sum(share.draws[end] * size for share, size in zip(shares, drawn, strict=True))
        whole = np.sum(drawn, axis=0)
        resampled = np.divide(top, whole, out=np.full(len(whole), np.nan), where=whole > 0)
        ends.append(_central(value, resampled))
    least, most = ends
    if least is None or most is None:
        return None
    if all(share.value is not None for share in shares):
        return least
    draws = least.draws[0], most.draws[0]
    return CorrectedShare(None, least.low, most.high, (least.points[0], most.points[0]), draws)


def _central(value: float, drawn: Floats) -> CorrectedShare | None:
    known = drawn[np.isfinite(drawn)]
    if not np.isfinite(value) or len(known) < (1 - _UNDEFINED) * len(drawn):
        return None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    ends = min(float(low), value), max(float(high), value)
    return CorrectedShare(value, *ends, (value, value), (drawn, drawn))
