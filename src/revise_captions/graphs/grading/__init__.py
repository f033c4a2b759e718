"""How clearly one text says each component of another's scene graph."""
