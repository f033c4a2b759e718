"""`calibrate-critic`: what a critic's P(factual) is worth, measured on labeled sentences."""
