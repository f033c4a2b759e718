"""A run over a file: all or nothing, and resumable at any moment."""
