"""Checks of what a revision did to a caption, during a run or afterwards.

names ─ load ─ verifier ┬ claims, visual      the checks; POSH is `revise_captions.posh`
                        └ as_json             `revision.verification` in an output row
tally                                         figures of a whole run
findings                                      what the report says about them
"""
