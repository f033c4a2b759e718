"""Readers of published files: each turns one benchmark's files into the rows of `types`."""
