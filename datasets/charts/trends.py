"""Statements about the trend of a series, and about the chart as a whole."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable, Sequence

from revise_captions.chart_world.lexicon import CONTEXT, ENTITIES, MEASURES, POLLS
from revise_captions.chart_world.statements import (
    MAKERS,
    ChartStatement,
    clearly_apart,
    subject_of,
)
from revise_captions.chart_world.tables import Table
from revise_captions.chart_world.wording import amount, capitalized, cardinal, digits

_UP = ("increased", "rose", "grew", "went up", "has increased", "has been rising", "climbed")
_DOWN = ("decreased", "declined", "fell", "dropped", "has decreased", "has been falling")


def steadiness(values: Sequence[float]) -> float:
    """The net change over the path's length: 1 rises throughout, -1 falls, 0 goes nowhere."""
    path = sum(abs(b - a) for a, b in itertools.pairwise(values))
    return (values[-1] - values[0]) / path if path else 0.0


def trend(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """Whether a series rose or fell between two years, by how much, or how many times."""
    if not table.temporal or error not in (None, "trend", "value", "magnitude"):
        return None
    s = rng.randrange(len(table.columns))
    values, years = table.columns[s].values, [c.strip("*") for c in table.categories]
    i, j = 0, len(values) - 1
    if rng.random() < 0.25 and j > 3:
        i, j = sorted(rng.sample(range(len(values)), 2))
    if not clearly_apart(values[j], values[i], table):
        return None
    up = values[j] > values[i]
    said_up = up if error != "trend" else not up
    name, ends = subject_of(table, table.columns[s]), (values[i], values[j])
    said_ends = ends if said_up == up else ends[::-1]
    manner, right_manner = "", ""
    if error == "magnitude":
        wrong = _wrong_manner(rng, values[i : j + 1], table)
        if wrong is None:
            return None
        manner = wrong
    if error == "value":
        factor = rng.choice((0.6, 0.75, 1.35, 1.6))
        said_ends = (ends[0], round(ends[1] * factor, table.decimals))
        if (said_ends[1] > said_ends[0]) != up or not clearly_apart(said_ends[1], ends[1], table):
            return None
    with_ends = error == "value" or (rng.random() < 0.4 and not manner)
    if not manner and error is None:
        manner = right_manner = _manner(rng, values[i : j + 1], table)
    seed = rng.random()

    def written(rising: bool, pair: tuple[float, float], how: str) -> str:
        own = random.Random(seed)
        verb = own.choice(range(5))
        text = f"{name} {(_UP if rising else _DOWN)[verb]}"
        text += f" {how}" if how else ""
        if with_ends:
            a, b = (amount(v, table, own) for v in pair)
            text += f" from {a} in {years[i]} to {b} in {years[j]}"
        else:
            text += own.choice((" from {} to {}", " between {} and {}")).format(years[i], years[j])
        return capitalized(text) + "."

    wrong_text = written(said_up, (said_ends[0], said_ends[1]), manner)
    right_text = written(up, (ends[0], ends[1]), right_manner)
    if error is None:
        return ChartStatement(right_text, None, "", "", ((s, i), (s, j)))
    numbers = [digits(v, table.decimals) for v in ends]
    rationale = (
        f"It {'rose' if up else 'fell'} from {numbers[0]} in {years[i]} to {numbers[1]} "
        f"in {years[j]}."
    )
    return ChartStatement(wrong_text, error, rationale, right_text, ((s, i), (s, j)))


def _manner(rng: random.Random, values: Sequence[float], table: Table) -> str:
    if rng.random() < 0.4:
        return ""
    change = abs(values[-1] - values[0]) / max(abs(values[0]), 1e-9)
    if abs(steadiness(values)) > 0.97 and rng.random() < 0.6:
        return rng.choice(("steadily", "continuously", "consistently"))
    if change > 0.7:
        return rng.choice(("sharply", "significantly", "strongly", "considerably"))
    if change < 0.15:
        return rng.choice(("slightly", "a little", "somewhat"))
    return ""


def _wrong_manner(rng: random.Random, values: Sequence[float], table: Table) -> str | None:
    change = abs(values[-1] - values[0]) / max(abs(values[0]), 1e-9)
    wrong = []
    if abs(steadiness(values)) < 0.6:
        wrong += ["steadily", "continuously", "without interruption"]
    if change > 0.7:
        wrong += ["slightly", "a little", "marginally"]
    if change < 0.15:
        wrong += ["sharply", "dramatically", "strongly"]
    return rng.choice(wrong) if wrong else None


def turn(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """A rise and a fall, or the reverse, around the series' extreme; or that it fluctuates."""
    if not table.temporal or error not in (None, "trend"):
        return None
    s = rng.randrange(len(table.columns))
    values, years = table.columns[s].values, [c.strip("*") for c in table.categories]
    name = capitalized(subject_of(table, table.columns[s]))
    smooth = abs(steadiness(values))
    top = max(range(len(values)), key=lambda k: values[k])
    low = min(range(len(values)), key=lambda k: values[k])
    for at, rising in ((top, True), (low, False)):
        inside = 0 < at < len(values) - 1
        if inside and all(clearly_apart(values[e], values[at], table) for e in (0, -1)):
            pair = ("rose", "fell") if rising else ("fell", "rose")
            template = "{n} {a} until {y} and then {b}."
            right = template.format(n=name, a=pair[0], b=pair[1], y=years[at])
            wrong = template.format(n=name, a=pair[1], b=pair[0], y=years[at])
            truth = f"It {pair[0]} until {years[at]} and {pair[1]} after that."
            return (
                ChartStatement(right)
                if error is None
                else ChartStatement(wrong, error, truth, right)
            )
    wavy, steady = (f"{name} {w} over the years." for w in ("fluctuated", "remained fairly stable"))
    spread = (max(values) - min(values)) / max(max(values), 1e-9)
    if smooth < 0.4 and spread > 0.12 and error is None:
        return ChartStatement(wavy)
    if spread < 0.08 and error is None:
        return ChartStatement(steady)
    if smooth > 0.9 and spread > 0.3 and error == "trend":
        truth = f"It went from {digits(values[0], table.decimals)} to "
        truth += f"{digits(values[-1], table.decimals)}."
        rising = values[-1] > values[0]
        right = f"{name} {'increased' if rising else 'decreased'} over the years."
        return ChartStatement(steady, error, truth, right)
    return None


def overview(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """What the chart shows: its subject, place, time, axes, or how many categories it has."""
    if error not in (None, "label"):
        return None
    first, last = (table.categories[k].strip("*") for k in (0, -1))
    shown, wrong = table.subject, table.subject
    if error is not None:
        shift = rng.choice((-10, -5, 3, 5))
        if table.temporal and first[:4].isdigit() and rng.random() < 0.6:
            wrong_years = str(int(first[:4]) + shift), str(int(last[:4]) + shift)
        else:
            wrong = _other_subject(rng, table)
            wrong_years = first, last
    else:
        wrong_years = first, last
    chart = rng.choice(("chart", "graph", "table", "data", "statistic"))
    verb = rng.choice(("shows", "illustrates", "presents", "depicts", "displays"))
    span = " from {} to {}" if table.temporal else ""
    texts = []
    for subject, years in ((shown, (first, last)), (wrong, wrong_years)):
        texts.append(f"The {chart} {verb} {subject}" + span.format(*years) + ".")
    truth = f"The chart is about {table.subject}" + span.format(first, last) + "."
    if error is not None and texts[0] == texts[1]:
        return None
    return (
        ChartStatement(texts[0])
        if error is None
        else ChartStatement(texts[1], error, truth, texts[0])
    )


def _other_subject(rng: random.Random, table: Table) -> str:
    for _, names in ENTITIES.values():
        for name in names:
            if table.subject.endswith(f" in {name}"):
                other = rng.choice([n for n in names if n != name])
                return table.subject.removesuffix(name) + other
    poll = rng.choice(POLLS)
    return f"the share of {poll.people} who say {poll.question}"


def count(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """How many categories there are, the range, or the bound that all values keep."""
    if error not in (None, "value"):
        return None
    values = [v for column in table.columns for v in column.values]
    if rng.random() < 0.5:
        n = len(table.categories)
        wrong = max(2, n + rng.choice((-3, -2, 2, 3)))
        if error and wrong == n:
            return None
        kind = "years" if table.temporal else rng.choice(("categories", "groups", "entries"))
        texts = [f"The chart compares {cardinal(k)} {kind}." for k in (n, wrong)]
        return _pick(error, texts, f"There are {cardinal(n)} {kind}.")
    low, high = min(values), max(values)
    factor = rng.choice((0.6, 1.5, 2.0))
    if not clearly_apart(high * factor, high, table):
        return None
    texts = [
        f"Values range from {digits(low, table.decimals)} to {digits(top, table.decimals)}."
        for top in (high, high * factor)
    ]
    return _pick(error, texts, f"The greatest value is {digits(high, table.decimals)}.")


def _pick(error: str | None, texts: Sequence[str], truth: str) -> ChartStatement:
    return (
        ChartStatement(texts[0])
        if error is None
        else ChartStatement(texts[1], error, truth, texts[0])
    )


def remark(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """A remark that the chart does not support, or a harmless one about its layout."""
    if error == "ooc":
        draw = rng.random()
        if draw < 0.35:
            text = rng.choice(CONTEXT)
        elif draw < 0.75:
            text = _borrowed(rng, table)
        else:
            names = rng.choice(list(ENTITIES.values()))[1]
            name = rng.choice([n for n in names if n not in table.categories] or ["Atlantis"])
            number = amount(rng.uniform(5, 95), table, rng)
            template = rng.choice((
                "{n} had {v}.", "In {n}, the figure was {v}.", "By comparison, {n} stood at {v}.",
                "{n} comes next, with {v}.", "That compares with {v} in {n}.",
            ))  # fmt: skip
            text = capitalized(template.format(n=name, v=number))
        return ChartStatement(text, error, "The chart does not say this.", "")
    if error == "nonsense":
        return _nonsense(rng, table)
    if error is not None:
        return None
    label, unit = table.value_label, table.unit or "absolute numbers"
    lines = [f"The values are given in {unit}."]
    if not table.people and table.kind != "pie":
        lines.append(f"One axis shows {label[0].lower() + label[1:]}.")
    if table.source:
        lines.append(f"The data come from the {table.source[8:].split(',')[0]}.")
    if table.temporal:
        lines.append("The horizontal axis shows the years.")
    return ChartStatement(rng.choice(lines))


def _borrowed(rng: random.Random, table: Table) -> str:
    """A number of the chart in a statement about something else."""
    said = amount(rng.choice(rng.choice(table.columns).values), table, rng)
    if table.unit == "%" or rng.random() < 0.4:
        poll = rng.choice(POLLS)
        people = rng.choice((poll.people, "Americans", "those surveyed", "the public"))
        template = rng.choice((
            "{v} of {p} now say {q}.", "{v} say {q}, according to the survey.",
            "About {v} of {p} said {q} in the previous survey.", "Among {p}, {v} say {q}.",
        ))  # fmt: skip
        return capitalized(template.format(v=said, p=people, q=poll.question))
    measure, place = rng.choice(MEASURES).name, rng.choice(ENTITIES["countries"][1])
    template = rng.choice(("the {m} in {p} was {v}.", "{v} was the {m} of {p}.",
                           "as of this year, {p} had a {m} of {v}."))  # fmt: skip
    return capitalized(template.format(m=measure, p=place, v=said))


def _nonsense(rng: random.Random, table: Table) -> ChartStatement:
    """Garbled text as weak captioners write it: repeated, spliced, or letters lost."""
    base = None
    while base is None:
        base = rng.choice(MAKERS)[0](rng, table, None)
    words = base.text.split()
    style = rng.randrange(7)
    if style == 0:
        at = rng.randrange(len(words))
        run = words[at : at + rng.randint(1, 3)]
        words[at:at] = run * rng.randint(2, 6)
    elif style == 1:
        rng.shuffle(words)
    elif style == 2:
        words = [w[: rng.randint(1, len(w))] if rng.random() < 0.3 else w for w in words]
        words = [w for w in words if rng.random() < 0.85] or words
    elif style == 3:
        labels = [*table.categories, *(c.name for c in table.columns if c.name)]
        numbers = [digits(v, table.decimals) for c in table.columns for v in c.values]
        mixed = rng.sample(labels, min(3, len(labels))) + rng.sample(numbers, min(3, len(numbers)))
        rng.shuffle(mixed)
        words = [*mixed, *words[: len(words) // 2]]
    elif style == 4:
        return ChartStatement(_fragment(rng, words), "nonsense", "The sentence makes no sense.")
    else:
        other = rng.choice(CONTEXT).rstrip(".").split()
        words = words[: len(words) // 2] + other[len(other) // 2 :] + words[-2:]
    return ChartStatement(
        " ".join(words).rstrip(".") + ".", "nonsense", "The sentence makes no sense."
    )


def _fragment(rng: random.Random, words: Sequence[str]) -> str:
    """A truncated sentence: cut off at a list's number, or in the middle."""
    if rng.random() < 0.4:
        return f"{rng.randint(1, 6)}."
    return " ".join(words[: rng.randint(2, max(2, len(words) - 2))]).rstrip(".,")


EVERY_MAKER: tuple[tuple[Callable[..., ChartStatement | None], float], ...] = (
    *MAKERS,
    (trend, 3.0),
    (turn, 1.5),
    (overview, 1.6),
    (count, 0.7),
    (remark, 1.0),
)
