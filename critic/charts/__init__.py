"""The critic of charts: what a chart reader read, a symbolic oracle, and a language model on it."""
