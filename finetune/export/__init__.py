"""What training leaves behind: checkpoint, calibration and model card."""
