"""Bars: found, arranged in rows, measured, and told apart as series."""
