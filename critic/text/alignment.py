"""A quote against the lines that an OCR read: the words may be spread over lines in any order."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz
from rapidfuzz.distance import Levenshtein

#: What an OCR, and the eye, cannot tell apart without the word.
_ALIKE = str.maketrans({"o": "0", "l": "1", "i": "1", "|": "1"})
#: A line is looked at where so much of the words, in percent, is found in it.
_RESEMBLES = 50.0
#: … or where it has a word of theirs, of so many letters.
_WORD = 3
#: By how many letters a window in a line may differ from the words in length.
_SLACK = 3
#: Every further line costs a little, and words that differ: of two ways, the one over fewer lines.
_LINE = 0.01


@dataclass(frozen=True, slots=True)
class Folded:
    """A text without case, accents, spaces and punctuation.

    Attributes:
        letters: What is left, look-alikes (O and 0, I, l and 1) as one.
        origin: For each, where it stands in the text.
        starts: Where words begin, in `letters`; the last entry is their end.
    """

    letters: str
    origin: tuple[int, ...]
    starts: tuple[int, ...]

    @property
    def words(self) -> tuple[tuple[int, int], ...]:
        """Half-open, in `letters`."""
        return tuple(zip(self.starts, self.starts[1:], strict=False))


@lru_cache(4096)
def fold(text: str) -> Folded:
    """The text as quotes and lines are compared."""
    letters: list[str] = []
    origin: list[int] = []
    starts: list[int] = []
    inside = False
    for place, letter in enumerate(text):
        plain = unicodedata.normalize("NFKD", letter.casefold()).translate(_ALIKE)
        kept = [one for one in plain if one.isalnum()]
        if kept and not inside:
            starts.append(len(letters))
        if kept or not unicodedata.combining(letter):
            inside = bool(kept)
        letters += kept
        origin += [place] * len(kept)
    return Folded("".join(letters), tuple(origin), (*starts, len(letters)))


@dataclass(frozen=True, slots=True)
class Piece:
    """Words of a quote, and where they stand, all half-open and in folded letters.

    Attributes:
        words: From which word to which.
        line: Index of the line; None where no line has anything like them.
        window: Where in the line.
        cost: Letters that differ.
    """

    words: tuple[int, int]
    line: int | None
    window: tuple[int, int]
    cost: int


@dataclass(frozen=True, slots=True)
class Alignment:
    """A quote over lines, piece by piece, in the quote's order.

    Attributes:
        pieces: They cover all words.
        cost: Letters that differ.
    """

    pieces: tuple[Piece, ...]
    cost: int


def align(quote: str, lines: Sequence[str]) -> Alignment:
    """The cheapest way in which a quote's words stand in lines.

    A quote begins and ends anywhere in a line; where it goes on in another line, in any order, it
    reads the one to its end and the other from its beginning. Levenshtein's distance, by dynamic
    programming over words.

    Args:
        quote: With at least one letter or digit.
        lines: As read.
    """
    said, read = fold(quote), [fold(line) for line in lines]
    count = len(said.words)
    best: list[tuple[float, tuple[Piece, ...]]] = [(0.0, ())]
    for end in range(1, count + 1):
        ways = []
        for start in range(end):
            for piece in _pieces(said, read, start, end):
                before, pieces = best[start]
                off = _LINE * (1 + 2 * bool(piece.cost and piece.line is not None))
                ways.append((before + piece.cost + off, (*pieces, piece)))
        best.append(min(ways, key=lambda way: way[0]))
    pieces = best[-1][1]
    return Alignment(pieces, sum(piece.cost for piece in pieces))


def _pieces(said: Folded, read: Sequence[Folded], start: int, end: int) -> Iterator[Piece]:
    """Where some of a quote's words may stand, by line; and nowhere."""
    text = said.letters[said.starts[start] : said.starts[end]]
    yield Piece((start, end), None, (0, 0), len(text))
    first, last = start == 0, end == len(said.words)
    words = {said.letters[a:b] for a, b in said.words[start:end] if b - a >= _WORD}
    for k, line in enumerate(read):
        shared = any(line.letters[a:b] in words for a, b in line.words)
        if not line.letters or (not shared and fuzz.partial_ratio(text, line.letters) < _RESEMBLES):
            continue
        windows = [
            (_cost(text, line, a, b), (a, b)) for a, b in _windows(text, line.letters, first, last)
        ]
        cost, window = min(windows, key=lambda one: (one[0], one[1][0] - one[1][1]))
        if cost < len(text):
            yield Piece((start, end), k, window, cost)


def _windows(text: str, line: str, first: bool, last: bool) -> Iterator[tuple[int, int]]:
    """Where in a line words may stand: to its beginning unless they are a quote's first, to its
    end unless they are its last."""
    near = fuzz.partial_ratio_alignment(text, line)
    assert near is not None
    left = range(near.dest_start - _SLACK, near.dest_start + _SLACK + 1) if first else (0,)
    right = range(near.dest_end - _SLACK, near.dest_end + _SLACK + 1) if last else (len(line),)
    if first and not last:
        left = range(len(line) - len(text) - _SLACK, len(line) - len(text) + _SLACK + 1)
    if last and not first:
        right = range(len(text) - _SLACK, len(text) + _SLACK + 1)
    lefts = {min(max(a, 0), len(line)) for a in left}
    rights = {min(max(b, 0), len(line)) for b in right}
    return ((a, b) for a in sorted(lefts) for b in sorted(rights) if a <= b)


def _cost(text: str, line: Folded, start: int, end: int) -> int:
    """Letters that differ between words and a window, and what is left of words that it cuts: a
    missing letter, missing digits; more of them only where the words differ, as the OCR may have
    joined two words."""
    off = Levenshtein.distance(text, line.letters[start:end])
    return off + sum(
        left
        for left, digits in (_left_over(line, start, before=True), _left_over(line, end))
        if off or digits or left == 1
    )


def _left_over(line: Folded, at: int, *, before: bool = False) -> tuple[int, bool]:
    """How many letters of a word are on the other side of a place, and whether digits go on."""
    word = next((w for w in line.words if w[0] < at < w[1]), None)
    if word is None:
        return 0, False
    digits = line.letters[at - 1].isdigit() and line.letters[at].isdigit()
    return at - word[0] if before else word[1] - at, digits
