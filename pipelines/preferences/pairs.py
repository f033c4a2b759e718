"""From captions of an image to preference pairs (FeedQuill, 2503.07906, sections 4.1 and 4.2).

A caption with the higher score is preferred to one with the lower. There are three scores, and a
pair says which one decided it:

    c_p     share of the caption's units that are true
    c_r     their number
    both    c_p + 0.5 c_r, each in standard deviations among the image's captions

The paper trains a reward model on pairs of c_p and another on pairs of c_r, and adds what the two
say (A.3.1). Their outputs have a scale of their own; `both` brings the scores themselves to one,
for DPO, which has no reward models.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, pstdev
from typing import Any

from revise_captions.dcscore.score import UnitCounts

SCORES = ("c_p", "c_r", "both")
#: α_r of r = c_p + α_r c_r (A.3.1).
RICHNESS = 0.5


@dataclass(frozen=True, slots=True)
class Candidate:
    """A caption of an image, and what its units came to.

    Attributes:
        text: The caption.
        counts: Of its distinct units.
        units: Each unit with its verdict, as it stands in the output.
    """

    text: str
    counts: UnitCounts
    units: tuple[Mapping[str, Any], ...] = ()

    @property
    def c_p(self) -> float | None:
        """The share of true units; None for a caption of no unit that has a verdict."""
        return self.counts.precision

    @property
    def c_r(self) -> int:
        """The number of units, with a verdict or without (section 4.1)."""
        return self.counts.units + self.counts.unscored

    def as_json(self) -> dict[str, Any]:
        """The candidate in the journal, and what a pair says of each side."""
        share = None if self.c_p is None else round(self.c_p, 6)
        return {
            "text": self.text,
            "c_p": share,
            "c_r": self.c_r,
            "words": len(self.text.split()),
            "units": list(self.units),
        }


@dataclass(frozen=True, slots=True)
class PreferencePair:
    """One caption of an image preferred to another.

    Attributes:
        by: The score that decided.
        chosen: The better one's index.
        rejected: The other's.
        margin: By how much the score differs.
    """

    by: str
    chosen: int
    rejected: int
    margin: float


@dataclass(frozen=True, slots=True)
class Preferences:
    """What an image's captions give.

    Attributes:
        pairs: Widest margins first, score by score.
        ties: Of each score, pairs left out because they differ by no more than the margin.
    """

    pairs: tuple[PreferencePair, ...]
    ties: Mapping[str, int]


def preferences(
    candidates: Sequence[Candidate], by: Sequence[str], *, margin: float, most: int
) -> Preferences:
    """The pairs of an image's captions. Captions without c_p, and equal texts, are in none.

    Args:
        candidates: The captions.
        by: Scores to make pairs by.
        margin: Pairs that differ by this or less are ties.
        most: Pairs per score.
    """
    texts = [candidate.text for candidate in candidates]
    usable = [
        k
        for k, candidate in enumerate(candidates)
        if candidate.c_p is not None and candidate.text not in texts[:k]
    ]
    found: list[PreferencePair] = []
    ties: dict[str, int] = {}
    for name in by:
        values = dict(zip(usable, scored([candidates[k] for k in usable], name), strict=True))
        pairs = [_preference(name, a, b, values) for a, b in combinations(usable, 2)]
        wide = [pair for pair in pairs if pair.margin > margin]
        ties[name] = len(pairs) - len(wide)
        found += sorted(wide, key=lambda pair: (-pair.margin, pair.chosen, pair.rejected))[:most]
    return Preferences(tuple(found), ties)


def _preference(by: str, first: int, second: int, values: Mapping[int, float]) -> PreferencePair:
    better, worse = (first, second) if values[first] >= values[second] else (second, first)
    return PreferencePair(by, better, worse, round(values[better] - values[worse], 6))


def scored(candidates: Sequence[Candidate], by: str) -> list[float]:
    """The candidates' values of a score; each has a c_p."""
    shares = [float(candidate.c_p or 0.0) for candidate in candidates]
    numbers = [float(candidate.c_r) for candidate in candidates]
    if by == "c_p":
        return shares
    if by == "c_r":
        return numbers
    standard = zip(_standardized(shares), _standardized(numbers), strict=True)
    return [share + RICHNESS * number for share, number in standard]


def _standardized(values: Sequence[float]) -> list[float]:
    """In standard deviations from the mean; zeros where all are the same."""
    spread = pstdev(values) if len(values) > 1 else 0.0
    middle = fmean(values) if values else 0.0
    return [(value - middle) / spread if spread else 0.0 for value in values]
