"""A world of charts: tables, drawn in several styles, with captions whose truth is known.

`tables` samples what is plotted, `drawing` draws it, `statements` says true and false things about
it, `captions` joins them, `readings` is what a chart reader would get from it.
"""
