"""Raters' answers: reading them, consensus, and estimates for the whole run."""
