"""Text: sentence boundaries, tokens, sentence embeddings, numbers, Markdown and HTML."""
