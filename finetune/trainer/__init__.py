"""The training loop: setup, steps, validation, resumable state and logs."""
