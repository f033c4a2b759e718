"""Charts by Vega-Lite (`vl-convert-python`), in the style of automatic statistics pages."""

from __future__ import annotations

import io
import random
from typing import Any

from PIL import Image

from revise_captions.chart_world.tables import Table
from revise_captions.chart_world.wording import digits

_COLORS = ("#4c78a8", "#f58518", "#54a24b", "#e45756", "#72b7b2", "#b279a2", "#2f6fde", "#8c564b")


def draw(table: Table, rng: random.Random) -> Image.Image:
    """Draws a table as Vega-Lite does.

    Raises:
        ModuleNotFoundError: vl-convert-python is not installed.
    """
    import vl_convert

    png = vl_convert.vegalite_to_png(specification(table, rng), scale=rng.choice((1.0, 1.5, 2.0)))
    image = Image.open(io.BytesIO(png)).convert("RGBA")
    white = Image.new("RGBA", image.size, "white")
    white.alpha_composite(image)
    return white.convert("RGB")


def specification(table: Table, rng: random.Random) -> dict[str, Any]:
    """The chart in Vega-Lite's grammar."""
    if table.kind == "pie":
        return _pie(table, rng)
    several = len(table.columns) > 1
    rows = [
        {"c": name, "v": value, "s": column.name}
        for column in table.columns
        for name, value in zip(table.categories, column.values, strict=True)
    ]
    mark = {"line": "line", "area": "area"}.get(table.kind, "bar")
    grid = rng.random() < 0.6
    names: dict[str, Any] = {
        "field": "c", "type": "nominal", "sort": None,
        "axis": {"title": table.category_label, "labelAngle": rng.choice((0, -45, -90))},
    }  # fmt: skip
    values: dict[str, Any] = {
        "field": "v", "type": "quantitative", "axis": {"title": table.value_label, "grid": grid},
    }  # fmt: skip
    horizontal = table.kind == "horizontal bar"
    if horizontal:
        names["axis"].pop("labelAngle")
    encoding = {"x": values, "y": names} if horizontal else {"x": names, "y": values}
    if several:
        encoding["color"] = {"field": "s", "type": "nominal", "title": None}
        if table.kind == "grouped bar":
            encoding["yOffset" if horizontal else "xOffset"] = {"field": "s"}
    shape: dict[str, Any] = {"type": mark}
    if not several:
        shape["color"] = rng.choice(_COLORS)
    if mark == "line" and rng.random() < 0.3:
        shape["point"] = True
    step = max(18, 420 // len(table.categories))
    size = {"height": {"step": 22}, "width": rng.randint(240, 420)} if horizontal else {
        "width": min(700, step * len(table.categories)), "height": rng.randint(200, 340),
    }  # fmt: skip
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": rng.choice(("white", "white", "#fbfbfb")),
        "title": {"text": table.title, "anchor": rng.choice(("start", "middle"))},
        "data": {"values": rows},
        "mark": shape,
        "encoding": encoding,
        "config": {"view": {"stroke": rng.choice(("transparent", "#ddd"))}},
        **size,
    }


def _pie(table: Table, rng: random.Random) -> dict[str, Any]:
    """A pie or donut with a legend, and with values at the slices if they are printed."""
    outer = rng.randint(70, 130)
    inner = rng.choice((0, 0, 0.55)) * outer
    values = table.columns[0].values
    rows = [
        {"c": name, "v": value, "k": k, "t": f"{digits(value, table.decimals)}%"}
        for k, (name, value) in enumerate(zip(table.categories, values, strict=True))
    ]
    arc: dict[str, Any] = {"type": "arc", "outerRadius": outer, "innerRadius": inner}
    if rng.random() < 0.4:
        arc["stroke"] = "#fff"
    text = {"type": "text", "radius": outer + 14, "fontSize": 11}
    layers = [{"mark": arc}, {"mark": text, "encoding": {"text": {"field": "t"}}}]
    return {
        "$schema": "https://vega.github.io/schema/vega-lite/v5.json",
        "background": rng.choice(("white", "white", "#fbfbfb")),
        "title": {"text": table.title, "anchor": rng.choice(("start", "middle"))},
        "data": {"values": rows},
        "encoding": {
            "theta": {"field": "v", "type": "quantitative", "stack": True},
            "order": {"field": "k"},
            "color": {
                "field": "c", "type": "nominal", "sort": None,
                "scale": {"range": list(_COLORS)},
                "legend": {"title": None, "orient": rng.choice(("right", "right", "bottom"))},
            },
        },
        "layer": layers if table.printed else layers[:1],
        "config": {"view": {"stroke": "transparent"}},
    }  # fmt: skip
