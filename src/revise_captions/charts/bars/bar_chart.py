"""Bar charts: bars in rows, with the numbers printed at them or measured on the axis's scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from revise_captions.charts.bars.rectangles import ChartBar
from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box, ChartMark
from revise_captions.charts.numerals import Numeral, parse
from revise_captions.charts.scales import FittedScale

#: Pixels by which an end of a bar may be off.
MEASURED = 1.0
#: Between segments of a stack, so many pixels may be seen.
_TOUCHING = 4
#: Of upright bars, so many stand on a line or on others.
_STANDING = 0.6
#: Of the bars, so many must have a number for them to count as printed values.
_PRINTED = 0.5
#: Groups are farther apart than their bars by this share of a bar's thickness.
_APART = 0.2
#: Tracks behind bars are gray, near the background's color in RGB, and in so many rows.
_GRAY, _PALE, _TRACKED = 24, 90.0, 0.6


@dataclass(frozen=True, slots=True)
class Frame:
    """Coordinates in which bars grow along one axis and stand side by side across it.

    Attributes:
        horizontal: Bars grow to the right; else upward, and `along` counts pixels from the bottom
            of the image up, as negative rows.
    """

    horizontal: bool

    def along(self, box: Box) -> tuple[float, float]:
        """(start, end) in the direction of growth."""
        return (box[0], box[2]) if self.horizontal else (-box[3], -box[1])

    def across(self, box: Box) -> tuple[float, float]:
        """(start, end) across it."""
        return (box[1], box[3]) if self.horizontal else (box[0], box[2])

    def middle(self, box: Box) -> float:
        """The center across."""
        start, end = self.across(box)
        return (start + end) / 2

    def length(self, box: Box) -> float:
        """Along."""
        start, end = self.along(box)
        return end - start

    def thickness(self, box: Box) -> float:
        """Across."""
        start, end = self.across(box)
        return end - start


@dataclass(frozen=True, slots=True)
class BarRow:
    """Bars at one place across: one, the segments of a stack, or those of several columns.

    Attributes:
        bars: In the direction of growth.
        place: The center across.
    """

    bars: tuple[ChartBar, ...]
    place: float


def orientation(found: Sequence[ChartBar]) -> tuple[Frame, list[ChartBar]]:
    """Which way most bars grow, and those of them that are equally thick."""
    best: tuple[float, Frame, list[ChartBar]] = (0.0, Frame(True), [])
    for frame in (Frame(True), Frame(False)):
        groups = _by_thickness(frame, found)
        for group in groups:
            starts = [frame.along(bar.box)[0] for bar in group]
            ends = [frame.along(bar.box)[1] for bar in group]
            # bars begin, or segments follow each other, at the same place; their ends differ
            shared = max(_most_common(starts), _most_common(ends))
            joined = _joined(frame, group)
            score = max(shared, joined) + 0.5 * len(group)
            if len(group) == 1:
                score = 0.1 + 0.1 * (frame.length(group[0].box) > frame.thickness(group[0].box))
            if score > best[0]:
                best = (score, frame, group)
    return best[1], best[2]


def _by_thickness(frame: Frame, found: Sequence[ChartBar]) -> list[list[ChartBar]]:
    ordered = sorted(found, key=lambda bar: frame.thickness(bar.box))
    groups: list[list[ChartBar]] = []
    for bar in ordered:
        thickness = frame.thickness(bar.box)
        if groups and thickness <= 1.12 * frame.thickness(groups[-1][0].box) + 2:
            groups[-1].append(bar)
        else:
            groups.append([bar])
    return groups


def _most_common(places: Sequence[float]) -> int:
    counts = Counter(round(place / 3) for place in places)
    return max(counts[k] + counts[k + 1] for k in counts)


def stand(frame: Frame, group: Sequence[ChartBar]) -> bool:
    """Whether most bars begin or end at one line or on other bars, unlike the parts of curves."""
    starts = [frame.along(bar.box)[0] for bar in group]
    ends = [frame.along(bar.box)[1] for bar in group]
    return _most_common(starts + ends) + _joined(frame, group) >= _STANDING * len(group)


def _joined(frame: Frame, group: Sequence[ChartBar]) -> int:
    """How many bars begin where another one ends."""
    ends = [(frame.along(bar.box)[1], frame.middle(bar.box)) for bar in group]
    return sum(
        any(
            abs(frame.along(bar.box)[0] - end) <= 4 and abs(frame.middle(bar.box) - place) <= 3
            for end, place in ends
        )
        for bar in group
    )


def rows_of(frame: Frame, group: Sequence[ChartBar]) -> list[BarRow]:
    """Bars at the same place across, in order."""
    rows: list[list[ChartBar]] = []
    for bar in sorted(group, key=lambda bar: frame.middle(bar.box)):
        place = frame.middle(bar.box)
        if rows and place - frame.middle(rows[-1][-1].box) <= 0.4 * frame.thickness(bar.box):
            rows[-1].append(bar)
        else:
            rows.append([bar])
    ordered = [tuple(sorted(row, key=lambda bar: frame.along(bar.box))) for row in rows]
    return [BarRow(row, sum(frame.middle(bar.box) for bar in row) / len(row)) for row in ordered]


def stacked_on(
    frame: Frame, found: Sequence[ChartBar], stands: Callable[[ChartBar], bool]
) -> list[ChartBar]:
    """The bars that stand on an axis, and those of other colors that are stacked on them."""
    kept = [bar for bar in found if stands(bar)]
    rest = [bar for bar in found if not stands(bar)]
    for bar in sorted(rest, key=lambda bar: frame.along(bar.box)[0]):
        across, start = frame.across(bar.box), frame.along(bar.box)[0]
        if any(
            bar.color != under.color
            and abs(start - frame.along(under.box)[1]) <= _TOUCHING
            and np.abs(np.subtract(across, frame.across(under.box))).max() <= 2
            for under in kept
        ):
            kept.append(bar)
    return kept


def groups_of(frame: Frame, rows: Sequence[BarRow]) -> list[list[int]]:
    """Indexes of rows that stand together, one of each color, as those of several series do."""
    alone = [[k] for k in range(len(rows))]
    if len(rows) < 4 or any(len(row.bars) > 1 for row in rows):
        return alone
    edges = [frame.across(row.bars[0].box) for row in rows]
    gaps = [after[0] - before[1] for before, after in pairwise(edges)]
    if max(gaps) - min(gaps) < max(3.0, _APART * frame.thickness(rows[0].bars[0].box)):
        return alone
    groups = [[0]]
    for k, gap in enumerate(gaps, start=1):
        if gap > (max(gaps) + min(gaps)) / 2:
            groups.append([k])
        else:
            groups[-1].append(k)
    colors = [[rows[k].bars[0].color for k in group] for group in groups]
    every = {color for own in colors for color in own}
    plain = all(len(set(own)) == len(own) for own in colors) and len(every) == max(map(len, colors))
    return groups if plain and len(groups) > 1 and len(every) > 1 else alone


def printed_values(
    frame: Frame, rows: Sequence[BarRow], canvas: Canvas, ticks: Iterable[Numeral]
) -> dict[ChartBar, Numeral]:
    """The number printed in each bar or just beyond its end; before it, if it grows backward."""
    used = {tick.box for tick in ticks}
    numerals = [one for one in canvas.numerals if one.box not in used and abs(one.angle) < 30]
    reach = 2.2 * canvas.text_height
    bars = [bar for row in rows for bar in row.bars]
    backward = _grow_backward(frame, bars)
    found: dict[ChartBar, Numeral] = {}
    for row in rows:
        low, high = frame.across(row.bars[0].box)
        slack = 0.3 * canvas.text_height
        first = frame.along(row.bars[0].box)[0] - (reach if row.bars[0] in backward else 0)
        near = [
            one
            for one in numerals
            if low - slack <= frame.middle(one.box) <= high + slack
            and sum(frame.along(one.box)) / 2 >= first
            and frame.along(one.box)[0] <= frame.along(row.bars[-1].box)[1] + reach
        ]
        if frame.horizontal and len(near) < len(row.bars):
            near = [part for one in near for part in _parted(one, row)]
        found.update(_in_row(frame, row, near, reach))
    return found


def _parted(one: Numeral, row: BarRow) -> list[Numeral]:
    """The numbers of two narrow segments that OCR joined, as `910` for 9 and 10."""
    left, top, right, bottom = one.box
    for bar in row.bars[:-1]:
        end = bar.box[2]
        at = round(len(one.text) * (end - left) / (right - left))
        # no number begins with a zero
        at -= one.text[at : at + 1] == "0"
        inner = left + 0.2 * (right - left) < end < right - 0.2 * (right - left)
        if inner and one.text.isdigit() and 0 < at < len(one.text):
            halves = (
                (one.text[:at], (left, top, end, bottom)),
                (
                    one.text[at:],
                    (end, top, right, bottom),
                ),
            )
            parts = [parse(text, box, one.angle, one.height) for text, box in halves]
            return [part for part in parts if part is not None]
    return [one]


def _grow_backward(frame: Frame, bars: Sequence[ChartBar]) -> set[ChartBar]:
    """Bars to the left of a common line, or below it, as of those who disagree."""
    ends = [frame.along(bar.box)[1] for bar in bars]
    starts = [frame.along(bar.box)[0] for bar in bars]
    if len(bars) < 2 or _most_common(ends) <= _most_common(starts):
        common = Counter(round(start / 3) for start in starts).most_common(1)[0][0] * 3
    else:
        common = Counter(round(end / 3) for end in ends).most_common(1)[0][0] * 3
    return {bar for bar, end in zip(bars, ends, strict=True) if abs(end - common) <= 5}


def _in_row(
    frame: Frame, row: BarRow, near: Sequence[Numeral], reach: float
) -> dict[ChartBar, Numeral]:
    def center(one: Numeral) -> float:
        start, end = frame.along(one.box)
        return (start + end) / 2

    ordered = sorted(near, key=center)
    if len(ordered) == len(row.bars):
        return dict(zip(row.bars, ordered, strict=True))
    pairs = []
    for bar in row.bars:
        start, end = frame.along(bar.box)
        for one in ordered:
            low, high = frame.along(one.box)
            # inside, beyond the end, before the beginning
            gap = 0.0 if start <= center(one) <= end else min(abs(low - end), abs(start - high) + 1)
            if gap <= reach:
                pairs.append((gap, bar, one))
    found: dict[ChartBar, Numeral] = {}
    taken: set[Box] = set()
    for _, bar, one in sorted(pairs, key=lambda pair: pair[0]):
        if bar not in found and one.box not in taken:
            found[bar] = one
            taken.add(one.box)
    return found


def without_tracks(
    frame: Frame, rows: Sequence[BarRow], printed: dict[ChartBar, Numeral], canvas: Canvas
) -> tuple[list[BarRow], dict[ChartBar, Numeral]]:
    """Rows without the pale bars that run on to a common end, behind which the numbers stand."""
    tracks = {
        row.bars[1]
        for row in rows
        if len(row.bars) == 2
        and _is_pale(canvas, row.bars[1].color)
        and not _holds(frame, row, printed)
    }
    ends = [frame.along(row.bars[-1].box)[1] for row in rows]
    if len(tracks) < _TRACKED * len(rows) or max(ends) - min(ends) > 4:
        return list(rows), printed
    kept = [BarRow(row.bars[:1] if row.bars[-1] in tracks else row.bars, row.place) for row in rows]
    numbers = {}
    for row, own in zip(rows, kept, strict=True):
        found = [printed[bar] for bar in row.bars if bar in printed]
        if len(own.bars) == len(found) == 1:
            numbers[own.bars[0]] = found[0]
    return kept, numbers


def _is_pale(canvas: Canvas, color: int) -> bool:
    shade = canvas.palette[color]
    return bool(np.ptp(shade) <= _GRAY and np.linalg.norm(shade - canvas.palette[0]) <= _PALE)


def _holds(frame: Frame, row: BarRow, printed: dict[ChartBar, Numeral]) -> bool:
    """Whether a number stands in a row's last bar, or each of its bars has one."""
    last = row.bars[-1]
    if all(bar in printed for bar in row.bars):
        return True
    return last in printed and sum(frame.along(printed[last].box)) / 2 < frame.along(last.box)[1]


