"""`captions doctor`: what is in the input, what the machine can run, and the command that fits."""
