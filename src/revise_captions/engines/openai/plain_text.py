"""Breaks up whatever looks like a special token in untrusted text, for servers.

A server tokenizes the whole prompt with special tokens on, so `<|im_end|>` in a caption would end
the user's turn, and the client does not know its special tokens. Chat formats are made of `<…>`,
`[INST]` and the like; a space after the opening bracket disarms them and keeps them readable.
"""

from __future__ import annotations

import re

from revise_captions.outside_text import encodable

# `<` before a letter, slash, bar or underscore (`<|im_end|>`, `</s>`, `<start_of_turn>`), also the
# full-width bar of DeepSeek's format; `[` before capitals that close (`[INST]`, `[/IMG]`).
_MARKUP = re.compile(r"<(?=[|/_!A-Za-z｜])|\[(?=/?[A-Z][A-Z_]*\])")


def defused(text: str) -> str:
    """The text with a space after every bracket that could open a special token, and without lone
    surrogates, which cannot be sent."""
    return _MARKUP.sub(lambda found: found[0] + " ", encodable(text))
