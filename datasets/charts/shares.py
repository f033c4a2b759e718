"""Statements about the slices of a pie: what they make up, alone and together."""

from __future__ import annotations

import random

from revise_captions.chart_world.statements import ChartStatement, clearly_apart
from revise_captions.chart_world.tables import Table
from revise_captions.chart_world.wording import capitalized, cardinal

_TOGETHER = (
    "{a} and {b} together make up {v}% of the total.",
    "together, {a} and {b} account for {v} percent.",
    "{a} and {b} combined come to {v}%.",
)
_LARGEST = (
    "the largest slice is {c}, with {v}%.",
    "{c} makes up the largest share, at {v}%.",
    "with {v}%, {c} has the biggest slice.",
)
#: Shares in words, with the percentages that they stand for.
_PART = (
    ("more than half", 52, 95), ("nearly half", 45, 49.4), ("about a third", 32, 35),
    ("about a quarter", 24, 26), ("more than a quarter", 28, 31), ("about a tenth", 9, 11),
)  # fmt: skip


def shares(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """A sum of two slices, the largest slice, a share in words, or the number of slices."""
    makers = {"value": (_sum, _parts), "label": (_largest,), "magnitude": (_part,)}
    every = (_sum, _parts, _largest, _part)
    if error is not None and error not in makers:
        return None
    return rng.choice(makers[error] if error else every)(rng, table, error is not None)


def _either(error: str, wrong: bool, texts: tuple[str, str], truth: str) -> ChartStatement:
    right, false = (capitalized(text) for text in texts)
    return ChartStatement(false, error, truth, right) if wrong else ChartStatement(right)


def _sum(rng: random.Random, table: Table, wrong: bool) -> ChartStatement | None:
    values = table.columns[0].values
    a, b = rng.sample(range(len(values)), 2)
    total = values[a] + values[b]
    said = rng.choice((total - 16, total + 14, values[a], total * 0.5))
    if not clearly_apart(said, total, table) or not 0 < said < 100:
        return None
    first, second = table.categories[a], table.categories[b]
    template = rng.choice(_TOGETHER)
    texts = (
        template.format(a=first, b=second, v=f"{total:.0f}"),
        template.format(a=first, b=second, v=f"{said:.0f}"),
    )
    truth = f"{first} and {second} together are at {total:.0f}%, not {said:.0f}%."
    return _either("value", wrong, texts, truth)


def _parts(rng: random.Random, table: Table, wrong: bool) -> ChartStatement | None:
    count = len(table.categories)
    said = count + rng.choice((-2, 2, 3)) if count > 3 else count + 2
    kind = rng.choice(("slices", "segments", "categories"))
    texts = tuple(f"the chart is divided into {cardinal(n)} {kind}." for n in (count, said))
    truth = f"There are {cardinal(count)} {kind}."
    return _either("value", wrong, (texts[0], texts[1]), truth)


def _largest(rng: random.Random, table: Table, wrong: bool) -> ChartStatement | None:
    values = table.columns[0].values
    order = sorted(range(len(values)), key=lambda k: -values[k])
    if not clearly_apart(values[order[1]], values[order[0]], table):
        return None
    template, other = rng.choice(_LARGEST), rng.choice(order[1:])
    texts = [
        template.format(c=table.categories[k], v=f"{values[k]:.0f}") for k in (order[0], other)
    ]
    largest = table.categories[order[0]]
    truth = f"{largest} is at {values[order[0]]:.0f}% and is the highest."
    return _either("label", wrong, (texts[0], texts[1]), truth)


def _part(rng: random.Random, table: Table, wrong: bool) -> ChartStatement | None:
    """A slice's share in words."""
    cells = list(zip(table.categories, table.columns[0].values, strict=True))
    fitting = [(c, v, w) for c, v in cells for w, low, high in _PART if low <= v <= high]
    if not fitting:
        return None
    name, value, right = rng.choice(fitting)
    unfit = [w for w, low, high in _PART if value < 0.7 * low or value > 1.4 * high]
    if not unfit:
        return None
    template = rng.choice(("{c} accounts for {w} of the total.", "{c} makes up {w} of the pie."))
    texts = (template.format(c=name, w=right), template.format(c=name, w=rng.choice(unfit)))
    return _either("magnitude", wrong, texts, f"{name} is at {value:.0f}%.")
