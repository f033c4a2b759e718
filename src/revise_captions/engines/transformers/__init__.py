"""Models in this process, through transformers."""
