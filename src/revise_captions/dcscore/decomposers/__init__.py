"""Rules that decompose texts, by scene graphs or by sentences."""
