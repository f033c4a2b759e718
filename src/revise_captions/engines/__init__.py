"""Engines continue prompts and score answer words, on transformers, vLLM or an OpenAI server."""
