"""Caption text as HTML: escaped, with invisible characters shown, and word-level differences."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher

from markupsafe import Markup, escape

from revise_captions.outside_text import UNSEEN

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
#: Longer sentences are shown as wholly replaced, as matching takes quadratic time.
MAX_TOKENS = 600


def visible(text: str) -> Markup:
    """Text as escaped HTML; invisible characters are written out, each in its own `<span>`."""
    text = text.replace("\r\n", "\n")
    return Markup(UNSEEN.sub(_written_out, str(escape(text))))


def _written_out(found: re.Match[str]) -> str:
    return f'<span class="ctl">U+{ord(found[0]):04X}</span>'


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
    """Merges changes with only one token (mostly a space) between them: easier to read."""
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
