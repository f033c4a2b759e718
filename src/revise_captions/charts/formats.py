"""Charts as text for a language model, as CSV, and as JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from revise_captions.charts.chart import Chart, ChartAxis, ChartMark, ChartSeries, number
from revise_captions.outside_text import csv_name

CSV_HEADER = ("image", "chart", "kind", "series", "category", "value", "printed", "tolerance")


def as_text(chart: Chart) -> str:
    """A compact reading for a prompt: kind and title, axes, one line a series, notes.

    Measured values stand behind `~`, values that could not be read are `?`.
    """
    shape = f"horizontal {chart.kind}" if chart.horizontal else chart.kind
    lines = [f"{shape}: {chart.title}".rstrip(": ")]
    lines += [
        f"{name}: {_axis(axis)}" for name, axis in (("x", chart.x), ("y", chart.y)) if _axis(axis)
    ]
    lines += series_lines(chart)
    lines += [f"note: {note}" for note in chart.notes]
    lines += [f"source: {chart.source}"] if chart.source else []
    lines += [f"not read: {reason}" for reason in chart.unread]
    return "\n".join(lines)


def series_lines(chart: Chart) -> list[str]:
    """A line per series: its name, and a value by each category."""
    values = ["; ".join(f"{m.category}: {_value(m)}" for m in one.marks) for one in chart.series]
    return [f"{one.name} | {v}".lstrip() for one, v in zip(chart.series, values, strict=True)]


def _axis(axis: ChartAxis) -> str:
    unit = f"({axis.unit})" if axis.unit else ""
    return " ".join(part for part in (axis.label, unit) if part)


def _value(mark: ChartMark) -> str:
    text = number(mark.value, mark.tolerance)
    return text if mark.printed or mark.value is None else f"~{text}"


def table_rows(chart: Chart) -> list[tuple[str, ...]]:
    """A row per category, with its name and a cell per series, as people read tables."""
    categories = dict.fromkeys(mark.category for one in chart.series for mark in one.marks)
    return [
        (
            category,
            *(
                ", ".join(_value(mark) for mark in one.marks if mark.category == category)
                for one in chart.series
            ),
        )
        for category in categories
    ]


def csv_rows(image: str, charts: Sequence[Chart]) -> list[tuple[str, ...]]:
    """A row per mark, in the order of `CSV_HEADER`; charts are counted from 1. Names are written
    as `csv_name` does it: what an image shows may be anybody's."""
    return [
        (
            *(csv_name(image), str(k), chart.kind),
            *(csv_name(series.name), csv_name(mark.category)),
            "" if mark.value is None else number(mark.value, mark.tolerance),
            "yes" if mark.printed else "no",
            number(mark.tolerance, mark.tolerance / 10),
        )
        for k, chart in enumerate(charts, start=1)
        for series in chart.series
        for mark in series.marks
    ]


def csv_line(row: Sequence[str]) -> str:
    """A row as a line of CSV, without the line's end."""
    text = io.StringIO()
    csv.writer(text, lineterminator="").writerow(row)
    return text.getvalue()


def as_csv(readings: Mapping[str, Sequence[Chart]]) -> str:
    """The charts of several images, by the image's name, as one table."""
    rows = [row for image, charts in readings.items() for row in csv_rows(image, charts)]
    return "".join(f"{csv_line(row)}\n" for row in (CSV_HEADER, *rows))


def as_json(chart: Chart) -> dict[str, Any]:
    """Plain types with the fields of `Chart`; `from_json` reads them back."""
    return asdict(chart)


def from_json(row: Mapping[str, Any]) -> Chart:
    """The chart that `as_json` wrote."""
    series = tuple(
        ChartSeries(
            one["name"],
            one["color"],
            tuple(
                ChartMark(**{**mark, "box": tuple(mark["box"]) if mark["box"] else None})
                for mark in one["marks"]
            ),
        )
        for one in row["series"]
    )
    return Chart(
        **{
            **row,
            "series": series,
            "x": _axis_from(row["x"]),
            "y": _axis_from(row["y"]),
            "notes": tuple(row["notes"]),
            "box": tuple(row["box"]),
            "unread": tuple(row["unread"]),
        }
    )


def _axis_from(row: Mapping[str, Any]) -> ChartAxis:
    scale = tuple(row["scale"]) if row["scale"] else None
    return ChartAxis(row["label"], row["unit"], tuple(row["ticks"]), scale)
