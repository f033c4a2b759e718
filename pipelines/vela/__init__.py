"""`score-vela`: scores captions with a trained VELA metric."""
