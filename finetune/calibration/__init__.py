"""`captions calibrate`: how reliable a critic's P(factual) is, measured on labeled sentences."""
