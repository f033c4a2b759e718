"""Whether an image bears out a quote.

The quote is aligned to the lines that the OCR read. Words that stand there bear it out. Words that
differ refute it where the OCR is sure of its own reading, and prefers it by far to what is quoted:
log P(line as read) - log P(line as quoted), which knows that an M may be an N. Words that are in no
line refute it where another line, well read, has their place between its other words; or if
nothing in the image is anywhere near them, nor near any of a quote of which no word is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from itertools import combinations

from rapidfuzz import fuzz

from revise_captions.charts.ocr import TextLine
from revise_captions.critic.text.alignment import Alignment, Folded, Piece, align, fold
from revise_captions.critic.text.differences import (
    at_ends,
    changed,
    is_beyond,
    lacks_letters,
    substitutions,
)
from revise_captions.critic.text.spotting import Odds, is_spottable, traces
from revise_captions.records import Box, Span

#: How sure an OCR has to be of a line, on average of its letters, to have read it; and for a fix to
#: write its words.
SURE, WRITTEN = 0.96, 0.98
#: By how much it must prefer what it reads to what is quoted, as a difference of natural
#: logarithms; where they differ in a line's first or last letter alone, which something may hide in
#: part; where the quote lacks letters of the line, as OCRs mistake and overlook letters, but add
#: none that they are sure of; and where it is less sure of the line.
LEAST_MARGIN, END_MARGIN, LACKING_MARGIN, UNSURE_MARGIN = 9.0, 12.0, 6.0, 13.0
#: Of words none of which stands in the line as quoted, this share of letters may differ.
MOST_OFF = 0.34
#: Words are written where no more than this share of their quote's letters differs: beside a word
#: that stands, and without one.
BESIDE, APART = 0.6, 0.25
#: Fewer letters than these are found everywhere; and of those of a longer quote.
LEAST_LETTERS, LEAST_APART = 3, 5
#: Words are nowhere in an image if log P is below this per letter (`spotting.traces`), and if they
#: stand out less than this from their letters in other orders: where something looks like a line
#: and is not read, and where all is read.
UNREAD_BOUNDS, READ_BOUNDS = (-2.5, 1.5), (-2.0, 2.5)
#: Words of fewer letters are overlooked.
LEAST_MISSED = 5
#: Letters are at least this much wide as high.
NARROW = 0.35
#: Of another alphabet, noise makes up no more than this share of what is well read.
OTHER = 0.1
#: A line in the place of words is they themselves, cut or garbled, if it is so much like them.
SAME = 80.0
#: What is read with less is doubtful.
DOUBTFUL = 0.9

#: What an OCR cannot count.
_REPEATED = re.compile(r"(.)\1{2,}")

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
        odds: Of the letters of all that may be text, the faintest too; asked for where it matters.
        likelihoods: The OCR's log P of texts in the place of a line.
        scores: How sure it is of each of a line's letters; () where that is not known.
    """

    lines: Sequence[TextLine]
    unread: Sequence[TextLine]
    odds: Callable[[], Sequence[Odds]]
    likelihoods: Likelihoods
    scores: Callable[[TextLine], Sequence[float]]


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


def check(quote: str, seen: ImageText, stated: bool = True) -> QuoteCheck:
    """Decides a quote, of at least one letter or digit; one of which little is found only where it
    is `stated` that it is written in the image, word for word."""
    texts = [line.text for line in seen.lines]
    said, read = fold(quote), [fold(text) for text in texts]
    found = align(quote, texts)
    if not found.cost:
        return QuoteCheck(QuoteOutcome.BORNE_OUT)
    if not stated and found.cost > max(1, MOST_OFF * len(said.letters)):
        return _UNREADABLE  # it may be what something is called, or be in other words
    off = [piece for piece in found.pieces if piece.cost]
    near = [piece for piece in off if _comparable(piece, said, read)]
    alone = not (near and _other_ways(quote, texts, near, found))
    beside = any(not piece.cost or _stands(piece, said, read) for piece in found.pieces)
    most = (BESIDE if beside else APART) * len(said.letters)
    clear = alone and found.cost <= max(1, most)
    differences: tuple[Difference, ...] = ()
    if alone or any(_stands(piece, said, read) for piece in near):
        differences = tuple(
            one
            for piece in off
            for one in (
                _in_line(piece, quote, seen)
                if piece in near
                else _in_the_place(piece, found, quote, seen)
            )
        )
    clear = clear and all(one.clear and _is_meant(one, quote, read) for one in differences)
    differences = tuple(replace(one, clear=clear) for one in differences)
    if differences or (stated and _lacks_a_word(quote, said, read, seen)):
        return QuoteCheck(QuoteOutcome.REFUTED, differences)
    return _UNREADABLE


