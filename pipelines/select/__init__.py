"""Choosing records of a run by what it found of them."""
