"""Geometry of the report's charts, as numbers; templates draw them as SVG."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from revise_captions.pipelines.output.outcomes import End, Step
from revise_captions.records import Why

WIDTH, NODE, GAP, MIN_NODE = 960, 12, 16, 3
_COLUMN_X = (0, 360, 740)
_FLOW_HEIGHT = 260
#: Characters per line of a label, which fit between two columns beside a count of millions; and the
#: height of a line.
_LINE_LENGTH, _LINE = 40, 17


@dataclass(frozen=True, slots=True)
class FlowBar:
    """A bar of the flow. `tone` is "good", "bad", "unsure" or "gone"; `lines`: of its label."""

    name: str
    lines: Sequence[str]
    count: int
    tone: str
    x: float
    y: float
    height: float

    @property
    def label_y(self) -> float:
        """The middle of the first line."""
        return self.y + self.height / 2 - (len(self.lines) - 1) * _LINE / 2


@dataclass(frozen=True, slots=True)
class Ribbon:
    """A stream between two nodes, as the `d` of an SVG path."""

    path: str
    tone: str
    count: int
    title: str


@dataclass(frozen=True, slots=True)
class Flow:
    """`nodes` left to right; `height` in the units of `WIDTH`."""

    nodes: Sequence[FlowBar]
    ribbons: Sequence[Ribbon]
    height: float


_END_TONE = {
    End.FACTUAL: "good",
    End.GONE: "gone",
    End.FLAGGED: "bad",
    End.UNSCORED: "unsure",
    End.DECIDED: "good",
}
_STEP_TONE = {str(Step.ACCEPTED): "good", str(Step.DELETED): "gone"}


def step_label(step: str) -> str:
    """A step of the summary's `flow` as a label."""
    own = step in list(Step) or step == Why.NO_REWRITE
    return step if own else f"refused: {step}"


def flow(items: Sequence[Mapping[str, Any]]) -> Flow | None:
    """Flagged → what was done → how it ended, from the summary's `flow`; None without any."""
    total = sum(item["sentences"] for item in items)
    if total == 0:
        return None
    steps: Counter[str] = Counter()
    ends: Counter[str] = Counter()
    for item in items:
        steps[item["step"]] += item["sentences"]
        ends[item["end"]] += item["sentences"]
    step_order = sorted(steps, key=lambda s: (s != Step.ACCEPTED, s != Step.DELETED, -steps[s], s))
    end_order = [str(end) for end in End if ends[end]]
    scale = _FLOW_HEIGHT / total
    columns = [
        _stack([("flagged", total, "bad")], 0, scale),
        _stack([(s, steps[s], _STEP_TONE.get(s, "bad")) for s in step_order], 1, scale),
        _stack([(e, ends[e], _END_TONE[End(e)]) for e in end_order], 2, scale),
    ]
    height = max(column[-1].y + column[-1].height for column in columns)
    columns = [_centred(column, height) for column in columns]
    found = {(n, node.name): node for n, column in enumerate(columns) for node in column}
    links = [(0, "flagged", s, steps[s]) for s in step_order]
    by_pair = {(item["step"], item["end"]): item["sentences"] for item in items}
    links += [(1, s, e, by_pair.get((s, e), 0)) for s in step_order for e in end_order]
    ribbons = _ribbons([link for link in links if link[3]], found)
    return Flow([node for column in columns for node in column], ribbons, round(height, 1))


def _stack(parts: Sequence[tuple[str, int, str]], column: int, scale: float) -> list[FlowBar]:
    nodes, y = [], 0.0
    for name, count, tone in parts:
        height = max(count * scale, MIN_NODE)
        lines = textwrap.wrap(step_label(name) if column == 1 else name, _LINE_LENGTH)
        # A label needs its lines even if the node is thin.
        room = max(height, _LINE * max(2, len(lines)) if column else 0)
        top = y + (room - height) / 2
        nodes.append(FlowBar(name, lines, count, tone, _COLUMN_X[column], top, height))
        y += room + GAP
    return nodes


def _centred(nodes: list[FlowBar], height: float) -> list[FlowBar]:
    used = nodes[-1].y + nodes[-1].height
    shift = (height - used) / 2
    return [replace(n, y=round(n.y + shift, 1), height=round(n.height, 1)) for n in nodes]


