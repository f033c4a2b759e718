"""A run over a file: whole or not at all, and resumable at any moment."""
