"""`score-dcscore`: DCScore over a file, and DeCapBench with it.

`run` is the whole path from a file of captions to a file of scores; the metric itself is
`revise_captions.dcscore`.
"""
