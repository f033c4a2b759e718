"""Models on servers that speak OpenAI's chat protocol."""
