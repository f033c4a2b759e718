"""The picture-book world: drawn scenes whose captions have exact labels, to train and test on.

`generate` is the entry. `world` samples scenes, `drawing` draws them, `language` writes captions
and errors about them, `semantics` holds claims and their words, and `oracle` reads any sentence and
decides whether it is true of a scene.
"""
