"""Text: sentence boundaries, sentence embeddings, numbers, Markdown and HTML."""
