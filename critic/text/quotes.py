"""Where a sentence says what is written in its image."""

from __future__ import annotations

import re
from dataclasses import dataclass

from revise_captions.critic.text.alignment import fold
from revise_captions.records import Span

#: Whatever is longer is no quote of a sign.
MOST_WORDS = 24
#: Characters of a quote, and of what is looked at before it: so that the time is linear in a
#: sentence that opens quotations without end.
_REACH = 300

#: Opening quotation marks, each with what closes it; a straight one, or an apostrophe, only where
#: no letter stands outside.
_MARKS = (
    ('(?<!\\w)"', '"(?!\\w)'), ("“", "[”“]"), ("„", "[“”]"), ("«", "»"), ("»", "«"), ("「", "」"),
    ("『", "』"), ("‹", "›"), ("``", "''"), ("`", "`"), ("(?<!\\w)[‘‚]", "[’‘](?!\\w)"),
    ("(?<![\\w'])'", "'(?!\\w)"),
)  # fmt: skip
_QUOTED = re.compile(
    "|".join(
        rf"{start}(?P<q{k}>[^\n]{{1,{_REACH}}}?){end}" for k, (start, end) in enumerate(_MARKS)
    )
)
#: What says that the next words stand in the image. Bare words count where they look like signs:
#: in capitals; behind words of labels and titles with one.
_SAYS = r"says?|saying|reads?|reading|spell(?:s|ing)?(?: out)?|the (?:words?|letters?|text)"
_LABELLED = r"label(?:s|l?ed)|titled|entitled|captioned|marked|inscribed|stamped|lettered"
_BARE = tuple(
    re.compile(rf"\b(?:{cue})[:,]? (?P<q>{sign}(?: {sign})*)(?![\w'’])")
    for cue, sign in (
        (_SAYS, r"[A-Z0-9][A-Z0-9&+#/.:'’-]*(?![a-z])"),
        (_LABELLED, r"[A-Z0-9][\w&+#/.:'’-]*"),
    )
)
_NUMBER = r"(?P<q>#?\d{1,4})"
_PLATE = r"(?P<q>(?=[A-Z0-9 -]{0,23}\d)[A-Z0-9]{1,5}(?:[ -]?[A-Z0-9]{1,5}){0,3})"
_WORN = "jersey|shirt|bib|uniform|vest|car|bus|tram|train"
_NUMBERS = (
    re.compile(
        rf"\b(?:plates?|registration)(?: numbers?)?(?: of| is|:| reads?| reading)? {_PLATE}\b"
    ),
    re.compile(rf"\b(?:{_WORN})s? (?:number|no\.|with (?:the )?number) {_NUMBER}\b"),
    re.compile(
        rf"\bnumber {_NUMBER}(?= (?:on (?:his|her|their|its|the) (?:{_WORN}|back|chest)|{_WORN}))"
    ),
    re.compile(rf"\b(?:wear(?:s|ing)|with) (?:the )?(?:number|no\.) {_NUMBER}\b"),
)
#: What stands before words that are not in the image, or not as they are written there.
_DENIED = re.compile(
    r"\b(?:not?|never|\w*n[’']t|without|instead of|rather than|illegible|unreadable|nothing)\b"
    r"[^,;]*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Quote:
    """What a sentence says is written in the image.

    Attributes:
        span: Half-open, in code points of the sentence, without quotation marks, and without a
            comma or full stop that belongs to the sentence.
        text: What stands there.
    """

    span: Span
    text: str


def quotes_in(sentence: str) -> list[Quote]:
    """What a sentence quotes or spells, in order; nothing that it denies."""
    found: list[Span] = []
    taken = bytearray(len(sentence))  # 1 where a quote stands
    unquoted = _QUOTED.sub(lambda match: " " * len(match[0]), sentence)
    for pattern in (_QUOTED, *_BARE, *_NUMBERS):
        for match in pattern.finditer(sentence):
            name = next(key for key, value in match.groupdict().items() if value is not None)
            span = _trimmed(sentence, Span(*match.span(name)))
            before = max(0, match.start() - _REACH)
            if any(taken[span.start : span.end]) or not _legible(span.of(sentence)):
                continue
            if not _DENIED.search(unquoted, before, match.start()):
                taken[span.start : span.end] = b"\1" * (span.end - span.start)
                found.append(span)
    return [Quote(span, span.of(sentence)) for span in sorted(found)]


def _trimmed(sentence: str, span: Span) -> Span:
    start, end = span
    while start < end and (sentence[start].isspace()):
        start += 1
    while start < end and (sentence[end - 1].isspace() or sentence[end - 1] in ".,;:"):
        end -= 1
    return Span(start, end)


def _legible(text: str) -> bool:
    return 1 <= len(fold(text).words) <= MOST_WORDS
