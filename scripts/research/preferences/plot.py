"""The plot of docs/preferences.md: factuality over units a caption, as SVG without scripts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape

import numpy as np

from revise_captions.stats.bootstrap import Estimate

WIDE, TALL, EDGE, KEY = 640, 400, 56, 190
COLORS = {"c_p": "#1b7f5c", "c_r": "#b3541e", "both": "#3457a6"}
KEYS = (("c_p", "c_p alone"), ("c_r", "c_r alone"), ("both", "c_p + 0.5 c_r"))
NOTES = ("circle: DPO", "square: GRPO", "filled: by the critic", "hollow: by the oracle")


@dataclass(frozen=True, slots=True)
class PlottedPolicy:
    """A policy in the plot: its name, in words too, its units a caption, its factuality."""

    name: str
    label: str
    units: Estimate
    factuality: Estimate


@dataclass(frozen=True, slots=True)
class Axis:
    """From values to places: `low` is at `start`, `high` at `end`."""

    low: float
    high: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return round(self.start + share * (self.end - self.start), 1)

    @classmethod
    def of(cls, estimates: Sequence[Estimate], margin: float, start: float, end: float) -> Axis:
        """An axis that holds all intervals."""
        known = [v for e in estimates for v in (e.value, e.low, e.high) if v is not None]
        return cls(min(known) - margin, max(known) + margin, start, end)


def plotted(policies: Sequence[PlottedPolicy]) -> str:
    """The whole picture."""
    x = Axis.of([one.units for one in policies], 0.2, EDGE, WIDE - KEY)
    y = Axis.of([one.factuality for one in policies], 0.02, TALL - EDGE, EDGE)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDE} {TALL}" '
    parts = [
        f'{head}font-family="sans-serif" font-size="12">',
        f'<rect width="{WIDE}" height="{TALL}" fill="#fff"/>',
        *_grid(x, y),
        *(part for one in policies for part in _policy(one, x, y)),
        *_legend(),
    ]
    return "\n".join([*parts, "</svg>", ""])


def _grid(x: Axis, y: Axis) -> Iterator[str]:
    yield _text(EDGE, 20, "factuality (oracle)")
    yield _text(WIDE - KEY, TALL - 18, "units a caption", "end")
    for tick in np.arange(np.ceil(y.low * 20) / 20, y.high, 0.05):
        yield _line(EDGE, y(tick), WIDE - KEY, y(tick), "#ddd")
        yield _text(EDGE - 8, y(tick) + 4, f"{tick:.2f}", "end")
    for tick in np.arange(np.ceil(x.low), x.high, 1.0):
        yield _line(x(tick), EDGE, x(tick), TALL - EDGE, "#eee")
        yield _text(x(tick), TALL - EDGE + 18, f"{tick:.0f}", "middle")


def _policy(one: PlottedPolicy, x: Axis, y: Axis) -> Iterator[str]:
    method, verifier, score = one.name.split(".") if "." in one.name else (one.name, "", "")
    color = COLORS.get(score, "#222")
    units, share = one.units, one.factuality
    across, down = x(units.value or 0.0), y(share.value or 0.0)
    if share.low is not None and share.high is not None:
        yield _line(across, y(share.low), across, y(share.high), color)
    if units.low is not None and units.high is not None:
        yield _line(x(units.low), down, x(units.high), down, color)
    fill = "#fff" if verifier == "oracle" else color
    tag, place = "circle", f'cx="{across}" cy="{down}" r="5"'
    if method == "grpo":
        tag, place = "rect", f'x="{across - 5}" y="{down - 5}" width="10" height="10"'
    style = f'fill="{fill}" stroke="{color}" stroke-width="2"'
    yield f"<{tag} {place} {style}><title>{escape(one.label)}</title></{tag}>"
    if not score:
        # the captioner's captions are near the teacher's, whose name goes to the other side
        side = (across - 8, down + 18, "before", "end")
        yield _text(*(side if one.name == "sft" else (across + 8, down - 8, one.name)))


def _legend() -> Iterator[str]:
    left = WIDE - KEY + 14
    for number, (score, text) in enumerate(KEYS):
        top = 60 + 22 * number
        yield f'<rect x="{left}" y="{top}" width="12" height="12" fill="{COLORS[score]}"/>'
        yield _text(left + 18, top + 11, text)
    for number, text in enumerate(NOTES):
        yield _text(left, 150 + 20 * number, text)


def _line(x1: float, y1: float, x2: float, y2: float, color: str) -> str:
    return f'<line x1="{x1}" y1="{y1}" x2="{x2}" y2="{y2}" stroke="{color}"/>'


def _text(x: float, y: float, text: str, anchor: str = "start") -> str:
    return f'<text x="{x}" y="{y}" text-anchor="{anchor}">{escape(text)}</text>'
