"""Pies and donuts: discs found, cut into slices by color, and named."""
