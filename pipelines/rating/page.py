"""A leaderboard as one self-contained HTML page: intervals, rank ranges, pairwise wins."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from markupsafe import Markup

from revise_captions.pages.templating import environment, render_page
from revise_captions.pipelines.rating.examples import BehindScore, BoardEvidence
from revise_captions.pipelines.rating.formats import judged_fewer
from revise_captions.stats.leaderboard import ALPHA
from revise_captions.text.html import difference, visible


@dataclass(frozen=True, slots=True)
class CriterionView:
    """One criterion on the page. `at` places a share on the chart, in percent."""

    name: str
    heading: str
    table: Sequence[Mapping[str, Any]]
    wins: Sequence[Sequence[float]]
    p_values: Sequence[Sequence[float | None]]
    least_p: float
    low: int
    high: int
    at: Callable[[float], float]
    controlled: bool
    corrected: bool
    judged: bool


def page(board: Mapping[str, Any], evidence: BoardEvidence | None = None) -> str:
    """The page of `leaderboard.as_json`, with the sentences behind its scores."""
    evidence = evidence or BoardEvidence()
    criteria = [_view(name, found) for name, found in board["criteria"].items()]
    # the plot is of the overall share, or of the first criterion that people scored
    peoples = board["people"]["criteria"] if board["people"] else {}
    main = "overall" if "overall" in peoples else next(iter(peoples), "")
    values = {
        "board": board,
        "criteria": criteria,
        "alpha": ALPHA,
        "lead": lead(criteria[1].table),
        "judged": any(row["score"] is not None for row in criteria[1].table),
        "examples": [
            (row["captioner"], [_example(one) for one in evidence.worst.get(row["captioner"], ())])
            for row in reversed(criteria[1].table)
        ],
        "places": {row["captioner"]: k for k, row in enumerate(criteria[1].table)},
        "reasons": sum(evidence.unscored.values(), Counter()).most_common(),
        "scatter": scatter(peoples[main]) if main else None,
        "drawn": board["criteria"][main]["heading"] if main else "",
    }
    return render_page(environment(), "board.html.j2", values)


def _example(one: BehindScore) -> tuple[BehindScore, Markup]:
    """A sentence with its text as an edit, where something was accepted in its place."""
    return one, difference(one.text, one.rewrite) if one.rewrite else visible(one.text)


def _view(name: str, found: Mapping[str, Any]) -> CriterionView:
    """One criterion; its chart spans all intervals in steps of five percent."""
    table = found["table"]
    ends = [row[key] for row in table for key in ("low", "high", "score") if row[key] is not None]
    low = int(100 * min(ends, default=0)) // 5 * 5
    high = min(100, -(-int(100 * max(ends, default=1) + 1) // 5) * 5)

    def at(share: float) -> float:
        return round(100 * (100 * share - low) / max(high - low, 1), 2)

    controlled = any(row["length_controlled"] is not None for row in table)
    corrected = any(row.get("corrected") is not None for row in table)
    tests = found["wins"], found["p_values"], found["least_p"]
    shown = (name, found["heading"], table, *tests)
    return CriterionView(*shown, low, high, at, controlled, corrected, judged_fewer(table))


#: Pixels between two names beside the scatter plot.
_LINE = 17


@dataclass(frozen=True, slots=True)
class Scatter:
    """Points of a plot of 600 × 400 with downward y, the y of each name, the ends of the axes."""

    points: Sequence[Mapping[str, Any]]
    x: tuple[float, float]
    y: tuple[float, float]
    height: float


def scatter(found: Mapping[str, Any]) -> Scatter:
    """Human scores against the rater's shares; axes span the data."""
    people = [p["people"] for p in found["points"]]
    rater = [p["rater"] for p in found["points"]]
    ends = [(min(v, default=0.0), max(v, default=1.0)) for v in (people, rater)]

    def at(value: float, axis: int, size: int) -> float:
        low, high = ends[axis]
        return round(30 + (size - 60) * ((value - low) / (high - low) if high > low else 0.5), 1)

    points = [
        {**p, "x": at(p["people"], 0, 600), "y": 400 - at(p["rater"], 1, 400)}
        for p in found["points"]
    ]
    points.sort(key=lambda p: (p["y"], p["x"]))
    line = 0.0
    for point in points:  # names one below the other
        point["name_y"] = line = max(line + _LINE, point["y"])
    # the lowest ones must not sink for the crowd above them: pushed up again from below
    line = max(line, 390.0) + _LINE
    height = line + 20
    for point in reversed(points):
        point["name_y"] = line = min(line - _LINE, point["name_y"])
    return Scatter(points, ends[0], ends[1], height)


def lead(table: Sequence[Mapping[str, Any]]) -> str:
    """One sentence about the first place."""
    known = [row for row in table if row["score"] is not None]
    if not known:
        return "No sentence could be judged, so there is no order."
    first = [row["captioner"] for row in known if row["rank"].split("–")[0] == "1"]
    if len(first) == 1:
        share = f"{100 * known[0]['score']:.1f} %"
        return f"{first[0]} leads: {share} of its sentences are factual, more than of any other’s."
    if len(first) == len(known):
        return "No order can be claimed: none of the differences is more than chance."
    names = f"{', '.join(first[:-1])} and {first[-1]}"
    return f"{names} share the first place: these images do not show which of them is best."
