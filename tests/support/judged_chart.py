"""A caption that the critic of charts judged, and what it read: bars of two years."""

from __future__ import annotations

from revise_captions.charts import Chart, ChartMark, ChartSeries
from revise_captions.critic.charts.critic import ChartReading

BARS = (
    ChartMark("2013", 380, False, 2.0, 1.0, (20, 20, 60, 180)),
    ChartMark("2014", 254, True, 0.5, 0.0, (100, 80, 140, 180)),
)
TITLE = "Cases in <b>Norway</b>"
READING = ChartReading((Chart("bar", TITLE, series=(ChartSeries("", "", BARS),)),), ())
#: Two false claims.
TWICE = "It fell from 500 in 2013 to 202 in 2014."
CAPTION = "In 2014, there were 202 cases."
FIX = {
    "span": [20, 23], "right": "254", "kind": "value", "certain": True, "basis": "the bar",
    "evidence": [{"box": list(BARS[1].box or ()), "label": "2014"}],
}  # fmt: skip
SENTENCE = {
    "span": [0, len(CAPTION)], "label": "nonfactual", "reason": None, "assessable": None,
    "p_factual": 0.05, "share": None, "rationale": "2014 is at 254, not 202.",
    "fixes": [FIX], "rewrite": None,
    "accepted": None, "why": None, "p_after": 0.05, "reason_after": None, "dropped": False,
    "attempts": [],
}  # fmt: skip
