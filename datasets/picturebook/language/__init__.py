"""From a scene to text: true paragraphs, errors inserted into them, rationales, and descriptions.

`captions` is the entry point; `realize` turns claims into words.
"""
