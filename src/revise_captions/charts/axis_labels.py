"""Labels of horizontal axes, with the columns that they stand for."""

from __future__ import annotations

from collections.abc import Sequence

from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box
from revise_captions.charts.labels import label_band, letters
from revise_captions.charts.numerals import date_of, is_date, parse, year_of
from revise_captions.charts.ocr import TextLine, TextWord
from revise_captions.charts.scales import anchor


def axis_labels(lines: Sequence[TextLine], height: float) -> list[tuple[TextWord, float]]:
    """Labels below an axis, with the column that each stands for, left to right.

    Args:
        lines: What stands below it.
        height: Of the text.
    """
    words: list[tuple[TextWord, float]] = []
    for line in lines:
        apart = [part for word in line.words for part in _years_apart(word)]
        parts = len(apart) > 1 and date_of(line.text) is None
        wide = parts and all(parse(one.text) is not None or is_date(one.text) for one in apart)
        if abs(line.angle) < 10 and wide:
            words += [(part, 0.0) for part in apart]
        else:
            words.append((TextWord(line.text, line.box), line.angle))
    if not words:
        return []
    band = label_band(words, height)
    placed = [(word, anchor(word.box, angle, height)[0]) for word, angle in band]
    return _stacked(sorted(placed, key=lambda pair: pair[1]), height)


def _years_apart(word: TextWord) -> list[TextWord]:
    """The years of a word that has several without a space: `20082010`."""
    count = len(word.text) // 4
    years = [word.text[4 * k : 4 * k + 4] for k in range(count)]
    if count < 2 or len(word.text) % 4 or any(year_of(year) is None for year in years):
        return [word]
    left, top, right, bottom = word.box
    step = (right - left) / count
    return [
        TextWord(year, (round(left + k * step), top, round(left + (k + 1) * step), bottom))
        for k, year in enumerate(years)
    ]


def _stacked(
    placed: Sequence[tuple[TextWord, float]], height: float
) -> list[tuple[TextWord, float]]:
    """Labels of two lines, such as a month over a year, as one."""
    found: list[tuple[TextWord, float]] = []
    for word, x in placed:
        last = found[-1] if found else None
        if last is not None and abs(last[1] - x) < 0.6 * height:
            pair = sorted((last[0], word), key=lambda one: one.box[1])
            if pair[1].box[1] >= pair[0].box[3] - 0.5 * height:
                box = _union(pair[0].box, pair[1].box)
                found[-1] = (TextWord(f"{pair[0].text} {pair[1].text}", box), last[1])
                continue
        found.append((word, x))
    return found


def _union(box: Box, other: Box) -> Box:
    return (
        min(box[0], other[0]),
        min(box[1], other[1]),
        max(box[2], other[2]),
        max(box[3], other[3]),
    )


def axis_row(lines: Sequence[TextLine], canvas: Canvas, foot: float) -> list[TextLine]:
    """The lowest row of labels above the notes that spans the image, and rows right below it."""
    height = canvas.text_height
    flat = [
        line for line in lines if abs(line.angle) < 10 and line.box[1] + line.box[3] <= 2 * foot
    ]
    for start in sorted(flat, key=lambda line: -line.box[1]):
        row = [line for line in flat if abs(line.box[1] - start.box[1]) <= 0.5 * height]
        words = [word for line in row for word in line.words]
        span = max(line.box[2] for line in row) - min(line.box[0] for line in row)
        dated = sum(is_date(word.text) for word in words)
        if span >= 0.4 * canvas.width and (dated >= 2 or (len(row) >= 3 and dated)):
            top = start.box[1] - 0.5 * height
            above = [
                line
                for line in flat
                if 0 < start.box[1] - line.box[1] <= 1.8 * height
                and len(line.text) <= 5
                and letters(line.text) >= 3
            ]
            if len(above) >= 0.6 * len(row):
                top = min(line.box[1] for line in above) - 1
            return [line for line in flat if top <= line.box[1] <= start.box[3] + 0.4 * height]
    return []
