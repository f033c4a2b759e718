"""Ranking captioners by the factuality of their sentences, and how far to trust the ranks.

Three criteria, as in VNLI-Critique (section 4.2, appendix A), each a ratio of sums over images:

    response          captions without a wrong sentence         / captions that could be judged
    overall           sentences judged factual                  / sentences that could be judged
    per_description   sum over captions of their factual share  / captions with a judged sentence

A caption with an unscored sentence and no wrong one is neither right nor wrong as a response: it is
left out of that denominator, and counted. Measurements of a captioner on an image are kept as
counts (`COLUMNS`), so that captioners can be added without scoring the others again.

Intervals: Poisson bootstrap over images (`bootstrap.weights`, keyed by the image's name), the same
resamples for all captioners; Clopper and Pearson's if all images agree.
Differences: paired permutation tests over the images that both have described, with Holm's
correction over all pairs. A rank is a range: from 1 + the number of captioners significantly
better, to the number of captioners not significantly worse.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
import numpy.typing as npt

from revise_captions.records import Label
from revise_captions.stats.bootstrap import weights
from revise_captions.stats.exact import LEVEL, exact_interval

Floats = npt.NDArray[np.float64]
Criterion = Literal["response", "overall", "per_description"]
CRITERIA: tuple[Criterion, ...] = ("response", "overall", "per_description")
#: The counts kept for one captioner's captions of one image.
COLUMNS = (
    "captions", "responses_judged", "responses_right", "captions_judged", "share",
    "sentences", "judged", "factual", "unscored", "not_assessable", "words",
)  # fmt: skip
_RATIO: dict[Criterion, tuple[int, int]] = {
    "response": (COLUMNS.index("responses_right"), COLUMNS.index("responses_judged")),
    "overall": (COLUMNS.index("factual"), COLUMNS.index("judged")),
    "per_description": (COLUMNS.index("share"), COLUMNS.index("captions_judged")),
}
#: Replicates held in memory at a time.
_CHUNK = 500
_MOST_PERMUTATIONS = 50_000
#: Significance level of the tests, after correction.
ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class RatedSentence:
    """What a leaderboard needs to know about a judged sentence."""

    label: Label
    assessable: bool = True


def counts_of(sentences: Sequence[RatedSentence], words: int) -> tuple[float, ...]:
    """Counts of one caption.

    Args:
        sentences: Its sentences.
        words: Its number of words.

    Returns:
        One value for each of `COLUMNS`.
    """
    judged = [s for s in sentences if s.label is not Label.UNSCORED]
    factual = sum(s.label is Label.FACTUAL for s in judged)
    wrong = len(judged) - factual
    unscored = len(sentences) - len(judged)
    response = wrong > 0 or (unscored == 0 and len(sentences) > 0)
    return (
        1, float(response), float(response and wrong == 0), float(bool(judged)),
        factual / len(judged) if judged else 0.0, len(sentences), len(judged), factual, unscored,
        sum(not s.assessable for s in judged), words,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ratings:
    """The measurements of each captioner on each image.

    Attributes:
        captioners: Names, sorted.
        images: Names, sorted.
        counts: float64 of shape (captioners, images, `COLUMNS`); 0 for images not described.
    """

    captioners: tuple[str, ...]
    images: tuple[str, ...]
    counts: Floats

    def sums(self, criterion: Criterion) -> tuple[Floats, Floats]:
        """A criterion's sums.

        Args:
            criterion: Which ratio.

        Returns:
            Numerators and denominators, each of shape (captioners, images).
        """
        top, bottom = _RATIO[criterion]
        return self.counts[:, :, top], self.counts[:, :, bottom]


def collect(rows: Iterable[tuple[str, str, tuple[float, ...]]]) -> Ratings:
    """Ratings from (captioner, image, `counts_of`) rows; several captions of an image add up."""
    found: dict[tuple[str, str], Floats] = {}
    for captioner, image, row in rows:
        key = captioner, image
        found[key] = found[key] + row if key in found else np.asarray(row, dtype=np.float64)
    captioners = {name: k for k, name in enumerate(sorted({name for name, _ in found}))}
    images = {name: k for k, name in enumerate(sorted({name for _, name in found}))}
    counts = np.zeros((len(captioners), len(images), len(COLUMNS)))
    for (captioner, image), total in found.items():
        counts[captioners[captioner], images[image]] = total
    return Ratings(tuple(captioners), tuple(images), counts)


@dataclass(frozen=True, slots=True)
class Standing:
    """One captioner by one criterion.

    Attributes:
        captioner: Its name.
        value: The ratio; None if nothing could be judged.
        low: Lower bound of the central 95 % interval.
        high: Its upper bound.
        best_rank: 1 + the number of captioners that are significantly better; None without value.
        worst_rank: The number of captioners with a value that are not significantly worse, itself
            included; None without value.
    """

    captioner: str
    value: float | None
    low: float | None
    high: float | None
    best_rank: int | None
    worst_rank: int | None


@dataclass(frozen=True, slots=True)
class Leaderboard:
    """Captioners ranked by one criterion.

    Attributes:
        criterion: Which ratio.
        standings: From best to worst.
        p_values: `p_values[a, b]` of “a and b are equally good”, after Holm's correction, in the
            standings' order.
        wins: `wins[a, b]`: share of resamples in which a is better, with ties counting half.
        replicates: Number of resamples.
        least_p: The smallest p-value that the permutations can give, after the correction.
    """

    criterion: Criterion
    standings: tuple[Standing, ...]
    p_values: Floats
    wins: Floats
    replicates: int
    least_p: float


def keys_of(images: Sequence[str]) -> npt.NDArray[np.uint64]:
    """A key for each image from its name alone, so that its weights never depend on the others."""
    digests = (hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest() for name in images)
    return np.array([int.from_bytes(digest[:8]) for digest in digests], dtype=np.uint64)


def rank(ratings: Ratings, criterion: Criterion, *, replicates: int = 10_000) -> Leaderboard:
    """Ranks captioners by one criterion (VNLI-Critique, section 4.2 and appendix A).

    Time grows with captioners × images × replicates.

    Args:
        ratings: What was measured.
        criterion: Which ratio.
        replicates: Number of resamples.

    Returns:
        The leaderboard, with intervals, tests and rank ranges.
    """
    top, bottom = ratings.sums(criterion)
    values = _ratio(top.sum(1), bottom.sum(1))
    order = np.argsort(np.where(np.isnan(values), -np.inf, values), kind="stable")[::-1]
    top, bottom, values = top[order], bottom[order], values[order]
    resampled = resamples(top, bottom, keys_of(ratings.images), replicates)
    pairs = len(order) * (len(order) - 1) // 2
    # enough for the smallest corrected p-value to be well below ALPHA
    permutations = max(replicates, min(int(4 * pairs / ALPHA), _MOST_PERMUTATIONS))
    p_values = holm(permutation_tests(top, bottom, replicates=permutations))
    ranked = int(np.isfinite(values).sum())  # the others come last, and have no rank
    standings = []
    for place, index in enumerate(order):
        described = int((bottom[place] > 0).sum())
        low, high = _bounds(float(values[place]), described, resampled[:, place])
        different = p_values[place] < ALPHA
        known = not np.isnan(values[place])
        standings.append(
            Standing(
                ratings.captioners[index],
                float(values[place]) if known else None,
                low if known else None,
                high if known else None,
                1 + int(different[:place].sum()) if known else None,
                ranked - int(different[place + 1 :].sum()) if known else None,
            )
        )
    tests = int(np.isfinite(p_values[np.triu_indices(len(order), k=1)]).sum())
    least = min(1.0, tests / (permutations + 1))
    return Leaderboard(criterion, tuple(standings), p_values, _wins(resampled), replicates, least)


def _ratio(top: Floats, bottom: Floats) -> Floats:
    return np.divide(top, bottom, out=np.full(np.shape(top), np.nan), where=bottom > 0)


def resamples(
    top: Floats, bottom: Floats, keys: npt.NDArray[np.uint64], replicates: int, seed: int = 0
) -> Floats:
    """The ratio in every bootstrap replicate, shape (replicates, captioners)."""
    sums = np.zeros((2, replicates, len(top)))
    rows = max(1, 2**25 // replicates)
    for start in range(0, len(keys), rows):
        part = slice(start, start + rows)
        drawn = weights(keys[part], replicates, seed).T.astype(np.float32)
        for total, values in zip(sums, (top, bottom), strict=True):
            total += drawn @ values[:, part].T.astype(np.float32)
    return _ratio(sums[0], sums[1])


def _bounds(value: float, images: int, resampled: Floats) -> tuple[float | None, float | None]:
    """The interval; if all images agree, the exact one for that number of trials."""
    if images <= 1:  # one image says nothing about others
        return None, None
    exact = value in (0.0, 1.0)
    return exact_interval(round(value * images), images) if exact else _interval(resampled)


def _interval(values: Floats) -> tuple[float | None, float | None]:
    known = values[np.isfinite(values)]
    if len(known) < len(values) / 2:
        return None, None
    low, high = np.quantile(known, [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return float(low), float(high)


def _wins(resampled: Floats) -> Floats:
    better = np.full((resampled.shape[1],) * 2, 0.5)
    for a, b in combinations(range(resampled.shape[1]), 2):
        difference = resampled[:, a] - resampled[:, b]
        known = difference[np.isfinite(difference)]
        share = float((np.sign(known) + 1).mean() / 2) if len(known) else 0.5
        better[a, b], better[b, a] = share, 1 - share
    return better


def permutation_tests(
    top: Floats, bottom: Floats, *, replicates: int = 10_000, seed: int = 0
) -> Floats:
    """Paired permutation tests of all pairs of captioners.

    In each permutation, the captioners swap their results on a random half of the images that both
    have described. p counts the permutations in which the ratios differ at least as much as
    observed, including the observed arrangement.

    Args:
        top: Numerators of shape (captioners, images).
        bottom: Denominators of the same shape; 0 where an image was not described.
        replicates: Number of permutations.
        seed: Of the permutations.

    Returns:
        Two-sided p-values of shape (captioners, captioners), the diagonal 1; NaN for a pair without
        a common image.
    """
    captioners, images = top.shape
    pairs = np.array(list(combinations(range(captioners), 2)), dtype=int).reshape(-1, 2)
    a, b = pairs.T
    both = (bottom[a] > 0) & (bottom[b] > 0)  # (pairs, images)
    gap = np.where(both, top[b] - top[a], 0), np.where(both, bottom[b] - bottom[a], 0)
    of_a = (top[a] * both).sum(1), (bottom[a] * both).sum(1)
    of_b = (top[b] * both).sum(1), (bottom[b] * both).sum(1)
    observed = np.abs(_ratio(*of_a) - _ratio(*of_b))
    rng = np.random.default_rng(seed)
    reached = np.ones(len(pairs))
    for start in range(0, replicates, _CHUNK):
        size = min(_CHUNK, replicates - start)
        swap = rng.integers(0, 2, (size, images), dtype=np.int8).astype(np.float32)
        moved = [swap @ part.T.astype(np.float32) for part in gap]
        first = _ratio(of_a[0] + moved[0], of_a[1] + moved[1])
        second = _ratio(of_b[0] - moved[0], of_b[1] - moved[1])
        reached += (np.abs(first - second) >= observed - 1e-6).sum(0)
    p = np.where(both.any(1), reached / (replicates + 1), np.nan)
    result = np.ones((captioners, captioners))
    result[a, b] = result[b, a] = p
    return result


def holm(p_values: Floats) -> Floats:
    """Holm's step-down correction over the pairs of a symmetric matrix; NaN stays NaN.

    SciPy has no family-wise correction (`false_discovery_control` bounds a different error).
    """
    upper = np.triu_indices(len(p_values), k=1)
    p = p_values[upper]
    known = np.flatnonzero(np.isfinite(p))
    order = known[np.argsort(p[known], kind="stable")]
    factors = np.arange(len(order), 0, -1)
    corrected = p.copy()
    corrected[order] = np.minimum(1, np.maximum.accumulate(p[order] * factors))
    result = np.ones_like(p_values)
    result[upper] = corrected
    result.T[upper] = corrected
    return result


def length_controlled(ratings: Ratings) -> Mapping[str, float]:
    """Each captioner's factual share per description, at the overall mean length.

    By ordinary least squares of the share on the captioner and the logarithm of the caption's word
    count (the idea of AlpacaEval's length-controlled win rates, Dubois et al. 2024). Captioners
    without a judged caption have no score.
    """
    share, judged = ratings.sums("per_description")
    captions = ratings.counts[:, :, COLUMNS.index("captions")]
    words = ratings.counts[:, :, COLUMNS.index("words")]
    who, where = np.nonzero((judged > 0) & (words > 0))
    if len(who) == 0:
        return {}
    y = share[who, where] / judged[who, where]
    length = np.log(words[who, where] / captions[who, where])
    present = np.unique(who)
    design = np.column_stack([who[:, None] == present[None, :], length - length.mean()])
    solved = np.linalg.lstsq(design.astype(np.float64), y, rcond=None)[0]
    return {ratings.captioners[k]: float(v) for k, v in zip(present, solved[:-1], strict=True)}
