"""`annotate`: from a run to annotation tasks, and from annotations to figures and training data.

cli ─ commands ┬ tasks/      sampling, units, interfaces, sheets ─ export
               ├ answers/    readers, consensus, estimates ─ import_answers
               ├ data/       folders of training data ─ convert, matching
               └ terminal    what the commands print
"""
