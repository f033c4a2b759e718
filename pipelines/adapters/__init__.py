"""Steps for other libraries' pipelines: a module for each, imported by its name."""
