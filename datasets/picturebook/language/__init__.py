"""From a scene to text: true paragraphs, errors put into them, rationales, and descriptions.

`captions` is the entry; `realize` turns claims into words.
"""
