"""`captions stress-metric`: ten checks that any metric of image descriptions should survive.

    items       descriptions of a benchmark, with context, references and ratings
    checks      the ten checks, each a pure function of items and a seed
    scores      a metric's scores of the originals and of every changed item
    summary     shares lower, same, higher; correlations; the verdict
    page        the same as HTML

(ContextRef, Kreiss et al. 2024.)
"""
