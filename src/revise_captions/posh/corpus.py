"""Scores of many pairs: means with intervals, from stored statistics.

A pair's row holds its score's sufficient statistics (`PairStatistics`), sums and counts, so that a
corpus score needs no judge again. It is the mean over pairs, as in POSH's tables; pairs without a
score are left out and counted. Intervals are over groups (images): all pairs of one image are
resampled together.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from revise_captions.io.checked_json import checked_row
from revise_captions.posh.scoring import Score, Side, harmonic
from revise_captions.stats.bootstrap import REPLICATES
from revise_captions.stats.means import Mean, mean_over

CRITERIA = ("mistakes", "omissions", "overall")


@dataclass(frozen=True, slots=True)
class PairStatistics:
    """One pair's sufficient statistics. `group` names the unit that is resampled: the image."""

    group: str
    mistakes: Side
    omissions: Side

    def value(self, criterion: str) -> float | None:
        if criterion == "overall":
            return harmonic(self.mistakes.score, self.omissions.score)
        return self.mistakes.score if criterion == "mistakes" else self.omissions.score

    def as_json(self) -> dict[str, object]:
        """The form that `row_of_json` reads back."""
        sides = {
            name: {"total": round(s.total, 6), "scored": s.scored, "unscored": s.unscored}
            for name, s in (("mistakes", self.mistakes), ("omissions", self.omissions))
        }
        return {"group": self.group, **sides}


def row_of(score: Score, group: str) -> PairStatistics:
    return PairStatistics(group, score.mistakes, score.omissions)


def row_of_json(found: Mapping[str, Any]) -> PairStatistics:
    return checked_row(PairStatistics, found, "no statistics of a pair")


def mean(rows: Sequence[PairStatistics], criterion: str, *, replicates: int = REPLICATES) -> Mean:
    """The corpus score by one criterion: the mean over pairs, as in POSH's tables.

    Args:
        rows: One per pair.
        criterion: One of `CRITERIA`.
        replicates: Bootstrap resamples.
    """
    return mean_over(
        [row.value(criterion) for row in rows], [row.group for row in rows], replicates
    )
