"""`captions benchmarks`: lists, describes, checks and converts public benchmarks."""
