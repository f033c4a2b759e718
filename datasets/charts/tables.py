"""What a chart plots: a table of numbers, with its titles and labels."""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace

from revise_captions.chart_world.lexicon import ENTITIES, GROUPS, MEASURES, POLLS, SOURCES, Measure

#: Kinds of chart, with the weight at which they are drawn.
TIME_KINDS = (("line", 5), ("area", 2), ("vertical bar", 4))
ENTITY_KINDS = (("vertical bar", 3), ("horizontal bar", 5), ("pie", 0.7), ("text table", 0.4))
GROUP_KINDS = (("grouped bar", 4), ("stacked bar", 3), ("text table", 0.8))


@dataclass(frozen=True, slots=True)
class TableColumn:
    """A series: its name ("" if there is only one) and a value for each category."""

    name: str
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Table:
    """A table and how it is titled.

    Attributes:
        kind: The kind of chart that shows it.
        title: Its title.
        subtitle: The line below the title; "" if there is none.
        subject: A noun phrase for what is measured: "the unemployment rate in France".
        value_label: Label of the axis of values.
        category_label: Label of the axis of categories.
        unit: What follows a value; "%" without a space.
        decimals: Decimal places of values.
        categories: Names of its rows, in order.
        columns: Its series.
        temporal: Whether the categories are points in time.
        printed: Whether values are printed at the marks.
        people: For a poll, who was asked, and the clause that they agree with.
        source: The line at the foot.
    """

    kind: str
    title: str
    subtitle: str
    subject: str
    value_label: str
    category_label: str
    unit: str
    decimals: int
    categories: tuple[str, ...]
    columns: tuple[TableColumn, ...]
    temporal: bool
    printed: bool
    people: tuple[str, str] | None = None
    source: str = ""

    @property
    def range(self) -> float:
        """The length of the axis of values, from 0."""
        top = max(max(column.values) for column in self.columns)
        return top - min(0.0, min(min(column.values) for column in self.columns))


def sample_table(rng: random.Random) -> Table:
    """Draws a table: a measure over years or by entities, or a poll."""
    draw = rng.random()
    if draw < 0.30:
        table = _over_time(rng)
    elif draw < 0.55:
        table = _by_entity(rng)
    elif draw < 0.65:
        table = _several_over_time(rng)
    else:
        table = _poll(rng)
    return table


def _chosen(rng: random.Random, kinds: tuple[tuple[str, float], ...]) -> str:
    return rng.choices([k for k, _ in kinds], [w for _, w in kinds])[0]


def _rounded(value: float, decimals: int) -> float:
    return round(value, decimals) if decimals else float(round(value))


def _years(rng: random.Random) -> tuple[str, ...]:
    step = rng.choice((1, 1, 1, 1, 2, 5))
    count = rng.randint(4, 20 if step == 1 else 9)
    last = rng.randint(2005, 2022)
    style = rng.random()
    years = [last - step * (count - 1 - k) for k in range(count)]
    if style < 0.08:
        return tuple(f"{y}/{(y + 1) % 100:02d}" for y in years)
    return tuple(
        f"{y}{'*' if style > 0.93 and k == count - 1 else ''}" for k, y in enumerate(years)
    )


def _curve(rng: random.Random, measure: Measure, count: int) -> tuple[float, ...]:
    """A walk with a trend, sometimes with a turn, within the measure's magnitudes."""
    level = math.exp(rng.uniform(math.log(measure.low), math.log(measure.high)))
    growth = rng.choice((0, 0.7, -0.6, 0.3, -0.3, 1.4, 0.1)) / count
    turn = rng.randrange(1, count) if rng.random() < 0.35 else count
    noise = rng.choice((0.004, 0.02, 0.06, 0.15))
    values, slope = [], growth
    for k in range(count):
        if k == turn:
            slope = -slope * rng.uniform(0.5, 1.5)
        level *= 1 + slope + rng.gauss(0, noise)
        level = min(max(level, measure.low * 0.5), measure.high * 1.5)
        if measure.unit == "%":
            level = min(level, 99.0 if measure.high < 100 else level)
        values.append(_rounded(level, measure.decimals))
    return tuple(values)


def _place(rng: random.Random) -> str:
    list_ = rng.choice(("countries", "countries", "cities", "states", "regions"))
    return rng.choice(ENTITIES[list_][1])


def _labels(rng: random.Random, measure: Measure) -> str:
    name = measure.name[0].upper() + measure.name[1:]
    if measure.unit == "%":
        return rng.choice((name, "Percent", f"{name} (%)", "Share of respondents"))
    return f"{name} in {measure.unit}" if measure.unit else name


def _over_time(rng: random.Random) -> Table:
    measure, years = rng.choice(MEASURES), _years(rng)
    place = _place(rng)
    name = measure.name[0].upper() + measure.name[1:]
    return Table(
        kind=_chosen(rng, TIME_KINDS),
        title=f"{name} in {place} from {years[0]} to {years[-1]}",
        subtitle=f"(in {measure.unit})" if measure.unit and rng.random() < 0.5 else "",
        subject=f"the {measure.name} in {place}",
        value_label=_labels(rng, measure),
        category_label="Year",
        unit=measure.unit,
        decimals=measure.decimals,
        categories=years,
        columns=(TableColumn("", _curve(rng, measure, len(years))),),
        temporal=True,
        printed=rng.random() < 0.3,
    )


