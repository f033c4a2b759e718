"""Whether an image bears out a quote.

The quote is aligned to the lines that the OCR read. Words that stand there bear it out. Words that
differ refute it where the OCR is sure of its own reading, and prefers it by far to what is quoted:
log P(line as read) - log P(line as quoted), which knows that an M may be an N. Words that are in no
line refute it where another line, well read, has their place between its other words. A quote of
which nothing is found is refuted if all else in the image that could be it is well read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from rapidfuzz import fuzz

from revise_captions.charts.ocr import TextLine
from revise_captions.critic.text.alignment import Alignment, Folded, Piece, align, fold
from revise_captions.critic.text.differences import Substitution, changed, is_beyond, substitutions
from revise_captions.records import Box, Span

#: How sure an OCR has to be of a line, on average of its letters, for its words to be written.
SURE = 0.96
#: By how much it must prefer what it reads to what is quoted, as a difference of natural
#: logarithms; and where it is less sure of the line.
LEAST_MARGIN, UNSURE_MARGIN = 9.0, 15.0
#: Of words none of which stands in the line as quoted, this share of letters may differ.
MOST_OFF = 0.34
#: Fewer letters than these are found everywhere; and of those of a longer quote.
LEAST_LETTERS, LEAST_APART = 3, 5
#: A text whose longest word has so many letters is missed where its words are not found by this
#: much on average, in percent, and none of them by this much.
LONG, RESEMBLES, SAME = 4, 65.0, 85.0
#: What is read with less is doubtful: it may be anything that is as long. Letters are about as wide
#: as this share of their height. Nobody reads what is lower than so many pixels.
DOUBTFUL, WIDTH, LOWEST = 0.9, 0.55, 8

Likelihoods = Callable[[TextLine, Sequence[str]], list[float]]


class QuoteOutcome(StrEnum):
    """What an image says of a quote."""

    BORNE_OUT = "borne out"
    REFUTED = "refuted"
    UNREADABLE = "not readable"


@dataclass(frozen=True, slots=True)
class ImageText:
    """What an OCR made of an image.

    Attributes:
        lines: As read.
        unread: What looks like text and cannot be read.
        again: The lines of another look, at another size, as text; asked for where it matters.
        likelihoods: The OCR's log P of texts in the place of a line.
    """

    lines: Sequence[TextLine]
    unread: Sequence[TextLine]
    again: Callable[[], Sequence[str]]
    likelihoods: Likelihoods


@dataclass(frozen=True, slots=True)
class Difference:
    """Words of a quote, and what is read in their place.

    Attributes:
        span: The words, half-open, in code points of the quote.
        right: What is read there.
        box: Of its line, in pixels.
        clear: Whether they are as many words.
    """

    span: Span
    right: str
    box: Box
    clear: bool


@dataclass(frozen=True, slots=True)
class QuoteCheck:
    """A quote, decided.

    Attributes:
        outcome: What it came to.
        differences: Of a refuted quote, where it differs; () where nothing of it is found.
    """

    outcome: QuoteOutcome
    differences: tuple[Difference, ...] = ()


_UNREADABLE = QuoteCheck(QuoteOutcome.UNREADABLE)


def check(quote: str, seen: ImageText) -> QuoteCheck:
    """Decides a quote, of at least one letter or digit."""
    texts = [line.text for line in seen.lines]
    said, read = fold(quote), [fold(text) for text in texts]
    found = align(quote, texts)
    if not found.cost:
        return QuoteCheck(QuoteOutcome.BORNE_OUT)
    off = [piece for piece in found.pieces if piece.cost]
    near = [piece for piece in off if _comparable(piece, said, read)]
    if not near and len(off) == len(found.pieces):
        absent = _is_absent(quote, said, seen)
        return QuoteCheck(QuoteOutcome.REFUTED) if absent else _UNREADABLE
    alone = not (near and _other_ways(quote, texts, near, found))
    if not alone and not any(_stands(piece, said, read) for piece in near):
        return _UNREADABLE
    differences = tuple(
        replace(one, clear=one.clear and alone)
        for piece in off
        for one in (
            _in_line(piece, quote, seen)
            if piece in near
            else _in_the_place(piece, found, quote, seen)
        )
    )
    return QuoteCheck(QuoteOutcome.REFUTED, differences) if differences else _UNREADABLE


def _comparable(piece: Piece, said: Folded, read: Sequence[Folded]) -> bool:
    """Whether a line is near enough to words to be what they quote, and not cut off there."""
    if piece.line is None:
        return False
    text = said.letters[said.starts[piece.words[0]] : said.starts[piece.words[1]]]
    whole = len(text) == len(said.letters)
    if len(text) < (LEAST_LETTERS if whole else LEAST_APART) and not (whole and text.isdigit()):
        return False
    if is_beyond(text, read[piece.line], piece.window):
        return False
    return _stands(piece, said, read) or piece.cost <= max(1, MOST_OFF * len(text))


def _stands(piece: Piece, said: Folded, read: Sequence[Folded]) -> bool:
    """Whether one of the words is in their line as quoted."""
    if piece.line is None:
        return False
    words = {said.letters[a:b] for a, b in said.words[slice(*piece.words)]}
    line = read[piece.line]
    return any(line.letters[a:b] in words for a, b in line.words if b - a >= LEAST_LETTERS)


def _other_ways(quote: str, texts: Sequence[str], near: Sequence[Piece], found: Alignment) -> bool:
    """Whether another text is as near to the quote: one of many alike, such as part numbers."""
    off = {fold(texts[piece.line]).letters for piece in near if piece.line is not None}
    others = [text for text in texts if fold(text).letters not in off]
    return align(quote, others).cost <= found.cost


def _in_line(piece: Piece, quote: str, seen: ImageText) -> list[Difference]:
    """How words differ from the line that they are aligned to, as far as that is sure."""
    assert piece.line is not None
    line = seen.lines[piece.line]
    return [
        Difference(one.span, one.right, line.box, _is_clear(one, line))
        for one in substitutions(quote, line.text, piece)
        if _is_sure(line, changed(quote, line.text, piece, one), seen)
    ]


def _is_clear(one: Substitution, line: TextLine) -> bool:
    """Whether words may be written: well read, as many as the quote's, and without accents."""
    return one.clear and line.score >= SURE and one.right.isascii()


