"""What a sentence claims about a chart, decided from the chart's reading.

`check_sentence` finds claims of values, extremes, trends and comparisons, and decides each within a
stated tolerance. It is the oracle of the world of charts, and a critic of its own on real ones.
"""

from revise_captions.charts.claims.check import ChartCheck, ChartClaim, ClaimOutcome, Tolerance
from revise_captions.charts.claims.sentence import check_sentence

__all__ = ["ChartCheck", "ChartClaim", "ClaimOutcome", "Tolerance", "check_sentence"]