def _by_entity(rng: random.Random) -> Table:
    measure = rng.choice([m for m in MEASURES if m.entities])
    singular, names = ENTITIES[rng.choice(measure.entities)]
    count = rng.randint(3, min(14, len(names)))
    decay = rng.uniform(0.02, 0.3)
    top = math.exp(rng.uniform(math.log(measure.low * 2), math.log(measure.high)))
    raw = [top * math.exp(-decay * k) * rng.uniform(0.93, 1.07) for k in range(count)]
    if rng.random() < 0.7:
        raw.sort(reverse=True)
    else:
        rng.shuffle(raw)
    values = tuple(_rounded(v, measure.decimals) for v in raw)
    year = rng.randint(2004, 2022)
    kind = _chosen(rng, ENTITY_KINDS)
    chosen, unit, decimals = rng.sample(names, count), measure.unit, measure.decimals
    name = measure.name[0].upper() + measure.name[1:]
    if kind == "pie":
        values, unit, decimals = _shares(rng, min(count, 6)), "%", 0
        chosen = chosen[: len(values)]
        name = f"Distribution of the {measure.name}"
    table = Table(
        kind=kind,
        title=f"{name} by {singular} in {year}",
        subtitle="",
        subject=f"the {measure.name}",
        value_label=_labels(rng, measure),
        category_label=singular.capitalize(),
        unit=unit,
        decimals=decimals,
        categories=tuple(chosen),
        columns=(TableColumn("", values),),
        temporal=False,
        printed=rng.random() < (0.7 if kind == "pie" else 0.4) or kind == "text table",
    )
    return replace(table, value_label="Share in percent") if kind == "pie" else table


def _several_over_time(rng: random.Random) -> Table:
    measure = rng.choice([m for m in MEASURES if m.entities])
    _, names = ENTITIES[rng.choice(measure.entities)]
    years = _years(rng)
    count = rng.randint(2, 4)
    name = measure.name[0].upper() + measure.name[1:]
    return Table(
        kind=rng.choice(("line", "line", "line", "grouped bar")),
        title=f"{name}, {years[0]} to {years[-1]}",
        subtitle=f"In {measure.unit}" if measure.unit else "",
        subject=f"the {measure.name}",
        value_label=_labels(rng, measure),
        category_label="Year",
        unit=measure.unit,
        decimals=measure.decimals,
        categories=years,
        columns=tuple(
            TableColumn(n, _curve(rng, measure, len(years))) for n in rng.sample(names, count)
        ),
        temporal=True,
        printed=rng.random() < 0.25,
    )


def _shares(rng: random.Random, count: int) -> tuple[float, ...]:
    """Whole percentages that sum to 100, give or take rounding."""
    raw = [rng.gammavariate(1.6, 1) + 0.08 for _ in range(count)]
    return tuple(float(max(1, round(100 * r / sum(raw)))) for r in raw)


def _poll(rng: random.Random) -> Table:
    poll = rng.choice(POLLS)
    years = _years(rng)
    style = rng.random()
    groups = rng.choice(GROUPS)
    if style < 0.3:  # one answer, by group
        kind, temporal, categories = "horizontal bar", False, ("Total", *groups)
        columns: tuple[TableColumn, ...] = (
            TableColumn("", tuple(float(rng.randint(8, 90)) for _ in categories)),
        )
    elif style < 0.55:  # all answers, by group
        kind, temporal, categories = _chosen(rng, GROUP_KINDS), False, ("Total", *groups)
        rows = [_shares(rng, len(poll.answers)) for _ in categories]
        columns = tuple(
            TableColumn(a, tuple(row[k] for row in rows)) for k, a in enumerate(poll.answers)
        )
    elif style < 0.7:  # all answers, of everybody
        kind, temporal, categories = rng.choice(("pie", "vertical bar")), False, poll.answers
        columns = (TableColumn("", _shares(rng, len(categories))),)
    else:
        kind, temporal, categories = "line", True, years
        names = rng.choice((poll.answers[:2], groups[:4]))
        one = Measure("", "%", 8, 80)
        columns = tuple(TableColumn(n, _curve(rng, one, len(years))) for n in names)
    source = rng.choice(SOURCES)
    return Table(
        kind=kind,
        title=poll.title if rng.random() < 0.6 else f"{poll.title}, {years[-1]}",
        subtitle=f"% of {poll.people} who say {poll.question}",
        subject=f"the share of {poll.people} who say {poll.question}",
        value_label="%",
        category_label="Year" if temporal else "Group",
        unit="%",
        decimals=0,
        categories=tuple(categories),
        columns=columns,
        temporal=temporal,
        printed=not temporal or rng.random() < 0.5,
        people=(poll.people, poll.question),
        source=f"Source: {source}, survey conducted {rng.choice(('Jan', 'May', 'Sept'))}. "
        f"{rng.randint(1, 28)}, {years[-1].strip('*')[:4]}.",
    )