def _is_sure(line: TextLine, ways: Sequence[str], seen: ImageText) -> bool:
    """Whether the OCR is sure that a line reads as it does, and in none of other ways."""
    if not ways or line.score < DOUBTFUL:
        return False
    own, *others = seen.likelihoods(line, [line.text, *ways])
    return own - max(others) >= (LEAST_MARGIN if line.score >= SURE else UNSURE_MARGIN)


def _in_the_place(piece: Piece, found: Alignment, quote: str, seen: ImageText) -> list[Difference]:
    """The line that stands where words should, after and before the quote's other words."""
    k = found.pieces.index(piece)
    sides = [
        seen.lines[other.line]
        for other in (*found.pieces[max(0, k - 1) : k], *found.pieces[k + 1 : k + 2])
        if not other.cost and other.line is not None
    ]
    used = {other.line for other in found.pieces if not other.cost}
    before = bool(k) and not found.pieces[k - 1].cost
    if not sides or sum(len(fold(line.text).letters) for line in sides) <= LEAST_LETTERS:
        return []
    places = [
        line
        for n, line in enumerate((*seen.lines, *seen.unread))
        if n not in used
        and (_follows(sides[0], line) if before else True)
        and (_follows(line, sides[-1]) if len(sides) > before else True)
    ]
    said = fold(quote)
    first, last = (said.starts[word] for word in piece.words)
    span = Span(said.origin[first], said.origin[last - 1] + 1)
    if len(places) != 1 or len(fold(places[0].text).letters) < LEAST_LETTERS:
        return []
    line = places[0]
    if line.score < SURE or not _is_sure(line, [span.of(quote)], seen):
        return []
    clear = len(fold(line.text).words) == piece.words[1] - piece.words[0] and line.text.isascii()
    return [Difference(span, line.text, line.box, clear)]


def _follows(line: TextLine, other: TextLine) -> bool:
    """Whether one reads on from a line in the other: beside it, or below."""
    left, top, right, bottom = line.box
    height = min(bottom - top, other.box[3] - other.box[1])
    if max(bottom - top, other.box[3] - other.box[1]) > 3 * height:
        return False
    shared = min(bottom, other.box[3]) - max(top, other.box[1])
    beside = shared > 0.5 * height and -0.5 * height < other.box[0] - right < 2 * height
    over = min(right, other.box[2]) - max(left, other.box[0])
    below = over > 0 and -0.7 * height < other.box[1] - bottom < 1.2 * height
    return beside or (below and shared < 0.7 * height)


def _is_absent(quote: str, said: Folded, seen: ImageText) -> bool:
    """Whether an image surely has none of a quote's words: it has text that is well read, nothing
    resembles them, in another look either, and nothing as long is doubtful."""
    words = [said.letters[a:b] for a, b in said.words]
    longest = max(words, key=len)
    if len(longest) < LONG or any(letter.isdigit() for letter in quote):
        return False  # short texts, codes and numbers are what is overlooked
    if not any(len(fold(x.text).letters) > LEAST_LETTERS and x.score >= SURE for x in seen.lines):
        return False
    doubtful = [line for line in (*seen.lines, *seen.unread) if line.score < DOUBTFUL]
    if any(_room(line) >= 0.5 * len(longest) for line in doubtful):
        return False
    own = [line.text for line in (*seen.lines, *seen.unread)]
    return not _resembled(words, own) and not _resembled(words, seen.again())


def _resembled(words: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether texts may be a garbled reading of words: all of them are more or less there, or one
    is but for a letter."""
    lines = [line for text in texts if len(line := fold(text).letters) >= LEAST_LETTERS]
    long = [word for word in words if len(word) > LEAST_LETTERS]
    alike = [max((fuzz.partial_ratio(word, line) for line in lines), default=0.0) for word in long]
    mean = sum(len(word) * one for word, one in zip(long, alike, strict=True))
    return mean >= RESEMBLES * sum(map(len, long)) or max(alike) >= SAME


def _room(line: TextLine) -> float:
    """For how many letters a line has room, so that they can be read."""
    low, long = sorted((line.box[2] - line.box[0], line.box[3] - line.box[1]))
    return long / (WIDTH * low) if low >= LOWEST else 0.0
