"""`evaluate-metric`: any rater or metric against what people said.

cli ─ evaluate ┬ scores ─ baselines, similarity, number_floors     what a metric says; floors
               ├ levels, spans, systems, people                    where people said something
               └ figures                                           statistic, interval, test
"""
