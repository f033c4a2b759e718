"""The critic: how likely each sentence of a caption is to be true of its image, and why not.

`protocol` says what a critic is and `load` finds one by name; `paligemma` holds our own critics,
`instruct` asks any instruct model, and `gates` decide which images and languages are judged.
"""
