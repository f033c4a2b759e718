"""The bundled reviser: a small model trained to edit a sentence by a rationale."""
