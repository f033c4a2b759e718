"""Scenes: what can exist (`scene`), where it may stand (`layout`), and sampling (`sample`)."""
