"""`captions reproduce`: a paper's table, computed from data in its released format."""
