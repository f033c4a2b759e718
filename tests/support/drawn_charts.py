"""Text as the OCR would read it in a drawn chart, and what is read of the chart."""

from __future__ import annotations

from revise_captions.charts import Chart
from revise_captions.charts.ocr import TextLine, TextWord


def words(text: str, left: int, middle: int, size: int = 20) -> TextLine:
    """A line of text whose letters are as wide as half their height."""
    step, parts, x = size // 2, [], left
    for part in text.split():
        box = (x, middle - size // 2, x + step * len(part), middle + size // 2)
        parts.append(TextWord(part, box))
        x = box[2] + step
    box = (left, middle - size // 2, parts[-1].box[2], middle + size // 2)
    return TextLine(text, box, 0.99, 0.0, float(size), tuple(parts))


def table(chart: Chart) -> dict[str, dict[str, float | None]]:
    return {one.name: {m.category: m.value for m in one.marks} for one in chart.series}
