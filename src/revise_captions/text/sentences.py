"""Sentences of a caption, as exact offsets.

`split` looks once at every place where a sentence could end (a mark such as `.`, `?` or `。`, a
line break, a bullet, an emoji) and decides from a few dozen characters around it, so it takes time
linear in the text. It is deterministic, independent of the locale, and loads nothing.

Every character that is not white space belongs to exactly one span: bullets, numbering and Markdown
stay with their sentence, and a line of dashes is a span of its own. A quotation or parenthesis that
opens inside a sentence and closes within `_PAIR_REACH` characters is never split (`the sign reads
"STOP. NO ENTRY." in red`). Scripts without sentence marks (Thai) are split only at line breaks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from revise_captions.records import Span
from revise_captions.text.abbreviations import (
    MEASURES,
    NUMBERED,
    OPEN,
    STARTERS,
    TITLES,
)

_PAIR_REACH = 160  # code points; beyond this, an unclosed quote is likelier than a quotation
_WORD_REACH = 40
_CUE_REACH = 80

# Unicode's Sentence_Terminal marks of scripts in use; a space need not follow these.
_STRONG = "。｡！？؟۔।॥։።፧፨၊။។៕᠃᠉꓿\u037e"
_WEAK = ".!?…‼⁇⁈⁉．"
_CLOSERS = "\"'”’»›)\\]}」』）】》〉］｝*_`"
_EMOJI = "\U0001f000-\U0001faff\u2600-\u27bf\u2b50\u2b55\ufe0f\u200d"
_BREAKS = "\n\r\x0b\x0c\x85\u2028\u2029"
_BULLETS = "•▪◦‣"
_NOT_BEFORE_LOWER = TITLES | OPEN | NUMBERED | {"etc"}

# Repeated groups are not possessive: in Python 3.11.2, Debian 12's, such a group keeps what an
# incomplete repetition has read. Nothing behind them can fail, so the matches are the same.
_CANDIDATE = re.compile(
    rf"(?P<line>[{_BREAKS}]\s*+)"
    rf"|(?P<mark>[{_STRONG}{_WEAK}]++(?:[^\S{_BREAKS}][{_WEAK}]++(?=[\s{_CLOSERS}]|\Z))*)"
    rf"(?P<close>(?:[{_CLOSERS}](?!(?<=[\"'])[\w#])|\[\d{{1,3}}\]|</\w{{1,9}}>|<br ?/?>)*"
    rf"(?:[^\S{_BREAKS}]?(?:[{_EMOJI}]++|[:;=]-?[()DPp](?!\w)))*)(?P<gap>\s*+)"
    rf"|(?P<bullet>(?<=\s)[{_BULLETS}](?=\s))"
    rf"|(?P<greek>(?<=[\u0370-\u03ff\u1f00-\u1fff]);\s++)"
    rf"|(?P<emoji>(?<![{_EMOJI}])[{_EMOJI}]++[^\S{_BREAKS}]++)(?![{_BREAKS}])"
)
_PAIR_MARK = re.compile(rf"[\"'“”‘’«»()\[\]{{}}「」『』（）【】《》]|[{_BREAKS}]\s*+")
_PARTNER = dict(zip("”’»)]}」』）】》", "“‘«([{「『（【《", strict=True))
_OPENERS = frozenset(_PARTNER.values())
_CONTINUING = frozenset(",;:)]}%，、；：" + _STRONG + _WEAK)
_CLOSING = frozenset("\"'”’»›)]}」』）】》〉］｝")

_WORD = re.compile(r"[^\W_]")
_NEXT = re.compile(r"[(\[{\"'“‘«¿¡*_#]*+(\w+(?:['’]\w+)*|)")
_TOKEN = re.compile(r"[(\[{\"'“‘«¿¡*_#–—/]*([^\s–—/]*)\Z")
_DOTTED = re.compile(r"(?:[^\W\d_]\.)+[^\W\d_]{1,2}\Z")
_ITEM = re.compile(r"\s*(?:[-*+>#•▪◦‣●■–—]+\s|\(?(?:\d{1,3}|[A-Za-z])[.)]\s|#|\||\*\*)")
_MARKER = re.compile(r"[(\[*_#\s]*(?:\d{1,3}|[A-Za-z]|[ivxIVX]{1,4})\Z")
_CUE = re.compile(
    r"\b(?:reads?|reading|sa(?:y|ys|ying)|signs?|words?|text|letters|lettering|written|"
    r"label(?:l?ed)?|titled|caption|slogan|inscription|spell(?:s|ing)|print(?:s|ed))\b",
    re.IGNORECASE,
)
_HANGING = re.compile(
    r"(?:[,，、]|\b(?:an?|the|of|to|and|or|in|on|at|by|for|from|with|is|are|was|were|its|their|his|"
    r"her|that|which|near|next|behind|beside|under|above|between|into|wearing|holding))\Z"
)


def split(text: str) -> tuple[Span, ...]:
    """Splits a text into sentences.

    Deterministic, without a model or locale, in time linear in the text.

    Args:
        text: Any text; one of only white space has no sentences.

    Returns:
        Half-open `[start, end)` spans in code points, in order. They never overlap, are never
        empty, and have no white space at either end; only white space is between them.

    Examples:
        >>> [span.of("A dog. It sits.") for span in split("A dog. It sits.")]
        ['A dog.', 'It sits.']
    """
    cuts = [0, *_cuts(text), len(text)]
    spans = (_stripped(text, start, end) for start, end in pairwise(cuts))
    return tuple(span for span in spans if span.start < span.end)


def _stripped(text: str, start: int, end: int) -> Span:
    piece = text[start:end].rstrip()
    return Span(start + len(piece) - len(piece.lstrip()), start + len(piece))


def _cuts(text: str) -> Iterator[int]:
    """Offsets at which a new sentence begins, in order, except 0 and the end of the text."""
    pairs = _pairs(text)
    pair = 0
    start = 0  # of the current sentence
    word = _first_word(text, 0)  # where its first word begins
    shielded = 0  # no sentence ends before this offset
    for m in _CANDIDATE.finditer(text):
        while pair < len(pairs) and pairs[pair].start < m.start():
            opened, closed = pairs[pair]
            if word < opened or (opened >= start and _goes_on(text, closed + 1)):
                shielded = max(shielded, closed)
            pair += 1
        end = m.end()
        bullet = m.lastgroup == "bullet"
        if (m.end("close") if m["mark"] else end) <= shielded or end >= len(text):
            continue
        if not bullet and word >= m.start():  # no word to end: "...", "- ", "**"
            if _is_new_block(text, m) or (m["line"] and _is_break(text, start, m)):
                start = end
                yield start
            continue
        if _is_end(text, start, m):
            start = m.start() if bullet else end
            if word < start:
                word = _first_word(text, start)
            yield start


def _is_end(text: str, start: int, m: re.Match[str]) -> bool:
    """Whether the sentence that began at `start` ends at the candidate `m`."""
    if _is_new_block(text, m):
        return True
    if m["line"]:
        return _is_break(text, start, m)
    if m["greek"]:
        return True
    if m["bullet"]:
        begun, last = text[start : start + 4].lstrip(), text[max(start, m.start() - 4) : m.start()]
        return begun.startswith(tuple(_BULLETS)) or last.rstrip().endswith((".", "!", "?", ":"))
    following = _next_word(text, m.end())
    if m["emoji"]:
        return following.lower() in STARTERS and following[0].isupper()
    mark, closers = m["mark"], m["close"]
    if mark[-1] in _STRONG:
        # Japanese goes on after a quotation: 「止まれ。」と書かれた
        quoted_on = closers and text.startswith(("と", "の", "を", "って"), m.end())
        return not quoted_on and text[m.end()] not in _CONTINUING
    if not m["gap"] and ">" not in closers:
        return _is_end_without_space(text, start, m, following)
    if text[m.end()] in _CONTINUING and not closers:
        return False
    lower = following[:1].islower()
    before = _word_before(text, start, m.start())
    if lower and not text.startswith(("http:", "https:", "www."), m.end()):
        if closers.strip() or "…" in mark or mark.count(".") > 1:
            return bool(closers) and closers[-1] not in _CLOSING
        return _ends_before_lower(text, start, m, before)
    if mark != ".":
        return True
    return _stop_ends(text, start, m, before, following)


def _ends_before_lower(text: str, start: int, m: re.Match[str], before: str) -> bool:
    """A mark, then a lower-case word: careless writing, or a name ("Yahoo! logo", "Inc. in")?"""
    if before[:1].isupper() or "." in before:
        return False
    if m["mark"] != ".":
        return True
    known = before in _NOT_BEFORE_LOWER
    return not known and len(before) != 1 and not _is_measure(text, start, m.start(), before)


def _stop_ends(text: str, start: int, m: re.Match[str], before: str, following: str) -> bool:
    """Whether a single full stop ends the sentence, if no lower-case word follows."""
    key = before.capitalize() if before[:1].isupper() else before
    closed = bool(m["close"])
    if key in TITLES and not closed:
        return False
    starter = following.lower() in STARTERS and not (following == "A" and len(before) == 1)
    if m.start() - start <= 8 and _MARKER.match(text[start : m.start()]):
        return starter and len(before) > 1 and not before[0].isdigit()
    if closed:
        return True
    if key in NUMBERED and following[:1].isdigit():
        return False
    if before.isdigit() and text.endswith((": ", "; "), start, m.start() - len(before)):
        return False
    if key in OPEN or _DOTTED.search(before):
        return starter
    if len(before) == 1 and before.isalpha() and before != "I":
        return starter
    return not _is_sign_text(text, start, m.start(), before, following)


def _is_end_without_space(text: str, start: int, m: re.Match[str], following: str) -> bool:
    """`red.The dog`, `red."STOP" is`: a missing space, but not `Node.Js`, not a URL's `?Q=`."""
    before = _word_before(text, start, m.start())
    if not (before.isalpha() and before.islower() and len(before) > 2 and not m["close"]):
        return False
    if text[m.end()] == '"':
        return following != ""
    if not (following[:1].isupper() and text[m.end()].isupper()):
        return False
    return m["mark"][-1] in "!?" or following.lower() in STARTERS


