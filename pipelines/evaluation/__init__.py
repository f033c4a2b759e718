"""What measures our own models against the oracle, for README.md and the model cards.

card           both cards: `critic`, and the whole `loop`
rater          how far a leaderboard can be trusted: rater_scores ─ rater_estimates
verifier       whether a higher score is a truer caption: revision_variants ─ verifier_tables
showcase       what README.md shows of a run; `showcase_boards`: of two other commands
held_out       the captions that all of it is measured on
"""
