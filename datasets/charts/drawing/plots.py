"""Charts by matplotlib."""

from __future__ import annotations

import io
import math
import random
import textwrap
from typing import Any

from PIL import Image

from revise_captions.chart_world.tables import Table
from revise_captions.chart_world.wording import digits

_PALETTES = (
    ("#1f77b4", "#ff7f0e", "#2ca02c", "#d62728", "#9467bd", "#8c564b"),
    ("#264653", "#2a9d8f", "#e9c46a", "#f4a261", "#e76f51", "#6d597a"),
    ("#3b5b92", "#93a8ac", "#d8a47f", "#ef8354", "#4f5d75", "#2d3142"),
)


def draw(table: Table, rng: random.Random) -> Image.Image:
    """Draws a table with matplotlib.

    Raises:
        ModuleNotFoundError: matplotlib is not installed.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    colors = rng.choice(_PALETTES)
    count = len(table.categories)
    if table.kind == "text table":
        return _image_of(_text_table(table, rng, colors))
    horizontal = table.kind == "horizontal bar"
    height = max(3.2, 0.32 * count * len(table.columns) + 1.6) if horizontal else 4.0
    figure = Figure(figsize=(6.4, min(height, 9)), dpi=rng.choice((90, 110)))
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    title = table.title if not table.subtitle else f"{table.title}\n{table.subtitle}"
    axes.set_title(title, fontsize=10, loc=rng.choice(("left", "center")), wrap=True)
    if table.kind == "pie":
        _pie(axes, table, colors, rng)
    else:
        {"line": _lines, "area": _lines}.get(table.kind, _bars)(axes, table, colors)
        name_axis, value_axis = (axes.yaxis, axes.xaxis) if horizontal else (axes.xaxis, axes.yaxis)
        name_axis.set_label_text(table.category_label)
        value_axis.set_label_text(table.value_label)
        if rng.random() < 0.5:
            value_axis.grid(True, alpha=0.4)
        if not horizontal and (count > 7 or max(map(len, table.categories)) > 7):
            axes.tick_params(axis="x", labelrotation=90 if count > 12 else 45)
        if rng.random() < 0.6:
            axes.spines[["top", "right"]].set_visible(False)
    if len(table.columns) > 1 and table.kind != "pie":
        axes.legend(fontsize=8)
    if table.source:
        figure.text(0.02, 0.01, table.source, fontsize=7, color="#555")
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    return _image_of(figure)


def _image_of(figure: Any) -> Image.Image:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png")
    return Image.open(buffer).convert("RGB")


def _text_table(table: Table, rng: random.Random, colors: tuple[str, ...]) -> Any:
    """A figure with a table of text: ruled, striped, or bare."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    rows = len(table.categories) + 1.7
    figure = Figure(figsize=(6.4, 0.28 * rows + 1.2), dpi=rng.choice((90, 110)))
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0.03, 0.1, 0.94, 0.9 - 0.5 / (0.28 * rows + 1.2)))
    width = 66 // (len(table.columns) + 1)
    axes.set_axis_off()
    figure.text(0.03, 0.97, table.title, fontsize=11, weight="bold", va="top")
    if table.source:
        figure.text(0.03, 0.02, table.source, fontsize=7, color="#555")
    style = rng.choice(("ruled", "striped", "bare"))
    heads = [table.category_label, *(one.name or table.value_label for one in table.columns)]
    cells = [
        [name, *(digits(one.values[k], table.decimals) for one in table.columns)]
        for k, name in enumerate(table.categories)
    ]
    drawn = axes.table(
        [[textwrap.fill(head, width) for head in heads], *cells],
        loc="upper left", cellLoc=rng.choice(("center", "right")),
        edges="closed" if style == "ruled" else "open" if style == "bare" else "",
    )  # fmt: skip
    drawn.auto_set_font_size(False)
    drawn.set_fontsize(9)
    for (row, _), cell in drawn.get_celld().items():
        cell.set_height((1 if row else 1.7) / rows)
        if style == "striped":
            cell.visible_edges = "closed"
            cell.set_edgecolor("none")
            cell.set_facecolor(colors[0] if row == 0 else "#eeeeee" if row % 2 else "white")
            cell.set_text_props(color="white" if row == 0 else "black")
    return figure


def _lines(axes: Any, table: Table, colors: tuple[str, ...]) -> None:
    places = range(len(table.categories))
    for column, color in zip(table.columns, colors, strict=False):
        axes.plot(places, column.values, color=color, label=column.name, marker=".")
        if table.kind == "area":
            axes.fill_between(places, column.values, color=color, alpha=0.4)
        if table.printed:
            for x, y in zip(places, column.values, strict=True):
                axes.annotate(
                    digits(y, table.decimals), (x, y), fontsize=7, ha="center", va="bottom"
                )
    axes.set_xticks(list(places), table.categories)
    axes.set_ylim(bottom=0)


def _bars(axes: Any, table: Table, colors: tuple[str, ...]) -> None:
    count, several = len(table.categories), len(table.columns)
    stacked, horizontal = table.kind == "stacked bar", table.kind == "horizontal bar"
    width = 0.8 if stacked else 0.8 / several
    below = [0.0] * count
    for k, (column, color) in enumerate(zip(table.columns, colors, strict=False)):
        shift = 0.0 if stacked else (k - (several - 1) / 2) * width
        places = [place + shift for place in range(count)]
        if horizontal:
            bars = axes.barh(places, column.values, width, color=color, label=column.name)
        else:
            bars = axes.bar(places, column.values, width, below if stacked else 0, color=color,
                            label=column.name)  # fmt: skip
        if stacked:
            below = [a + b for a, b in zip(below, column.values, strict=True)]
        if table.printed:
            texts = [digits(v, table.decimals) for v in column.values]
            axes.bar_label(bars, texts, fontsize=7, label_type="center" if stacked else "edge")
    if horizontal:
        axes.set_yticks(range(count), table.categories)
        axes.invert_yaxis()
    else:
        axes.set_xticks(range(count), table.categories)


def _pie(axes: Any, table: Table, colors: tuple[str, ...], rng: random.Random) -> None:
    """A pie or donut, its names beside the slices or in a legend."""
    values = table.columns[0].values
    texts = [f"{digits(v, table.decimals)}%" if table.printed else "" for v in values]
    thick = rng.choice((1.0, 1.0, 0.4))
    named = rng.random() < 0.6
    wedges, *_ = axes.pie(
        values, labels=table.categories if named else None, colors=colors, counterclock=False,
        startangle=rng.choice((90, 0, 90, 140)),
        wedgeprops={"width": thick, "edgecolor": rng.choice(("white", "none"))},
    )  # fmt: skip
    if not named:
        axes.legend(
            wedges, table.categories, fontsize=8, loc="center left", bbox_to_anchor=(1, 0.5)
        )
    for wedge, text, value in zip(wedges, texts, values, strict=True):
        angle = math.radians((wedge.theta1 + wedge.theta2) / 2)
        away = 1.12 if value < 5 and not named else 1 - thick / 2 if thick < 1 else 0.65
        axes.text(
            away * math.cos(angle), away * math.sin(angle), text, ha="center", va="center",
            fontsize=9, color="black" if away > 1 else "white",
        )  # fmt: skip
