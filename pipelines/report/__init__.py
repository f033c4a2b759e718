"""What a run shows the user: figures, table, report.

results ┬ summary ─ headline                     the figures: a tally over the output's rows
        ├ sample                                 the records that the report shows
        ├ page ─ panels ─ charts, cards          the report; `templates/` has the HTML
        └ terminal                               the table at the end
"""
