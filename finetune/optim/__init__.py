"""Optimizers, and training in several processes."""
