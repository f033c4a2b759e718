"""Training data from annotations, public data sets, and captions without labels."""
