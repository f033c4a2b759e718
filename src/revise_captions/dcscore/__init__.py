"""DCScore: a detailed caption scored by its primitive information units (2503.07906).

`units` has the types and the protocols of decomposer, matcher and verifier, `score` the formulas.
"""
