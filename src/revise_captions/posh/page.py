"""POSH scores as one self-contained HTML page: means with intervals, and pairs, worst first."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from revise_captions.graphs.grading.judge import MOST, PRESENT
from revise_captions.pages.templating import environment, render_page
from revise_captions.posh.corpus import CRITERIA, mean, row_of_json
from revise_captions.posh.display import WEAK
from revise_captions.runs.score_file import FileScores
from revise_captions.stats.means import Mean
from revise_captions.text.marked import as_html

_TEMPLATES = Path(__file__).parent / "templates"
#: Bins of the overall score, and how many of each bin's worst pairs are shown.
BINS, SHOWN = 10, 30
_MEANING = {
    "mistakes": "1: everything in the generation is in the reference",
    "omissions": "1: everything in the reference is in the generation",
    "overall": "harmonic mean of the two",
}
_TITLES = {"wrong": "not in the other text", "weak": "hardly in the other text"}


@dataclass(slots=True)
class ScoreBin:
    """The pairs of one bin `[low, high)`; None, None for those without a score."""

    low: float | None
    high: float | None
    count: int = 0
    kept: list[tuple[float, int, Mapping[str, Any]]] = field(default_factory=list)

    def add(self, view: Mapping[str, Any]) -> None:
        """Counts a pair, and keeps it if it is among the worst."""
        self.count += 1
        ranked = (-(view["overall"] or 0.0), -self.count, view)
        if len(self.kept) < SHOWN:
            heapq.heappush(self.kept, ranked)
        else:
            heapq.heappushpop(self.kept, ranked)

    def pairs(self) -> list[Mapping[str, Any]]:
        """The pairs kept, worst first, with their texts marked."""
        return [_marked_up(view) for *_, view in sorted(self.kept, reverse=True)]


class PoshPage:
    """The page for a file's pairs: their means, and some pairs of each score.

    Args:
        title: What was scored.
    """

    mark = " · POSH</title>"

    def __init__(self, title: str) -> None:
        self.title = title
        self.bins = [ScoreBin(k / BINS, (k + 1) / BINS) for k in range(BINS)]
        self.unscored = ScoreBin(None, None)
        self.reasons: Counter[str] = Counter()

    def add(self, view: Mapping[str, Any]) -> None:
        """Adds a pair, as returned by `view_of`."""
        overall = view["overall"]
        where = self.unscored if overall is None else self.bins[min(int(BINS * overall), BINS - 1)]
        where.add(view)
        for text in view["texts"]:
            self.reasons.update(
                part["unscored"] for part in text["components"] if part["grade"] is None
            )

    def render(self, found: FileScores) -> str:
        """See `ScorePage`."""
        rows = [row_of_json(row) for row in found.kept]
        top = max(one.count for one in self.bins)
        values = {
            "title": self.title,
            "signature": found.signature,
            "pairs": len(rows),
            "means": [(name, _MEANING[name], _share(mean(rows, name))) for name in CRITERIA],
            "unscored": self.unscored,
            "reasons": self.reasons.most_common(),
            "bars": [_bar(k, one, top) for k, one in enumerate(self.bins) if top],
            "bins": [one for one in (*self.bins, self.unscored) if one.count],
            "present": PRESENT,
            "weak": WEAK,
            "most": MOST,
            "shown": SHOWN,
        }
        return render_page(environment(_TEMPLATES), "posh.html.j2", values)


def _share(found: Mean) -> dict[str, Any]:
    names = ("value", "low", "high", "rows", "unscored")
    return {name: getattr(found, name) for name in names}


def _bar(place: int, found: ScoreBin, top: int) -> dict[str, Any]:
    """A bar in a plot of 480 × 140; square-root heights keep small counts visible beside large."""
    height = 140 * (found.count / top) ** 0.5
    x, y = 480 / BINS * place + 1, 140 - height
    shown = {"x": round(x, 1), "y": round(y, 1), "width": 480 / BINS - 2}
    return shown | {"height": round(height, 1), "bin": found}


def _marked_up(view: Mapping[str, Any]) -> Mapping[str, Any]:
    return {
        **view,
        "texts": [{**text, "marked": as_html(text["pieces"], _TITLES)} for text in view["texts"]],
    }
