"""`captions verify`: the checks of `verify`, on a file that was revised before."""
