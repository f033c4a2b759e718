"""Labels that stand beside their tick marks: moved inward at the ends of an axis, or slanted."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from PIL import Image

pytest.importorskip("rapidocr")
pytest.importorskip("vl_convert")

from revise_captions.charts import read

VALUES = {"Vienna": 90, "Bern": 61, "Prague": 33, "Oslo": 12}
PLAIN = {"ticks": False, "grid": False}
#: Of the longest bar: a pixel and a half in 300.
OFF = 0.005


def bars(values: dict[str, float], scale: float, upright: bool = False, **axis: Any) -> np.ndarray:
    """Bars as Vega-Lite draws them."""
    import vl_convert

    along = {"field": "v", "type": "quantitative", "axis": {"title": "Share", **axis}}
    across = {"field": "c", "type": "nominal", "sort": None}
    across["axis"] = {"title": "City", **({"labelAngle": 0} if upright else {})}
    x, y, sizes = along, across, ("width", "height")
    if upright:
        x, y, sizes = across, along, ("height", "width")
    png = vl_convert.vegalite_to_png(
        {
            "background": "white",
            "data": {"values": [{"c": name, "v": value} for name, value in values.items()]},
            "mark": "bar",
            "encoding": {"x": x, "y": y},
            sizes[0]: 300,
            sizes[1]: {"step": 60 if upright else 22},
        },
        scale=scale,
    )
    return np.asarray(Image.open(io.BytesIO(png)).convert("RGB"))


@pytest.mark.parametrize(
    ("factor", "scale", "axis"),
    [
        (1, 1.0, {}),
        (1, 2.0, {"grid": False}),
        (1, 2.0, PLAIN),
        (50, 1.5, {}),
        (20000, 1.5, {"tickCount": 4}),
        (0.01, 2.0, {"tickCount": 5}),
        (1.1, 2.0, {"tickCount": 3, "grid": False}),
    ],
)
def test_bars_are_as_long_as_vega_lite_drew_them(factor, scale, axis):
    """By tick marks, grid lines, or, without either, by the labels between the ends."""
    values = {
        "Vienna": 90 * factor,
        "Bern": 61 * factor,
        "Prague": 33 * factor,
        "Oslo": 12 * factor,
    }
    (chart,) = read(bars(values, scale, **axis))
    found = {mark.category: mark.value for one in chart.series for mark in one.marks}
    assert found == pytest.approx(values, abs=OFF * 90 * factor)


def test_labels_that_are_centered_stay_where_they_are():
    """No mark and no grid line says so, but the others' steps."""
    (chart,) = read(bars(VALUES, 2.0, **PLAIN, labelFlush=False))
    found = {mark.category: mark.value for one in chart.series for mark in one.marks}
    assert found == pytest.approx(VALUES, abs=OFF * 90)


@pytest.mark.parametrize("angle", [-30, -60, 45])
def test_slanted_labels_stand_at_their_marks(angle):
    (chart,) = read(bars(VALUES, 2.0, upright=True, grid=False, labelAngle=angle))
    found = {mark.category: mark.value for one in chart.series for mark in one.marks}
    assert found == pytest.approx(VALUES, abs=OFF * 90)
