"""Caption text as HTML: escaped, nothing hidden in it, and word-level differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from markupsafe import Markup, escape

# Controls, line and paragraph separators, bidi embeddings, overrides and isolates, byte-order
# marks, lone surrogates: they would change how the page reads, or cannot be encoded at all.
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff"
    "\ufffe\uffff]"
)
_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
#: Longer sentences are shown as replaced whole: matching takes quadratic time.
MAX_TOKENS = 600


def plain(text: str) -> str:
    """Text for an attribute or a label; invisible characters are written as `U+202E`."""
    return _UNSEEN.sub(lambda found: f"U+{ord(found.group()):04X}", text)


def visible(text: str) -> Markup:
    """Text as escaped HTML; invisible characters are written out, each in its own `<span>`."""
    text = text.replace("\r\n", "\n")
    parts: list[Markup] = []
    cursor = 0
    for found in _UNSEEN.finditer(text):
        parts.append(escape(text[cursor : found.start()]))
        parts.append(Markup('<span class="ctl">U+{:04X}</span>').format(ord(found.group())))
        cursor = found.end()
    return Markup("").join([*parts, escape(text[cursor:])])


def clip(text: str, limit: int) -> str:
    """At most `limit` characters, with an ellipsis where some are missing."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def difference(before: str, after: str) -> Markup:
    """`before` to `after` as HTML with `<del>` and `<ins>`, word by word."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    if not new or max(len(old), len(new)) > MAX_TOKENS:
        return _mark("del", before) + _mark("ins", after)
    parts: list[Markup] = []
    for tag, i, j, k, m in _merged(SequenceMatcher(None, old, new, autojunk=False).get_opcodes()):
        if tag == "equal":
            parts.append(visible("".join(old[i:j])))
        else:
            parts += [_mark("del", "".join(old[i:j])), _mark("ins", "".join(new[k:m]))]
    return Markup("").join(parts)


Opcode = tuple[str, int, int, int, int]


def _merged(opcodes: Sequence[Opcode]) -> list[Opcode]:
    """Changes with only one token between them (a space, mostly) become one: easier to read."""
    merged: list[Opcode] = []
    for place, code in enumerate(opcodes):
        after_change = bool(merged) and merged[-1][0] != "equal"
        bridge = code[0] == "equal" and code[2] - code[1] == 1 and place < len(opcodes) - 1
        if after_change and (bridge or code[0] != "equal"):
            _, i, _, k, _ = merged.pop()
            merged.append(("replace", i, code[2], k, code[4]))
        else:
            merged.append(code)
    return merged


def _mark(tag: str, text: str) -> Markup:
    return Markup(f"<{tag}>{visible(text)}</{tag}>") if text else Markup("")
