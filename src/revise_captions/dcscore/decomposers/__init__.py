"""Rules that take texts apart, by scene graphs or by sentences."""
