"""Statements about a table: true ones, and ones with an error of CHOCOLATE's types.

Each function in `MAKERS` takes a table and the type of error wanted, None for none. It returns a
`ChartStatement`, or None if the table does not lend itself to one. A wrong one differs from its
rewrite only in what is wrong.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass

from revise_captions.chart_world.lexicon import ENTITIES, GROUPS
from revise_captions.chart_world.tables import Table, TableColumn
from revise_captions.chart_world.wording import amount, capitalized, digits, ordinal

#: The least difference of a wrong value from the true one: as a share of the axis, and of itself.
CLEARLY_OF_AXIS, CLEARLY_OF_VALUE = 0.07, 0.09


@dataclass(frozen=True, slots=True)
class ChartStatement:
    """A sentence about a table.

    Attributes:
        text: The sentence.
        error: CHOCOLATE's type of its error; None: it is true.
        rationale: What is wrong, and what the chart shows instead; "" if it is true.
        rewrite: The corrected sentence; "" if only deletion helps; `text` itself if it is true.
        cells: (series, category) indices of the cells that it is about.
    """

    text: str
    error: str | None = None
    rationale: str = ""
    rewrite: str = ""
    cells: tuple[tuple[int, int], ...] = ()


def clearly_apart(a: float, b: float, table: Table) -> bool:
    """Whether two values differ by more than a careful reader's error."""
    return abs(a - b) > max(CLEARLY_OF_AXIS * table.range, CLEARLY_OF_VALUE * abs(b))


def cell_name(table: Table, series: int, category: int) -> str:
    """How a cell is referred to: "France in 2014", "2014", "Men"."""
    column, name = table.columns[series].name, table.categories[category].strip("*")
    if not column:
        return name
    return f"{column} in {name}" if table.temporal else f"{name} ({column})"


def shown(table: Table, series: int, category: int) -> str:
    """What the chart shows for a cell, for rationales."""
    value = digits(table.columns[series].values[category], table.decimals)
    unit = "%" if table.unit == "%" else f" {table.unit}" if table.unit else ""
    return f"{cell_name(table, series, category)} is at {value}{unit}"


def subject_of(table: Table, column: TableColumn) -> str:
    """The noun phrase that a series is about."""
    if not column.name:
        return table.subject
    if table.people is not None:
        people, question = table.people
        return (
            f"the share of {people} answering {column.name!r} on whether {question}"
            if (len(column.name) < 3)
            else f"the share for {column.name}"
        )
    return f"{table.subject} for {column.name}"


def _cell(rng: random.Random, table: Table) -> tuple[int, int]:
    return rng.randrange(len(table.columns)), rng.randrange(len(table.categories))


def _wrong_value(rng: random.Random, table: Table, value: float) -> float | None:
    """A value clearly apart from the true one: another cell's, or a shifted or mistyped one."""
    cells = [v for column in table.columns for v in column.values]
    tries = [rng.choice(cells), value * rng.choice((0.5, 0.7, 0.8, 1.2, 1.3, 1.6, 2, 3)),
             value + rng.choice((-1, 1)) * rng.uniform(0.1, 0.4) * table.range]  # fmt: skip
    rng.shuffle(tries)
    for one in tries:
        said = round(one, table.decimals)
        if said > 0 and clearly_apart(said, value, table) and (table.unit != "%" or said <= 100):
            return said
    return None


