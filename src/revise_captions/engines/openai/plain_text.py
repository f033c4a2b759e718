"""Untrusted text in a prompt whose special tokens we cannot see: what looks like one is broken up.

A server puts the whole prompt through its tokenizer with special tokens on, so `<|im_end|>` in a
caption would end the user's turn. Chat formats are made of `<…>`, `[INST]` and the like; a space
behind the opening bracket leaves them readable and takes their meaning.
"""

from __future__ import annotations

import re

# `<` before a letter, slash, bar or underscore (`<|im_end|>`, `</s>`, `<start_of_turn>`), also the
# full-width bar of DeepSeek's format; `[` before capitals that close (`[INST]`, `[/IMG]`).
_MARKUP = re.compile(r"<(?=[|/_!A-Za-z｜])|\[(?=/?[A-Z][A-Z_]*\])")


def defused(text: str) -> str:
    """The text with a space behind every bracket that could open a special token."""
    return _MARKUP.sub(lambda found: found[0] + " ", text)
