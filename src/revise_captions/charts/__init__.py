"""Reads charts: what is drawn in an image, as tables with where each value comes from."""

from revise_captions.charts.chart import Chart, ChartAxis, ChartMark, ChartSeries
from revise_captions.charts.formats import as_csv, as_json, as_text, from_json
from revise_captions.charts.read import read

__all__ = [
    "Chart",
    "ChartAxis",
    "ChartMark",
    "ChartSeries",
    "as_csv",
    "as_json",
    "as_text",
    "from_json",
    "read",
]