def values(
    frame: Frame,
    rows: Sequence[BarRow],
    printed: dict[ChartBar, Numeral],
    scale: FittedScale | None,
) -> dict[ChartBar, ChartMark]:
    """Each bar's value without its category: printed, or measured on the axis or on its likes."""
    bars = [bar for row in rows for bar in row.bars]
    if len(printed) < _PRINTED * len(bars) and scale is not None:
        printed = {}
    unit = _unit_length(frame, printed)
    return {bar: _value(frame, bar, printed.get(bar), scale, unit) for bar in bars}


def _value(
    frame: Frame,
    bar: ChartBar,
    numeral: Numeral | None,
    scale: FittedScale | None,
    unit: float | None,
) -> ChartMark:
    if numeral is not None:
        return ChartMark("", numeral.value, True, numeral.step / 2, 0.0, bar.box)
    if scale is not None:
        per_pixel = abs(scale.a)
        value = _on_scale(frame, bar, scale)
        return ChartMark("", value, False, MEASURED * per_pixel, MEASURED, bar.box)
    if unit is not None:
        value = unit * frame.length(bar.box)
        return ChartMark("", value, False, 2 * MEASURED * abs(unit), 2 * MEASURED, bar.box)
    return ChartMark("", None, False, 0.0, 0.0, bar.box)


