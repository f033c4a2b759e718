"""`captions train-vela`: trains the metric VELA on ratings."""
