"""`verify-revisions`: the checks of `verify`, on a file that was revised before."""
