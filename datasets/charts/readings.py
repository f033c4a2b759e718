"""What a chart reader would get from a table's chart: text and values, with reading errors."""

from __future__ import annotations

import random
from dataclasses import replace

from revise_captions.chart_world.tables import Table
from revise_captions.charts.chart import Chart, ChartAxis, ChartMark, ChartSeries, number

_KINDS = {"grouped bar": "bar", "text table": "table", "stacked bar": "stacked bar",
          "vertical bar": "bar", "horizontal bar": "bar"}  # fmt: skip
_SLIPS = (("l", "I"), ("O", "0"), ("rn", "m"), ("S", "5"), (" ", ""), ("i", "l"), (",", "."))


def exact_reading(table: Table) -> Chart:
    """The chart as a reader without errors reads it."""
    series = tuple(
        ChartSeries(
            column.name,
            "",
            tuple(
                ChartMark(
                    name,
                    value,
                    table.printed,
                    tolerance=_tolerance(table),
                    pixels=float(not table.printed),
                )
                for name, value in zip(table.categories, column.values, strict=True)
            ),
        )
        for column in table.columns
    )
    horizontal = table.kind == "horizontal bar"
    values = ChartAxis(table.value_label, "%" if table.unit == "%" else "", ())
    names = ChartAxis(table.category_label, "", table.categories)
    return Chart(
        _KINDS.get(table.kind, table.kind),
        "\n".join(part for part in (table.title, table.subtitle) if part),
        *((values, names) if horizontal else (names, values)),
        series,
        (),
        table.source,
        horizontal=horizontal,
    )


def _tolerance(table: Table) -> float:
    return 0.5 * 10.0**-table.decimals if table.printed else 0.006 * table.range


def text_of_chart(chart: Chart, rng: random.Random) -> list[tuple[str, str]]:
    """The lines of text in a drawn chart, each with the text beside it.

    Args:
        chart: From `exact_reading`, as OCR makes almost no errors.
        rng: Decides what is beside a number, as layouts differ.
    """
    lines = [(text, text) for text in (chart.title, chart.source, chart.x.label, chart.y.label)]
    for one in chart.series:
        if one.name:
            lines.append((one.name, one.name))
        for mark in one.marks:
            lines.append((mark.category, mark.category))
            if mark.printed and mark.value is not None:
                shown = number(mark.value)
                beside = [mark.category] * (rng.random() < 0.9) + [one.name] * (rng.random() < 0.6)
                lines.append((shown, " ".join([shown, *beside])))
    return [line for line in lines if line[0]]


def noisy_reading(table: Table, rng: random.Random) -> Chart:
    """The chart as the real reader would read it: with gaps, slips and measured values.

    Some marks are missing or unread, values are off by a few pixels and occasionally wrong, letters
    are misread, and texts are left out. The severity varies from chart to chart.
    """
    chart = exact_reading(table)
    badness = rng.choice((0.0, 0.0, 0.3, 1.0, 2.5))
    series = tuple(
        replace(
            one,
            name=_slipped(one.name, rng, badness),
            marks=tuple(
                _noisy_mark(mark, rng, badness, table)
                for mark in one.marks
                if rng.random() > 0.03 * badness
            ),
        )
        for one in chart.series
    )
    if len(series) > 1 and rng.random() < 0.06 * badness:
        series = series[:-1]
    draw = rng.random()
    return replace(
        chart,
        title=_slipped(chart.title, rng, badness) if draw > 0.05 * badness else "",
        x=replace(chart.x, label=chart.x.label if rng.random() > 0.1 * badness else ""),
        y=replace(chart.y, label=chart.y.label if rng.random() > 0.1 * badness else ""),
        series=series,
        source=chart.source if rng.random() > 0.15 * badness else "",
    )


def _noisy_mark(mark: ChartMark, rng: random.Random, badness: float, table: Table) -> ChartMark:
    assert mark.value is not None
    if rng.random() < 0.02 * badness:
        return replace(mark, value=None)
    value = mark.value
    if rng.random() < 0.015 * badness:
        value = rng.choice([v for column in table.columns for v in column.values])
    if not mark.printed:
        value += rng.gauss(0, mark.tolerance * rng.choice((0.3, 0.8)))
    return replace(mark, category=_slipped(mark.category, rng, badness), value=value)


def _slipped(text: str, rng: random.Random, badness: float) -> str:
    """The text, occasionally with a misread letter."""
    if rng.random() > 0.04 * badness:
        return text
    old, new = rng.choice(_SLIPS)
    return text.replace(old, new, 1)