def _on_scale(frame: Frame, bar: ChartBar, scale: FittedScale) -> float:
    """The far end's value if the bar stands on zero or the axis's end, else the length's."""
    first, second = (bar.box[0], bar.box[2]) if frame.horizontal else (bar.box[3], bar.box[1])
    near, far = scale.value(first), scale.value(second)
    slack = 5 * abs(scale.a)
    # where the axis does not begin at zero, its first label stands for the foot of all bars
    foot = 0.0 if scale.pixel(0.0) >= 0 else near
    if abs(far - foot) <= slack and abs(near - foot) > slack:
        return near - (far if foot == 0.0 else 0.0)
    values = [tick.value for tick in scale.ticks]
    foots = (0.0, min(values), max(values)) if min(values) > 0 else (0.0,)
    if abs(near) <= slack:
        return far - near
    if any(abs(near - one) <= slack for one in foots):
        return far
    return far - near


def _unit_length(frame: Frame, printed: dict[ChartBar, Numeral]) -> float | None:
    """Units a pixel, from bars with printed numbers, if these agree."""
    rates = [
        numeral.value / frame.length(bar.box)
        for bar, numeral in printed.items()
        if frame.length(bar.box) > 10 and numeral.value
    ]
    if len(rates) < 3:
        return None
    middle = float(np.median(rates))
    off = float(np.median(np.abs(np.array(rates) / middle - 1)))
    return middle if off < 0.1 else None