def _comparable(piece: Piece, said: Folded, read: Sequence[Folded]) -> bool:
    """Whether a line is near enough to words to be what they quote, and not cut off there."""
    if piece.line is None:
        return False
    text = said.letters[said.starts[piece.words[0]] : said.starts[piece.words[1]]]
    whole = len(text) == len(said.letters)
    longer = max(len(text), piece.window[1] - piece.window[0])
    if longer < (LEAST_LETTERS if whole else LEAST_APART) and not (whole and text.isdigit()):
        return False
    if is_beyond(text, read[piece.line], piece.window):
        return False
    return _stands(piece, said, read) or piece.cost <= max(1, MOST_OFF * len(text))


def _stands(piece: Piece, said: Folded, read: Sequence[Folded]) -> bool:
    """Whether a word, or short ones that follow each other, is in their line as quoted."""
    if piece.line is None:
        return False
    line, low, high = read[piece.line], *piece.words
    runs = _runs(said.letters, said.starts[low : high + 1])
    return not runs.isdisjoint(_runs(line.letters, line.starts))


def _runs(letters: str, starts: Sequence[int]) -> set[str]:
    """Words, and words that follow each other, of letters enough."""
    return {letters[a:b] for a, b in combinations(starts, 2) if b - a >= LEAST_LETTERS}


def _is_meant(one: Difference, quote: str, read: Sequence[Folded]) -> bool:
    """Whether it is this text that is meant: not where what is read is in the quote already, nor
    where words that differ are elsewhere in the image, unless the line has both neighbors."""
    said, right = fold(one.span.of(quote)), fold(one.right).letters
    before, after = fold(quote[: one.span.start]), fold(quote[one.span.end :])
    sides = [part.letters[a:b] for part in (before, after) for a, b in part.words]
    known = {line.letters[a:b] for line in read for a, b in line.words}
    if right in sides or not any(said.letters[a:b] in known for a, b in said.words):
        return right not in sides
    if not before.letters or not after.letters:
        return False
    around = before.letters[slice(*before.words[-1])] + right + after.letters[: after.starts[1]]
    return any(around in line.letters for line in read)


def _other_ways(quote: str, texts: Sequence[str], near: Sequence[Piece], found: Alignment) -> bool:
    """Whether another text is as near to the quote: one of many alike, such as part numbers."""
    off = {fold(texts[piece.line]).letters for piece in near if piece.line is not None}
    others = [text for text in texts if fold(text).letters not in off]
    return align(quote, others).cost <= found.cost


def _in_line(piece: Piece, quote: str, seen: ImageText) -> list[Difference]:
    """How words differ from the line that they are aligned to, as far as that is sure."""
    assert piece.line is not None
    line, said = seen.lines[piece.line], fold(quote)
    text = said.letters[said.starts[piece.words[0]] : said.starts[piece.words[1]]]
    cut, longer = at_ends(text, fold(line.text), piece.window)
    lacking = LACKING_MARGIN if lacks_letters(text, fold(line.text), piece.window) else LEAST_MARGIN
    margin, found = END_MARGIN if cut else lacking, []
    every = list(substitutions(quote, line.text, piece))
    scores = seen.scores(line) if every else ()
    for one in every:
        score, right = _mean(scores[slice(*one.shown)], line.score), one.shown.of(line.text)
        if _is_sure(line, changed(quote, line.text, piece, one), seen, margin, score):
            clear = one.clear and not longer and score >= WRITTEN and _is_copied(right)
            found.append(Difference(one.span, right, line.box, clear))
    return found


