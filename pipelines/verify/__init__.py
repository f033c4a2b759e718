"""What a revision did to a caption: checks by name, in a run or afterwards.

names ─ load ─ verifier ┬ claims, visual      the checks; POSH's is `revise_captions.posh`
                        └ as_json             what they put into a row
cli ─ run               `verify-revisions`, on a file that is revised already
figures, report         what they add up to
"""
