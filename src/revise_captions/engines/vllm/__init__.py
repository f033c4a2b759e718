"""Models in this process, through vLLM."""
