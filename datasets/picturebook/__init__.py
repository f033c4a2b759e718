"""The picture-book world: drawn scenes whose captions have exact labels, to train and test on.

`generate` is the entry point. `world` samples scenes, `drawing` draws them, `language` writes
captions of them with errors, `semantics` holds claims and their words, and `oracle` parses any
sentence and decides whether it is true of a scene.
"""
