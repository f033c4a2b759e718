"""The products of training: checkpoint, calibration and model card."""
