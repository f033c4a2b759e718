"""A text with wrong and doubtful parts marked, for the terminal and as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from types import MappingProxyType

from markupsafe import Markup

from revise_captions.outside_text import plain
from revise_captions.records import Span
from revise_captions.text.html import visible

#: A run of characters in one state, and the state's name: the one for wrong, for doubtful, or "".
Piece = tuple[str, str]


def pieces(text: str, marks: Iterable[tuple[Span, str]]) -> list[Piece]:
    """A text in runs of one state; the last mark over a character decides its state."""
    states = [""] * len(text)
    for span, state in marks:
        inside = range(len(text))[span.start : span.end]
        states[span.start : span.end] = [state] * len(inside)
    runs = groupby(zip(states, text, strict=True), key=lambda one: one[0])
    return [(state, "".join(character for _, character in run)) for state, run in runs]


def for_terminal(found: Iterable[Piece], wrong: str, *, color: bool) -> str:
    """In color, or `[wrong]` and `{doubtful}`; invisible characters are written out.

    `wrong`: the name of that state.
    """
    styles = ("\x1b[1;31m{}\x1b[0m", "\x1b[33m{}\x1b[0m") if color else ("[{}]", "{{{}}}")
    return "".join(
        styles[state != wrong].format(plain(text)) if state else plain(text)
        for state, text in found
    )


def as_html(found: Iterable[Piece], titles: Mapping[str, str] = MappingProxyType({})) -> Markup:
    """Escaped HTML, marks as `<mark>` with the state as class; `titles`: what states mean."""
    parts = []
    for state, text in found:
        title = Markup(' title="{}"').format(titles[state]) if state in titles else ""
        mark = Markup('<mark class="{}"{}>{}</mark>') if state else Markup("{2}")
        parts.append(mark.format(state, title, visible(text)))
    return Markup("").join(parts)
