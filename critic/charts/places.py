"""Where numbers stand in an image: the words of their row and of what is above them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from revise_captions.charts.ocr import TextLine
from revise_captions.critic.charts.words import content_stems

_DIGITS = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?")
_YEAR = re.compile(r"\b(?:1[6-9]|20)\d\d\b")
#: How far text in a number's column may stand above it, in its heights; and a row's slack.
_ABOVE, _SLACK = 6.0, 0.3


@dataclass(frozen=True, slots=True)
class NumberPlace:
    """A number printed in an image.

    Attributes:
        value: Without its unit.
        words: Stems of the content words, and years, of its line, its row, and closely above it.
    """

    value: float
    words: frozenset[str]


def numbers_of(text: str) -> list[float]:
    """The numbers in a text."""
    return [float(found.replace(",", "")) for found in _DIGITS.findall(text)]


def words_and_years(text: str) -> frozenset[str]:
    """Stems of the content words of a text, and its years."""
    return content_stems(text) | frozenset(_YEAR.findall(text))


def places_of(lines: Sequence[TextLine]) -> tuple[NumberPlace, ...]:
    """The numbers in lines of text, with the words beside them."""
    words = [words_and_years(line.text) for line in lines]
    found = []
    for line in lines:
        values = numbers_of(line.text)
        if values:
            near = [w for other, w in zip(lines, words, strict=True) if _beside(line, other)]
            found += [NumberPlace(value, frozenset().union(*near)) for value in values]
    return tuple(found)


def _beside(line: TextLine, other: TextLine) -> bool:
    """Whether another line is the line itself, in its row, or closely above it."""
    left, top, right, bottom = other.box
    middle, slack = (line.box[1] + line.box[3]) / 2, _SLACK * line.height
    if top - slack <= middle <= bottom + slack:
        return True
    center = (line.box[0] + line.box[2]) / 2
    above = middle - (top + bottom) / 2
    in_column = left - line.height <= center <= right + line.height
    return in_column and 0 < above < _ABOVE * line.height


def support(value: float, mentioned: frozenset[str], places: Sequence[NumberPlace]) -> float | None:
    """The share of the chart's words in a sentence that stand beside a number of it, at best.

    Returns:
        0 … 1; None where the number is not printed, or the sentence has no word of the chart.
    """
    same = [place for place in places if place.value == value]
    if not same or not mentioned:
        return None
    return max(len(place.words & mentioned) for place in same) / len(mentioned)
