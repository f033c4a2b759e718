"""`captions explore`: a run of any size in the browser, on this machine alone.

cli ─ session ┬ index ─ query       the run's captions in SQLite, built once, kept in the cache
              ├ comparison          a second run beside it
              ├ decisions           what a person decided, as training data
              └ server ─ views      pages, images and decisions over HTTP, at 127.0.0.1
"""
