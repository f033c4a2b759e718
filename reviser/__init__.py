"""Revisers: a wrong sentence and its rationale in, a rewrite out, checked by `guards`.

`protocol` says what a reviser is and `load` finds one by name.
"""
