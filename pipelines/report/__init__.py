"""What a run tells its user: the summary, the table, the report.

summary        an addable tally over the output's rows ─ headline
sample         the records that are shown
page           the report, one HTML file of `templates` ─ charts
terminal       the table at the end
results        all of them, when a run has finished
"""
