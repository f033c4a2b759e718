"""Where words of a quote differ from the line that they are aligned to."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from operator import or_

from rapidfuzz.distance import Levenshtein

from revise_captions.critic.text.alignment import Folded, Piece, fold
from revise_captions.records import Span

#: A word of a quote goes on where a line ends if at most this share of the line's word differs.
_HIDDEN = 0.34


@dataclass(frozen=True, slots=True)
class Substitution:
    """Words of a quote, and what a line has in their place.

    Attributes:
        span: The words, half-open, in code points of the quote.
        place: Where the line has them, half-open, in its folded letters.
        shown: They, half-open, in code points of the line.
        clear: Whether they are as many, and joined to others in the same way.
    """

    span: Span
    place: tuple[int, int]
    shown: Span
    clear: bool


def is_beyond(text: str, line: Folded, window: tuple[int, int]) -> bool:
    """Whether words go on where a line ends: the rest may be hidden, or was not detected.

    Args:
        text: The words, folded.
        line: The line.
        window: Where in it they are aligned, half-open.
    """
    edits = list(Levenshtein.opcodes(line.letters[slice(*window)], text))
    if len(edits) < 2:
        return False
    (first, last), (one, other) = (line.words[0], line.words[-1]), (edits[0], edits[-1])
    before = window[0] == 0 and one.tag == "insert" and edits[1].tag == "equal"
    end = window[1] == len(line.letters) and other.tag == "insert" and edits[-2].tag == "equal"
    return (before and edits[1].src_end >= first[1]) or (
        end and window[0] + edits[-2].src_start <= last[0]
    )


def at_ends(text: str, line: Folded, window: tuple[int, int]) -> tuple[bool, bool]:
    """Whether words differ from a line in nothing but its first or its last letter, which something
    may hide in part; and whether they go on where it ends.

    Args:
        text: The words, folded.
        line: The line.
        window: Where in it they are aligned, half-open.
    """
    end, start = len(line.letters), window[0]
    every = Levenshtein.opcodes(line.letters[slice(*window)], text)
    edits = [op for op in every if op.tag != "equal"]
    over = [op.tag == "insert" and start + op.src_start in (0, end) for op in edits]
    first_or_last = [
        op.src_start < op.src_end and (start + op.src_end <= 1 or start + op.src_start >= end - 1)
        for op in edits
    ]
    longer = False
    for place, (low, high) in ((0, line.words[0]), (end, line.words[-1])):
        own = [op for op in edits if low <= start + op.src_start <= high]
        on = [op for op in own if op.tag == "insert" and start + op.src_start == place]
        off = sum(max(op.src_end - op.src_start, op.dest_end - op.dest_start) for op in own)
        off -= sum(op.dest_end - op.dest_start for op in on)
        longer |= bool(on) and off <= _HIDDEN * (high - low)
    return all(map(or_, over, first_or_last)), longer


def lacks_letters(text: str, line: Folded, window: tuple[int, int]) -> bool:
    """Whether words differ from a line in nothing but letters of its that they lack.

    Args:
        text: The words, folded.
        line: The line.
        window: Where in it they are aligned, half-open.
    """
    every = Levenshtein.opcodes(line.letters[slice(*window)], text)
    return {op.tag for op in every} <= {"equal", "delete"}


def changed(quote: str, line: str, piece: Piece, one: Substitution) -> list[str]:
    """The line as it would be read if words of the quote were right: in each case of letters, with
    its spaces and without; [] where letters with accents differ, which OCRs mistake with
    confidence.
    """
    said, read = fold(quote), fold(line)
    first, start = said.starts[piece.words[0]], piece.window[0]
    text = said.letters[first : said.starts[piece.words[1]]]
    low, high = _at(read, *one.place)
    edits = [
        (_at(read, start + op.src_start, start + op.src_end),
         quote[slice(*_at(said, first + op.dest_start, first + op.dest_end))])
        for op in Levenshtein.opcodes(read.letters[slice(*piece.window)], text)
        if op.tag != "equal"
    ]  # fmt: skip
    edits += [(place, "") for place in _cut_off(read, piece.window)]
    edits = [(place, wanted) for place, wanted in edits if low <= place[0] and place[1] <= high]
    if not all((line[a:b] + wanted).isascii() for (a, b), wanted in edits):
        return []
    ways = []
    for case in (str, str.upper, str.lower, str.title):
        whole = line
        for (a, b), wanted in sorted(edits, reverse=True):
            whole = whole[:a] + case(wanted) + whole[b:]
        # letter by letter only where the quote's words are aligned to these of the line
        letterwise = [whole] if edits else []
        for way in (*letterwise, line[:low] + case(one.span.of(quote)) + line[high:]):
            ways += [way.strip(), way.replace(" ", "")]
    bare = line.replace(" ", "")
    return [way for way in dict.fromkeys(ways) if way and way.replace(" ", "") != bare]


def _cut_off(read: Folded, window: tuple[int, int]) -> list[tuple[int, int]]:
    """What is left over of the line's words where the window cuts them."""
    before = [_at(read, start, window[0]) for start, end in read.words if start < window[0] < end]
    after = [_at(read, window[1], end) for start, end in read.words if start < window[1] < end]
    return before + after