def value(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """A cell's value."""
    s, k = _cell(rng, table)
    true = table.columns[s].values[k]
    said_of, said = (s, k), true
    if error == "value":
        wrong = _wrong_value(rng, table, true)
        if wrong is None:
            return None
        said = wrong
    elif error == "label":
        others = [
            (a, b)
            for a, column in enumerate(table.columns)
            for b, v in enumerate(column.values)
            if (a == s or b == k) and clearly_apart(true, v, table)
        ]
        if not others:
            return None
        said_of = rng.choice(others)
    elif error is not None:
        return None
    template, seed = rng.choice(_value_templates(table)), rng.random()
    actual = table.columns[said_of[0]].values[said_of[1]]

    def written(number: float) -> str:
        text = amount(number, table, random.Random(seed))
        column, category = table.columns[said_of[0]], table.categories[said_of[1]].strip("*")
        people, question = table.people or ("", "")
        return capitalized(
            template.format(
                v=text, c=category, n=subject_of(table, column), s=column.name or table.subject,
                p=people, q=question,
            )
        )  # fmt: skip

    if error is None:
        return ChartStatement(written(said), None, "", "", (said_of,))
    said_text = digits(said, table.decimals)
    rationale = f"{shown(table, *said_of)}, not {said_text}."
    return ChartStatement(written(said), error, rationale, written(actual), (said_of,))


def _value_templates(table: Table) -> tuple[str, ...]:
    if table.people and not table.temporal:
        if len(table.columns) > 1:
            return (
                "{v} of those in the group {c} answered “{s}”.",
                "In the group {c}, {v} say {s}.",
                "Among {c}, {v} chose {s} when asked whether {q}.",
                "for {c}, the share of {s} is {v}.",
            )
        return (
            "{v} of {c} say {q}.",
            "among {c}, {v} say {q}.",
            "{c} stands at {v}.",
            "the share of {c} who say {q} is {v}.",
        )
    if table.temporal:
        return (
            "in {c}, {n} was {v}.",
            "{n} amounted to {v} in {c}.",
            "in {c}, {n} stood at {v}.",
            "{n} reached {v} in {c}.",
            "the figure for {s} was {v} in {c}.",
            "in {c}, the chart shows a value of {v} for {s}.",
            "{c} had {v}.",
        )
    return (
        "{c} had {v}.",
        "{n} in {c} was {v}.",
        "{c} recorded {v}.",
        "for {c}, the value is {v}.",
        "{n} for {c} amounted to {v}.",
        "{c} stands at {v}.",
    )


def extreme(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """Which category is highest, second highest or lowest, with or without its value."""
    if error not in (None, "label", "value"):
        return None
    s = rng.randrange(len(table.columns))
    values = table.columns[s].values
    rank = rng.choice((1, 1, 1, 2, 3, -1, -1)) if len(values) > 3 else rng.choice((1, -1))
    order = sorted(range(len(values)), key=lambda k: -values[k])
    true = order[rank - 1] if rank > 0 else order[-1]
    if sum(not clearly_apart(values[k], values[true], table) for k in order) > 2 and error is None:
        return None
    if [round(v, 6) for v in values].count(round(values[true], 6)) > 1:
        return None
    which, number, instead = true, values[true], ""
    if error == "label":
        others = [k for k in order if clearly_apart(values[k], values[true], table)]
        if not others:
            return None
        which = rng.choice(others)
        number = values[rng.choice((which, true))]
        instead = _absent(rng, table) if rng.random() < 0.45 else ""
    elif error == "value":
        wrong = _wrong_value(rng, table, number)
        if wrong is None:
            return None
        number = wrong
    with_value = error == "value" or rng.random() < 0.4
    template, seed = rng.choice(_EXTREMES if not table.temporal else _PEAKS), rng.random()

    def written(category: int, said: float, label: str = "") -> str:
        own = random.Random(seed)
        word = own.choice(_HIGH if rank > 0 else _LOW)
        if rank > 1:
            word = f"{ordinal(rank)} {own.choice(('highest', 'largest'))}"
        text = template.format(
            c=label or table.categories[category].strip("*"), w=word,
            n=subject_of(table, table.columns[s]),
            a=table.category_label.lower(), N=subject_of(table, table.columns[s])[4:],
        )  # fmt: skip
        if with_value:
            joined = own.choice((", with {v}", ", at {v}", " ({v})", ", standing at {v}"))
            text += joined.format(v=amount(said, table, own))
        return capitalized(text) + "."

    if error is None:
        return ChartStatement(written(true, values[true]), None, "", "", ((s, true),))
    first = "highest" if rank > 0 else "lowest"
    place = f"the {ordinal(rank)} highest" if rank > 1 else f"the {first}"
    rationale = f"{shown(table, s, true)} and is {place}"
    rationale += (
        "." if error == "value" else f", not {instead or table.categories[which].strip('*')}."
    )
    return ChartStatement(
        written(which, number, instead), error, rationale, written(true, values[true]), ((s, true),)
    )


def _absent(rng: random.Random, table: Table) -> str:
    """A label of the same sort that the chart does not have."""
    if table.temporal:
        year = str(rng.randint(1980, 2000))
        shown = {category[:4] for category in table.categories}
        return str(min(map(int, shown)) - 7) if year in shown else year
    for names in (*(names for _, names in ENTITIES.values()), *GROUPS):
        own = set(table.categories) & set(names)
        others = [name for name in names if name not in table.categories]
        if own and others:
            return rng.choice(others)
    return rng.choice(rng.choice(list(ENTITIES.values()))[1])


_HIGH = ("highest", "highest", "largest", "most", "greatest", "peak")
_LOW = ("lowest", "lowest", "smallest", "least", "fewest", "minimum")
_EXTREMES = (
    "{c} has the {w} {N}",
    "the {w} value is recorded for {c}",
    "{c} is the {a} with the {w} {N}",
    "with the {w} figure, {c} stands out",
    "the {a} with the {w} {N} was {c}",
    "{c} had the {w} value",
)
_PEAKS = (
    "{n} was at its {w} in {c}",
    "the {w} {N} was recorded in {c}",
    "the {w} point was reached in {c}",
    "{c} was the year with the {w} {N}",
    "the {w} value occurred in {c}",
)


def comparison(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """Which of two cells is greater, by how much, or how many times."""
    if error not in (None, "label", "value", "magnitude"):
        return None
    cells = [_cell(rng, table) for _ in range(12)]
    for (s, a), (_, b) in zip(cells[::2], cells[1::2], strict=True):
        r = s
        if len(table.columns) > 1 and rng.random() < 0.5:
            r, b = rng.choice([x for x in range(len(table.columns)) if x != s]), a
        one, two = table.columns[s].values[a], table.columns[r].values[b]
        if one > two > 0 and clearly_apart(one, two, table):
            return _compared(rng, table, error, ((s, a), (r, b)))
    return None


def _compared(
    rng: random.Random, table: Table, error: str | None, pair: tuple[tuple[int, int], ...]
) -> ChartStatement | None:
    (s, a), (r, b) = pair
    one, two = table.columns[s].values[a], table.columns[r].values[b]
    first, second = (cell_name(table, *cell) for cell in pair)
    truth = f"{shown(table, s, a)} and {shown(table, r, b)}."
    ratio = one / two
    if error in (None, "label") and rng.random() < 0.6:
        template = rng.choice(_MORE)
        right = capitalized(template.format(a=first, b=second, n=table.subject))
        wrong = capitalized(template.format(a=second, b=first, n=table.subject))
        return _either(error, right, wrong, truth, pair)
    if error in (None, "value") and rng.random() < 0.5:
        gap = one - two
        said = _wrong_value(rng, table, gap)
        if error and said is None:
            return None
        template, seed = rng.choice(_BY), rng.random()

        def by(number: float) -> str:
            points = digits(number, table.decimals)
            points += " percentage points" if table.unit == "%" else f" {table.unit}".rstrip()
            return capitalized(template.format(a=first, b=second, d=points))

        del seed
        return _either(
            error,
            by(gap),
            by(said or gap),
            f"The difference is {digits(gap, table.decimals)}: {truth}",
            pair,
        )
    if error == "label":
        return None
    return _times(rng, table, error, pair, ratio, truth)


def _times(
    rng: random.Random, table: Table, error: str | None, pair: tuple[tuple[int, int], ...],
    ratio: float, truth: str,
) -> ChartStatement | None:  # fmt: skip
    first, second = (cell_name(table, *cell) for cell in pair)
    steps = ((1.02, 1.3, "slightly higher than"), (1.35, 1.8, "considerably higher than"),
             (1.9, 2.12, "about twice as high as"), (2.15, 2.7, "more than twice as high as"),
             (2.88, 3.15, "about three times as high as"),
             (3.9, 4.2, "about four times as high as"),
             (3.2, 60, "more than three times as high as"))  # fmt: skip
    fitting = [w for low, high, w in steps if low <= ratio <= high]
    if not fitting:
        return None
    said = right = rng.choice(fitting)
    if error is not None:
        unfit = [w for low, high, w in steps if ratio < low * 0.75 or ratio > high * 1.35]
        if not unfit:
            return None
        said = rng.choice(unfit)
    template = rng.choice(("{a} is {w} {b}.", "the value for {a} is {w} that for {b}."))
    text = [capitalized(template.format(a=first, b=second, w=w)) for w in (right, said)]
    return _either(error, text[0], text[1], truth, pair)


_MORE = (
    "{a} is higher than {b}.",
    "{a} has a higher value than {b}.",
    "the value for {a} exceeds that for {b}.",
    "{b} is lower than {a}.",
    "{b} has less than {a}.",
    "{a} is ahead of {b}.",
)
_BY = (
    "{a} exceeds {b} by {d}.",
    "the difference between {a} and {b} is {d}.",
    "{a} is {d} higher than {b}.",
    "there is a gap of {d} between {a} and {b}.",
)


def _either(
    error: str | None, right: str, wrong: str, truth: str, cells: tuple[tuple[int, int], ...]
) -> ChartStatement:
    """The right sentence, or the wrong one with its rationale."""
    if error is None:
        return ChartStatement(right, None, "", "", cells)
    return ChartStatement(wrong, error, truth, right, cells)


MAKERS: tuple[tuple[Callable[..., ChartStatement | None], float], ...] = (
    (value, 4.0),
    (extreme, 3.0),
    (comparison, 2.0),
)
