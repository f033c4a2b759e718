"""VELA over a critic of ours: its I2C branch, and the metric in the registry."""
