"""Draws tables as charts, in three styles: Vega-Lite, matplotlib, and printed infographics."""

from __future__ import annotations

import random

from PIL import Image

from revise_captions.chart_world.tables import Table

STYLES = ("vega", "matplotlib", "infographic")


def draw_table(table: Table, rng: random.Random, style: str = "") -> Image.Image:
    """Draws a table.

    Args:
        table: What to draw.
        rng: Decides the renderer and its options.
        style: `vega`, `matplotlib` or `infographic`; "": one of those that draw the table's kind.

    Returns:
        An RGB image.

    Raises:
        ValueError: There is no such style.
    """
    style = style or rng.choice(styles_of(table))
    if style == "vega":
        from revise_captions.chart_world.drawing.vega import draw
    elif style == "matplotlib":
        from revise_captions.chart_world.drawing.plots import draw
    elif style == "infographic":
        from revise_captions.chart_world.drawing.infographic import draw
    else:
        raise ValueError(f"no style {style!r}, expected one of {STYLES}")
    return draw(table, rng)


def styles_of(table: Table) -> list[str]:
    """The styles that draw tables of this kind, with frequent ones repeated."""
    if table.kind == "text table":
        return ["matplotlib", "infographic"]
    if table.kind == "pie":
        return ["matplotlib", "infographic", "vega"]
    single = ("vertical bar", "horizontal bar", "line", "area")
    both = ["matplotlib", "infographic"]
    return [*both, "vega", "vega"] if len(table.columns) == 1 and table.kind in single else both
