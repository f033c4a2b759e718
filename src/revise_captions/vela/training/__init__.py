"""`captions train-vela`: trains the VELA metric on ratings."""
