"""`captions run`: the whole way from captions to a dataset that trains, from one file."""