def _at(folded: Folded, start: int, end: int) -> tuple[int, int]:
    """Folded letters as code points of the text; between two letters, a place."""
    if start < end:
        return folded.origin[start], folded.origin[end - 1] + 1
    place = folded.origin[start] if start < len(folded.origin) else folded.origin[-1] + 1
    return place, place


def substitutions(quote: str, line: str, piece: Piece) -> Iterator[Substitution]:
    """Words of the quote that differ, those next to each other as one, each time with the words of
    the line between those that are the same. A word too many or too few goes with its neighbor."""
    said, read = fold(quote), fold(line)
    same = _same_words(piece, said, read)
    low, high = piece.window
    ends = [(piece.words[0] - 1, (low, low)), *same, (piece.words[1], (high, high))]
    for n, ((k, (_, a)), (m, (b, _))) in enumerate(itertools.pairwise(ends)):
        words, place = (k + 1, m), (a, b)
        if words[0] == words[1] and a == b:
            continue
        if a == b and m == piece.words[1]:  # the line goes on in other words
            place = (a, b) = a, _along(read, a, m - k - 1)
        elif a == b and not n:
            place = (a, b) = _along(read, b, k + 1 - m), b
        if words[0] == words[1] or a == b:
            if n:
                words, place = (k, m), (ends[n][1][0], b)
            elif m < piece.words[1]:
                words, place = (k + 1, m + 1), (a, ends[n + 1][1][1])
        place = _whole(read, *place)
        span = _at(said, said.starts[words[0]], said.starts[words[1]])
        count = sum(place[0] <= start < place[1] for start in read.starts[:-1])
        span, shown = _with_marks(quote, span, line, _at(read, *place))
        alike = count == words[1] - words[0] and _joined(quote, span) == _joined(line, shown)
        yield Substitution(Span(*span), place, Span(*shown), alike)


def _joined(text: str, place: tuple[int, int]) -> tuple[bool, bool]:
    """Whether other words go on without a space, before a place and behind it."""
    sides = text[: place[0]].rpartition(" ")[2], text[place[1] :].partition(" ")[0]
    before, behind = (any(one.isalnum() for one in side) for side in sides)
    return before, behind


def _with_marks(
    quote: str, span: tuple[int, int], line: str, place: tuple[int, int]
) -> tuple[tuple[int, int], tuple[int, int]]:
    """Words of a quote and of a line, with the punctuation that the line has at their ends; none
    that the quote would end with."""
    before, behind = _marks(line[: place[0]][::-1]), _marks(line[place[1] :])
    start, end = span
    start -= _marks(quote[:start][::-1]) if before else 0
    end += _marks(quote[end:]) if behind else 0
    shown = place[0] - before, place[1] + behind
    while end == len(quote) and shown[1] > place[1] and line[shown[1] - 1] in ".,;:":
        shown = shown[0], shown[1] - 1
    return (start, end), shown


def _marks(text: str) -> int:
    """How many characters of punctuation a text begins with, up to a space or its end."""
    marks = text.split(" ")[0]
    return 0 if any(one.isalnum() for one in marks) else len(marks)


def _same_words(piece: Piece, said: Folded, read: Folded) -> list[tuple[int, tuple[int, int]]]:
    """Words that stand in the line as quoted: index, and where in the line, half-open."""
    first = said.starts[piece.words[0]]
    text = said.letters[first : said.starts[piece.words[1]]]
    edits = Levenshtein.editops(text, read.letters[slice(*piece.window)])
    edges = set(read.starts)
    found = []
    for k in range(*piece.words):
        start, end = (at - first for at in said.words[k])
        for block in edits.as_matching_blocks():
            if block.a <= start and end <= block.a + block.size:
                a = piece.window[0] + block.b + start - block.a
                if {a, a + end - start} <= edges:
                    found.append((k, (a, a + end - start)))
    return found


def _along(read: Folded, place: int, words: int) -> int:
    """The place so many words on, or back; the same where the line has no more."""
    ends = [end for _, end in read.words if end > place]
    starts = [start for start, _ in reversed(read.words) if start < place]
    on = ends if words > 0 else starts
    return on[min(abs(words), len(on)) - 1] if on else place


def _whole(read: Folded, start: int, end: int) -> tuple[int, int]:
    """A place in a line, with all of the words that it cuts."""
    for a, b in read.words:
        start = a if a < start < b else start
        end = b if a < end < b else end
    return start, end
