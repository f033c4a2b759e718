"""POSH scores as one self-contained HTML page: means with intervals, and pairs, worst first."""

from __future__ import annotations

import heapq
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from markupsafe import Markup

from revise_captions.graphs.grading.judge import MOST, PRESENT
from revise_captions.pages.templating import environment, render_page
from revise_captions.posh.corpus import CRITERIA, PairStatistics, mean, row_of
from revise_captions.posh.display import WEAK, pieces, state_of, texts
from revise_captions.posh.scoring import Graded, Score
from revise_captions.stats.means import Mean
from revise_captions.text.html import visible

_TEMPLATES = Path(__file__).parent / "templates"
#: Bins of the overall score, and the pairs of each that are shown: the worst of it.
BINS, SHOWN = 10, 30
_MEANING = {
    "mistakes": "1: everything in the generation is in the reference",
    "omissions": "1: everything in the reference is in the generation",
    "overall": "harmonic mean of the two",
}
_TITLES = {"wrong": "not in the other text", "weak": "hardly in the other text"}


@dataclass(frozen=True, slots=True)
class TextView:
    """One text of a pair, marked, with its components: kind, phrase, state, grade or reason."""

    title: str
    marked: Markup
    components: Sequence[tuple[str, str, str, str]]


@dataclass(frozen=True, slots=True)
class PairView:
    """One pair on the page."""

    name: str
    scores: Sequence[tuple[str, float | None]]
    texts: Sequence[TextView]


@dataclass(slots=True)
class ScoreBin:
    """The pairs of one bin `[low, high)`; None, None for those without a score."""

    low: float | None
    high: float | None
    count: int = 0
    kept: list[tuple[float, int, str, Score]] = field(default_factory=list)

    def add(self, name: str, score: Score) -> None:
        """Counts a pair, and keeps it if it is among the worst."""
        self.count += 1
        ranked = (-(score.overall or 0.0), -self.count, name, score)
        if len(self.kept) < SHOWN:
            heapq.heappush(self.kept, ranked)
        else:
            heapq.heappushpop(self.kept, ranked)

    def pairs(self) -> list[PairView]:
        """Those that are kept, worst first."""
        return [_pair(name, score) for *_, name, score in sorted(self.kept, reverse=True)]


def render(scores: Iterable[tuple[str, Score]], title: str, signature: str) -> str:
    """The page of scored pairs, which are named by the strings. Keeps some pairs of each score."""
    bins = [ScoreBin(k / BINS, (k + 1) / BINS) for k in range(BINS)]
    unscored = ScoreBin(None, None)
    rows: list[PairStatistics] = []
    reasons: Counter[str] = Counter()
    for name, score in scores:
        rows.append(row_of(score, name))
        overall = score.overall
        where = unscored if overall is None else bins[min(int(BINS * overall), BINS - 1)]
        where.add(name, score)
        for graded in (score.generation, *score.references):
            reasons.update(grade.unscored for grade in graded.grades if grade.score is None)
    top = max((found.count for found in bins), default=0)
    values = {
        "title": title,
        "signature": signature,
        "pairs": len(rows),
        "means": [(name, _MEANING[name], _share(mean(rows, name))) for name in CRITERIA],
        "unscored": unscored,
        "reasons": reasons.most_common(),
        "bars": [_bar(k, found, top) for k, found in enumerate(bins) if top],
        "bins": [found for found in (*bins, unscored) if found.count],
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
    """A bar in a plot of 480 × 140; heights by the square root, so that few are seen by many."""
    height = 140 * (found.count / top) ** 0.5
    x, y = 480 / BINS * place + 1, 140 - height
    shown = {"x": round(x, 1), "y": round(y, 1), "width": 480 / BINS - 2}
    return shown | {"height": round(height, 1), "bin": found}


def _pair(name: str, score: Score) -> PairView:
    values = [score.mistakes.score, score.omissions.score, score.overall]
    shown = [_text(title, graded) for title, graded in texts(score)]
    return PairView(name, list(zip(CRITERIA, values, strict=True)), shown)


def _text(title: str, graded: Graded) -> TextView:
    marked = Markup("").join(
        Markup('<mark class="{}" title="{}">{}</mark>').format(state, _TITLES[state], visible(text))
        if state
        else visible(text)
        for state, text in pieces(graded)
    )
    components = [
        (
            str(part.part),
            part.phrase(graded.graph),
            state_of(grade.score),
            grade.unscored if grade.score is None else f"{grade.score:.2f}",
        )
        for part, grade in zip(graded.parts, graded.grades, strict=True)
    ]
    return TextView(title, marked, components)
