"""`captions evaluate-metric`: metrics and raters against human annotations.

cli ─ evaluate ┬ scores ─ baselines, number_floors     a metric's scores; floors
               ├ levels, spans, systems, preferences, agreement    one module per kind of annotation
               └ estimates                                         value, interval, paired test

To add a metric that is computed here, add a floor to `scores.floor`; to add a level, write a
function that returns `estimates.Figure`s and call it in `evaluate`.
"""
