"""A world of charts: tables, drawn in several styles, with captions whose truth is known.

`tables` samples what is plotted, `drawing` draws it, `statements` makes true and false statements
about it, `captions` joins them, `readings` gives what a chart reader would get from it.
"""
