"""Decomposers and verifiers of units, by name."""
