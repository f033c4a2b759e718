"""`rate-captions`: from captions by captioners to a leaderboard in every format.

cli ─ rate ─ autorater (judged rows to ratings, error_types) ┬ formats, page    the leaderboard
                                                             ├ error_rates      what goes wrong
                                                             └ people           beside people's
"""
