"""`annotate`: from a run to people, and from people to training data and figures.

cli ─ commands ┬ export ─ draw, units, interfaces, sheets, images        tasks for raters
               ├ importing ─ answers ─ judge ─ figures, training         what they answered
               └ convert ─ training                                      public data sets
text           what the three print
"""
