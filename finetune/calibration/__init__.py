"""`captions calibrate`: what a critic's P(factual) is worth, measured on labeled sentences."""
