"""Meaning, apart from wording: claims, discourse, facts of a scene, and the lexicon."""
