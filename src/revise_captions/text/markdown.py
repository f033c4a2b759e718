"""Sentences of a caption that may be Markdown, as today's models write it.

Structure is not a sentence, so it is never judged, rewritten or removed: headings, labels
(`**Overview:**`), list markers and numbers, rules, a table's header and the pipes around its rows.
A table row is one sentence. Blocks are found by markdown-it-py (CommonMark and tables), without
what a caption hardly ever means: indented code, HTML, underlined headings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

from revise_captions.records import Span
from revise_captions.text.sentences import split

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

#: A text without such a line has no structure and needs no parser; most captions are like that.
_MARKED = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]|[-*+•][ \t]|\d{1,3}[.)][ \t]|[|>]|\*\*|__|(?:[-*_][ \t]*){3,}$)", re.M
)
#: Markers that may begin a sentence even where the parser sees no list.
_MARKS = re.compile(r"(?:(?:[-*•–>]|#{1,6}|\d{1,3}[.)])[^\S\n]+)+(?=\S)")
_ITEM = re.compile(r"\s*(?:(?:[-*+•–]|\d{1,3}[.)])\s+)+")
_LINE_END = re.compile(r"\r\n|\r|\n")
_LABEL = re.compile(r"(\*\*|__)(?:(?!\1)[^\n]){1,80}(?::\1|\1:)(?=\s|\Z)\s*")
#: A paragraph that is all bold and does not end like a sentence.
_TITLE = re.compile(r"(\*\*|__)(?:(?!\1)[^\n]){1,80}(?<![.!?…。])\1\s*\Z")
_PART = re.compile(r"(?<=[\r\n])[ \t]*(?=\*\*|__|>)")
_QUOTE = re.compile(r"(?:[ \t]*>)+[ \t]?")
_CELLS = re.compile(r"[^\s|](?:.*[^\s|])?")
_OFF = ("blockquote", "code", "fence", "html_block", "lheading", "reference")


def sentence_spans(text: str) -> tuple[Span, ...]:
    """Splits a caption into the sentences that can be judged.

    Args:
        text: Any text.

    Returns:
        Half-open `[start, end)` spans in code points, in order, without structure; those of
        `split`, without leading markers, if the text is not Markdown, or nothing would be left.
    """
    if _MARKED.search(text) is None:
        return _unmarked(text, split(text))
    found = [
        Span(start + one.start, start + one.end)
        for start, end in _prose(text)
        for one in split(text[start:end])
    ]
    return _unmarked(text, found or split(text))


def item_mark(gap: str) -> int | None:
    """Where a list item's marker, with the line break before it, begins if a gap between sentences
    ends in one; None otherwise."""
    line = max(gap.rfind("\n"), gap.rfind("\r")) + 1
    return len(gap[:line].rstrip()) if _ITEM.fullmatch(gap, line) else None


def _unmarked(text: str, spans: Sequence[Span]) -> tuple[Span, ...]:
    marks = (_MARKS.match(text, *span) for span in spans)
    return tuple(
        Span(mark.end(), span.end) if mark else span
        for mark, span in zip(marks, spans, strict=True)
    )


def _prose(text: str) -> Iterator[Span]:
    """Paragraphs, list items, and table rows, without their markers."""
    lines = _lines(text)
    tokens = _parser().parse(text)
    head = False
    for token, inner in zip(tokens, [*tokens[1:], None], strict=True):
        head = token.type == "thead_open" or (head and token.type != "thead_close")
        if token.map is None:
            continue
        if token.type == "tr_open" and not head:
            line = lines[token.map[0]]
            if cells := _CELLS.search(text, line.start, line.end):
                yield Span(*cells.span())
        elif token.type == "paragraph_open" and inner is not None:
            place = _place(text, lines[token.map[0] : token.map[1]], inner.content)
            yield from _without_labels(text, place)


def _without_labels(text: str, place: Span) -> Iterator[Span]:
    """A paragraph's parts: each line that begins in bold, or as a quotation, starts a new one."""
    starts = [place.start, *(m.start() for m in _PART.finditer(text, place.start + 1, place.end))]
    for start, end in pairwise([*starts, place.end]):
        if quote := _QUOTE.match(text, start, end):
            start = quote.end()
        if _TITLE.match(text, start, end):
            continue
        label = _LABEL.match(text, start, end)
        yield Span(label.end() if label else start, end)


def _place(text: str, lines: Sequence[Span], content: str) -> Span:
    """The span of a paragraph's content, without the markers before its first line."""
    first = _LINE_END.split(content, maxsplit=1)[0].strip()
    at = text.find(first, lines[0].start, lines[0].end)
    return Span(max(at, lines[0].start), lines[-1].end)


def _lines(text: str) -> list[Span]:
    starts, ends = [0], []
    for end in _LINE_END.finditer(text):
        ends.append(end.start())
        starts.append(end.end())
    return [Span(*pair) for pair in zip(starts, [*ends, len(text)], strict=True)]


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table").disable(_OFF)
    parser.core.ruler.enableOnly(["normalize", "block"])
    return parser
