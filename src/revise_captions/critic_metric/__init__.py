"""A critic as a metric: the mean P(factual) of a text's sentences."""