def _is_sign_text(text: str, start: int, at: int, before: str, following: str) -> bool:
    """`a sign that reads STOP. NO ENTRY.`: capitals on both sides, after a word about writing."""
    if not (before.isupper() and following.isupper() and len(before) > 1 and len(following) > 1):
        return False
    return _CUE.search(text, max(start, at - _CUE_REACH), at) is not None


def _is_measure(text: str, start: int, at: int, before: str) -> bool:
    if before not in MEASURES:
        return False
    lead = text[max(start, at - len(before) - 4) : at - len(before)].rstrip()
    return lead[-1:].isdigit() or lead.endswith(("½", "¼", "¾"))


def _is_break(text: str, start: int, m: re.Match[str]) -> bool:
    """Whether a single line break ends a sentence, or only wraps it."""
    line = text[max(start, m.start() - _WORD_REACH) : m.start()].rstrip()
    if _HANGING.search(line):
        return False
    return not text[m.end()].islower() or line.endswith((".", "!", "?", ":", "…"))


def _is_new_block(text: str, m: re.Match[str]) -> bool:
    """Whether an empty line, or a line break before a list item or heading, follows."""
    run = m["line"] or m["gap"] or ""
    breaks = any(c in _BREAKS for c in run)
    return breaks and (_is_blank(run) or _ITEM.match(text, m.end()) is not None)