def _mean(scores: Sequence[float], of_line: float) -> float:
    """How sure an OCR is of a part of a line, on average of its letters; else of the line."""
    return sum(scores) / len(scores) if scores else of_line


def _is_sure(
    line: TextLine, ways: Sequence[str], seen: ImageText, margin: float, score: float
) -> bool:
    """Whether the OCR is sure that a part of a line reads as it does, and in none of other ways."""
    if not ways or score < DOUBTFUL or any(_counted(x) == _counted(line.text) for x in ways):
        return False
    own, *others = seen.likelihoods(line, [line.text, *ways])
    return own - max(others) >= (margin if score >= SURE else UNSURE_MARGIN)


def _counted(text: str) -> str:
    """A text without spaces, and letters three times in a row at most: OCRs cannot count them."""
    return _REPEATED.sub(r"\1\1\1", "".join(text.casefold().split()))


def _is_copied(right: str) -> bool:
    """Whether what is read is surely what stands there, to the letter: OCRs mistake accents."""
    return right.isascii() and _REPEATED.search(right) is None


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
    if fuzz.ratio(fold(line.text).letters, said.letters[first:last]) >= SAME:
        return []  # the words themselves, cut or garbled
    if not _is_sure(line, [span.of(quote)], seen, LEAST_MARGIN, line.score):
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


def _lacks_a_word(quote: str, said: Folded, read: Sequence[Folded], seen: ImageText) -> bool:
    """Whether an image has text that is well read, and surely none of one of a quote's words, nor a
    part of it or the like. Short texts, codes and numbers are what is overlooked."""
    words = {
        said.letters[a:b]
        for a, b in said.words
        if b - a >= LEAST_MISSED
        and not any(letter.isdigit() for letter in quote[said.origin[a] : said.origin[b - 1] + 1])
    }
    words = {word for word in words if not any(_may_be_cut(word, line) for line in read)}
    return bool(words) and _is_legible(quote, seen) and any(_is_nowhere(w, seen) for w in words)


def _may_be_cut(word: str, line: Folded) -> bool:
    """Whether a word is in a line, or in part at one of its ends."""
    parts = [line.letters[a:b] for a, b in line.words if b - a >= LEAST_LETTERS]
    if not parts:
        return False
    return word in line.letters or word.endswith(parts[0]) or word.startswith(parts[-1])


def _is_legible(quote: str, seen: ImageText) -> bool:
    """Whether an image has text that is well read, in the quote's alphabet and hardly any other: a
    quote may be a translation."""
    sure = [fold(line.text).letters for line in seen.lines if line.score >= SURE]
    letters = "".join(sure)
    other = sum(not is_spottable(letter) for letter in letters)
    own = all(one.isascii() for one in quote if one.isalnum()) and is_spottable(fold(quote).letters)
    return own and other <= OTHER * len(letters) and any(len(x) > LEAST_LETTERS for x in sure)


def _is_nowhere(word: str, seen: ImageText) -> bool:
    """Whether a word is unlikely at all places of an image, and no likelier than its letters in
    other orders; more surely so where something that it may stand in is not read."""
    blind = (line for line in (*seen.unread, *seen.lines) if line.score < DOUBTFUL)
    bounds = UNREAD_BOUNDS if any(_may_hold(line, word) for line in blind) else READ_BOUNDS
    return all(found < most for found, most in zip(traces(word, seen.odds()), bounds, strict=True))


def _may_hold(line: TextLine, word: str) -> bool:
    """Whether what looks like a line is long enough for a word."""
    left, top, right, bottom = line.box
    sides = sorted((right - left, bottom - top))
    return sides[1] >= NARROW * len(word) * sides[0]
