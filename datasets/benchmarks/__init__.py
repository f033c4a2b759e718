"""Public benchmarks of captions, read into one form (`types`).

`catalog` lists them with their sources and known counts; `readers` has one module per file format;
`plain` reads your own annotations.
"""