def _is_blank(run: str) -> bool:
    """Whether a run of white space holds an empty line."""
    breaks = run.count("\r\n")
    return sum(run.count(c) for c in _BREAKS) - breaks > 1


def _pairs(text: str) -> list[Span]:
    """Quotations and brackets within the reach: offsets of their two marks, in order."""
    opened: dict[str, list[int]] = {}
    found: list[Span] = []
    for m in _PAIR_MARK.finditer(text):
        at, mark = m.start(), m[0]
        if mark[0].isspace():
            if _is_blank(mark):
                opened.clear()
            continue
        if mark in "\"'" and _opens(text, at):
            opened[mark] = [at]
        elif mark in _OPENERS:
            opened.setdefault(mark, []).append(at)
        else:
            stack = opened.get(_PARTNER.get(mark, mark))
            apostrophe = mark in "'’" and text[at + 1 : at + 2].isalnum()
            if stack and not apostrophe and at - (first := stack.pop()) <= _PAIR_REACH:
                found.append(Span(first, at))
    found.sort()
    return found


def _opens(text: str, at: int) -> bool:
    """Whether a straight quotation mark opens; `'90s` and `12"` do not."""
    previous, following = text[at - 1 : at] if at else "", text[at + 1 : at + 2]
    if not following or following.isspace() or (text[at] == "'" and following.isdigit()):
        return False
    if previous in ".!?":
        return text[at] == '"' and (following.isalnum() or following == "#")
    return not previous or previous.isspace() or previous in "([{“‘—–-:"


def _goes_on(text: str, at: int) -> bool:
    """Whether the sentence goes on after a closing mark: `"STOP. NO ENTRY" is painted on it`."""
    rest = text[at : at + 3].lstrip()
    return rest[:1].islower() or rest[:1] in {",", ";"}


def _first_word(text: str, at: int) -> int:
    m = _WORD.search(text, at)
    return m.start() if m else len(text)


def _word_before(text: str, start: int, at: int) -> str:
    m = _TOKEN.search(text[max(start, at - _WORD_REACH) : at])
    return m[1] if m else ""


def _next_word(text: str, at: int) -> str:
    m = _NEXT.match(text, at)
    return m[1] if m else ""