def _ribbons(
    links: Sequence[tuple[int, str, str, int]], nodes: Mapping[tuple[int, str], FlowBar]
) -> list[Ribbon]:
    leaving: dict[tuple[int, str], float] = {}
    entering: dict[tuple[int, str], float] = {}
    ribbons = []
    for column, source, target, count in links:
        a, b = nodes[column, source], nodes[column + 1, target]
        thick_a, thick_b = a.height * count / a.count, b.height * count / b.count
        y0 = a.y + leaving.get((column, source), 0.0)
        y1 = b.y + entering.get((column, target), 0.0)
        leaving[column, source] = leaving.get((column, source), 0.0) + thick_a
        entering[column, target] = entering.get((column, target), 0.0) + thick_b
        x0, x1 = a.x + NODE, b.x
        mid = (x0 + x1) / 2
        path = (
            f"M{x0},{y0:.1f}C{mid},{y0:.1f} {mid},{y1:.1f} {x1},{y1:.1f}"
            f"V{y1 + thick_b:.1f}C{mid},{y1 + thick_b:.1f} {mid},{y0 + thick_a:.1f} "
            f"{x0},{y0 + thick_a:.1f}Z"
        )
        ribbons.append(Ribbon(path, b.tone, count, f"{source} → {target}: {count:,}"))
    return ribbons


@dataclass(frozen=True, slots=True)
class Bar:
    """One bin `[low, high)` with its count, in a plot of 480 × 140 with downward y."""

    x: float
    y: float
    width: float
    height: float
    low: float
    high: float
    count: int
    flagged: bool


def histogram(counts: Sequence[int], top: int, threshold: float) -> list[Bar]:
    """Bars whose heights follow the square root of counts, so that small ones stay visible.

    `top` is the count that fills the plot. A bin that contains the threshold counts as factual.
    """
    bars = []
    width = 480 / len(counts)
    for index, count in enumerate(counts):
        height = 140 * (count / top) ** 0.5 if top else 0.0
        low, high = index / len(counts), (index + 1) / len(counts)
        bars.append(
            Bar(
                round(index * width + 1, 1),
                round(140 - height, 1),
                round(width - 2, 1),
                round(height, 1),
                round(low, 2),
                round(high, 2),
                count,
                high <= threshold + 1e-9,
            )
        )
    return bars


@dataclass(frozen=True, slots=True)
class LimitPlot:
    """How many records each limit keeps: step lines in a plot of 480 × 140 with downward y.

    Attributes:
        name: What is limited.
        sign: ">=" or "<=".
        last: The limit at the right edge.
        curves: The `d` of an SVG path by column of `captions select`.
        stops: Some limits, with x and, by column, how many records satisfy them.
    """

    name: str
    sign: str
    last: float
    curves: Mapping[str, str]
    stops: Sequence[tuple[float, float, Mapping[str, int]]]


#: What is limited, and its columns: for the original captions (if any), and for the revised ones.
_LIMITS = (
    ("Share of factual sentences", "factual_before", "factual_after"),
    ("Least P(factual) of a sentence", "worst_before", "worst_after"),
    ("Flagged sentences", "flagged", "still_flagged"),
    ("Sentences without a verdict", "unscored", "unscored_after"),
    ("Sentences removed", "removed"),
    ("Characters", "length"),
)
_STOPS = 20


def limit_plots(limits: Mapping[str, Any]) -> list[LimitPlot]:
    """Plots of the summary's `limits`, except those in which no limit excludes anything."""
    records, plots = limits["records"], []
    for name, *columns in _LIMITS:
        kept = {column: dict(limits["columns"][column]["kept"]) for column in columns}
        if all(count == records for counts in kept.values() for count in counts.values()):
            continue
        sign = limits["columns"][columns[0]]["sign"]
        at = max(kept.values(), key=len)  # the last upper limit is the first that keeps everything
        every = {
            c: {limit: counts.get(limit, records) for limit in at} for c, counts in kept.items()
        }
        last = max(at)
        curves = {c: _steps(counts, sign, 480 / last, records) for c, counts in every.items()}
        stops = [
            (round(480 * limit / last, 1), limit, {c: every[c][limit] for c in columns})
            for limit in list(at)[:: max(1, len(at) // _STOPS)]
        ]
        plots.append(LimitPlot(name, sign, last, curves, stops))
    return plots


def _steps(kept: Mapping[float, int], sign: str, unit: float, records: int) -> str:
    """Between two stops, a lower limit keeps what the next does, an upper one what the last did."""
    points = [(limit * unit, 140 - 140 * count / records) for limit, count in kept.items()]
    form = "V{1:.1f}H{0:.1f}" if sign == ">=" else "H{0:.1f}V{1:.1f}"
    return "M{:.1f},{:.1f}".format(*points[0]) + "".join(
        form.format(*point) for point in points[1:]
    )
