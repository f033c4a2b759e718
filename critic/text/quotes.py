"""Where a sentence says what is written in its image."""

from __future__ import annotations

import re
from collections.abc import Sequence
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
_LABELED = r"label(?:s|l?ed)|titled|entitled|captioned|marked|inscribed|stamped|lettered"
_BARE = tuple(
    re.compile(rf"\b(?:{cue})[:,]? (?P<q>{sign}(?: {sign})*)(?![\w'’])")
    for cue, sign in (
        (_SAYS, r"[A-Z0-9][A-Z0-9&+#/.:'’-]*(?![a-z])"),
        (_LABELED, r"[A-Z0-9][\w&+#/.:'’-]*"),
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
#: What states that a quote is written in the image, not just what somebody says or calls something:
#: verbs before it, nouns right before it, and what may stand behind it.
_WRITES = re.compile(
    r"\b(?:reads?|reading|says?|saying|spell(?:s|ed|ing)?|writ(?:es|ten|ing)|prints?|printed"
    r"|label(?:s|l?ed|l?ing)?|marked|inscribed|stamped|engraved|lettered|lettering|emblazoned"
    r"|painted|shows?|showing|displays?|displayed|displaying|lists?|listing|listed|carr(?:y|ies)"
    r"|carrying|bears?|bearing|captioned|headed|warns?|asks?|wrote|honou?rs|announces?|points? to"
    r"|advertis(?:es|ing)"
    r"|words?|wording|letters|text|name|logo|slogan|inscription|message|signs? for)\b[^.;!?]{0,40}$"
)
_SIGN = re.compile(
    r"\b(?:signs?|posters?|banners?|billboards?|boards?|plaques?|plates?|placards?|stickers?|tags?"
    r"|badges?|screens?|title|heading|headline|captions?|brand|box(?:es)?|bottles?|cans?|packs?"
    r"|packages?|bags?|books?|shirts?|jerseys?|shops?|stores?|bus(?:es)?|trucks?|vans?)"
    r"(?:,? (?:of|with|for|that|the|an?|is|in|on))*[,:]? *$"
)
_WRITTEN = re.compile(
    r"^\W{0,3}(?:(?:is|are|was|were|can be|appears?|stands?) )?(?:\w+ )?"
    r"(?:written|printed|painted|lettered|displayed|inscribed|engraved|stamped|visible|seen|read"
    r"|on (?:it|its|the|an?|his|her|their)|across|in (?:\w+,? ){0,3}(?:letter|font|capital|text"
    r"|type|print|writing|script))"
)
_LANGUAGES = (
    "Arabic|Chinese|Czech|Danish|Dutch|English|Finnish|French|German|Greek|Hebrew|Hindi|Hungarian"
    "|Italian|Japanese|Korean|Latin|Norwegian|Persian|Polish|Portuguese|Romanian|Russian|Spanish"
    "|Swedish|Thai|Turkish|Ukrainian|Vietnamese"
)
#: What joins a quotation to the one before it.
_JOINED = re.compile(r"[\s,]*(?:and|or|&|above|below|over)?[\s,]*")
#: Speech.
_SPOKEN = re.compile(
    r"\b(?:he|she|they|who|man|woman|men|women|boy|girl|child|person|people|speaker)"
    r"(?: (?:is|are|was))? (?:says?|saying|asks?|asking|announces?|warns?)\W*$"
)
#: A translation, a paraphrase, or a work's title: it need not be written there.
_LOOSE = re.compile(
    rf"\b(?:in (?:{_LANGUAGES}|another language|a foreign language)|translat\w+|mean(?:s|ing)"
    r"|so-called|known as|nicknamed|dubbed|effect (?:of|that)|paintings?|artworks?|sculptures?"
    r"|songs?|movies?|novels?)\b"
)


@dataclass(frozen=True, slots=True)
class Quote:
    """What a sentence says is written in the image.

    Attributes:
        span: Half-open, in code points of the sentence, without quotation marks, and without a
            comma or full stop that belongs to the sentence.
        text: What stands there.
        stated: Whether the sentence says that it is written there, word for word.
    """

    span: Span
    text: str
    stated: bool


def quotes_in(sentence: str) -> list[Quote]:
    """What a sentence quotes or spells, in order; nothing that it denies."""
    found: list[Quote] = []
    taken = bytearray(len(sentence))  # 1 where a quote stands
    unquoted = _QUOTED.sub(lambda match: " " * len(match[0]), sentence)
    loose = _LOOSE.search(unquoted) is not None
    for pattern in (_QUOTED, *_BARE, *_NUMBERS):
        for match in pattern.finditer(sentence):
            name = next(key for key, value in match.groupdict().items() if value is not None)
            span = _trimmed(sentence, Span(*match.span(name)))
            before = max(0, match.start() - _REACH)
            if any(taken[span.start : span.end]) or not _legible(span.of(sentence)):
                continue
            if not _DENIED.search(unquoted, before, match.start()):
                taken[span.start : span.end] = b"\1" * (span.end - span.start)
                stated = pattern is not _QUOTED or _is_stated(sentence, unquoted, match, found)
                found.append(Quote(span, span.of(sentence), stated and not loose))
    return sorted(found, key=lambda one: one.span)


def _is_stated(sentence: str, unquoted: str, match: re.Match[str], known: Sequence[Quote]) -> bool:
    """Whether words around a quotation say that it is written, or around the one it is joined to.

    Args:
        sentence: The sentence.
        unquoted: It, with spaces for all quotations.
        match: The quotation.
        known: Those before it.
    """
    if known and _JOINED.fullmatch(sentence[known[-1].span.end : match.start()].strip("\"'”’»")):
        return known[-1].stated
    before = " ".join(unquoted[max(0, match.start() - _REACH) : match.start()].split())
    after = unquoted[match.end() : match.end() + _REACH]
    told = any(one.search(before) for one in (_WRITES, _SIGN)) and not _SPOKEN.search(before)
    return told or bool(_WRITTEN.search(after))


def _trimmed(sentence: str, span: Span) -> Span:
    start, end = span
    while start < end and (sentence[start].isspace()):
        start += 1
    while start < end and (sentence[end - 1].isspace() or sentence[end - 1] in ".,;:"):
        end -= 1
    return Span(start, end)


def _legible(text: str) -> bool:
    return 1 <= len(fold(text).words) <= MOST_WORDS
