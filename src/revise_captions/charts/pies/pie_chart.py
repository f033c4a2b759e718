"""Pie charts: slices with what is printed in them, beside them, or in a legend."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np

from revise_captions.charts import labels, legends
from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box, Chart, ChartAxis, ChartMark, ChartSeries
from revise_captions.charts.numerals import Numeral, parse
from revise_captions.charts.ocr import TextLine
from revise_captions.charts.pies.discs import Disc, find_discs, text_boxes

#: Pixels by which a slice's length along the rim may be off.
MEASURED = 2.0
#: Lines of a label follow each other with no more than this between them, in heights of text.
_NEXT = 0.45
#: Labels stand no farther from the rim: in radii, and in heights of text.
_REACH, _REACH_LINES = 0.5, 2.0
#: A label is no wider, in radii, if it stands above or below the disc.
_WIDE = 1.7
#: A label belongs to no slice that is more degrees away, if it has no number and if it has one.
_AWAY, _AWAY_NUMBER = 35.0, 60.0
#: Percentage points by which a printed number may differ from its slice.
_DIFFERS = 4.0
#: Of the slices, so many must have names.
_NAMED = 0.6


@dataclass(frozen=True, slots=True)
class _Label:
    """Text that belongs together: a name, a number, or both.

    Attributes:
        name: "" for a number alone.
        numeral: None for a name alone.
        box: Around all of it.
        lines: The boxes of its lines.
    """

    name: str
    numeral: Numeral | None
    box: Box
    lines: tuple[Box, ...]


@dataclass(slots=True)
class _Slots:
    """What a slice is called, and the number that is printed for it."""

    name: str = ""
    numeral: Numeral | None = None


def pie_charts(canvas: Canvas) -> list[Chart]:
    """The pies and donuts of an image whose slices have names; [] if there are none."""
    discs = find_discs(canvas)
    known = set(text_boxes(canvas))
    lines = [line for line in canvas.lines if line.box in known and abs(line.angle) < 15]
    used: set[Box] = set()
    found = []
    for disc in discs:
        chart, taken = _chart(
            canvas, disc, [line for line in lines if _nearest(line.box, discs) is disc]
        )
        used |= taken
        if chart is not None:
            found.append((disc, chart))
    top = min((disc.box[1] for disc in discs), default=0)
    heads = [
        _heading(disc, lines, used, canvas.text_height) if len(discs) > 1 else []
        for disc, _ in found
    ]
    title = labels.title_of(lines, top, used | {line.box for own in heads for line in own})
    return [
        replace(chart, title=title, series=(replace(chart.series[0], name=labels.joined(own)),))
        for (_, chart), own in zip(found, heads, strict=True)
    ]


def _heading(
    disc: Disc, lines: Sequence[TextLine], used: Collection[Box], height: float
) -> list[TextLine]:
    """The line right above one of several discs."""
    over = [
        line
        for line in lines
        if line.box not in used
        and disc.box[0] <= _middle(line.box) <= disc.box[2]
        and 0 <= disc.box[1] - line.box[3] + 0.5 * height <= 4 * height
    ]
    return sorted(over, key=lambda line: -line.box[1])[:1]


def _nearest(box: Box, discs: Sequence[Disc]) -> Disc:
    return min(discs, key=lambda disc: _gap(disc, box))


def _chart(canvas: Canvas, disc: Disc, lines: Sequence[TextLine]) -> tuple[Chart | None, set[Box]]:
    """The chart of a disc, without its title, and the boxes of the text that it took."""
    notes, source, foot = labels.foot_of(lines, disc.box[3] - 0.3 * disc.radius)
    lines = [line for line in lines if line.box[1] < foot]
    slots, taken = _legend(canvas, disc, lines)
    reach = _REACH * disc.radius + _REACH_LINES * canvas.text_height
    near = [
        line
        for line in lines
        if line.box not in taken
        and _gap(disc, line.box) <= reach
        and not _is_wide(disc, line.box)
        and not _in_hole(disc, line.box)
    ]
    found = _with_signs(_labels(disc, near, canvas.text_height))
    total = _total(disc, found, slots)
    taken |= _assign(disc, found, slots, total)
    if sum(bool(one.name) for one in slots) < _NAMED * len(slots):
        return None, set()
    series = ChartSeries("", "", tuple(_marks(disc, slots, total)))
    axis = ChartAxis(unit="%" if total == 100 else "")
    box = (0, 0, canvas.width, canvas.height)
    return Chart("pie", y=axis, series=(series,), notes=notes, source=source, box=box), taken


def _gap(disc: Disc, box: Box) -> float:
    """Pixels between a box and the rim, negative inside."""
    x, y = _nearest_point(disc, box)
    return float(np.hypot(x - disc.x, y - disc.y)) - disc.radius


def _nearest_point(disc: Disc, box: Box) -> tuple[float, float]:
    """The point of a box that is nearest to the disc's center."""
    return min(max(disc.x, box[0]), box[2]), min(max(disc.y, box[1]), box[3])


def _within(disc: Disc, box: Box) -> bool:
    """Whether a box's center lies in the disc."""
    return disc.polar((box[0] + box[2]) / 2, (box[1] + box[3]) / 2)[1] < 1


def _in_hole(disc: Disc, box: Box) -> bool:
    x, y = _middle(box), (box[1] + box[3]) / 2
    return disc.polar(x, y)[1] * disc.radius < disc.hole


def _is_wide(disc: Disc, box: Box) -> bool:
    """Whether a line is a title or note above or below the disc."""
    beyond = box[3] <= disc.box[1] + 2 or box[1] >= disc.box[3] - 2
    return beyond and box[2] - box[0] > _WIDE * disc.radius


def _legend(canvas: Canvas, disc: Disc, lines: Sequence[TextLine]) -> tuple[list[_Slots], set[Box]]:
    """Names and numbers of slices by the legend, if there is one, and the boxes of its text."""
    outside = tuple(line for line in lines if not _within(disc, line.box))
    colors = [one.color for one in disc.slices]
    names, boxes = legends.legend(replace(canvas, lines=outside), set(colors))
    slots = [_Slots() for _ in colors]
    if len(names) < max(2, _NAMED * len(set(colors))):
        return slots, set()
    for k, color in enumerate(colors):
        if color in names and color not in colors[:k]:
            name, _, last = names[color].rpartition(" ")
            numeral = parse(last)
            if name and numeral is not None and numeral.unit == "%":
                slots[k] = _Slots(labels.clean(name), numeral)
            else:
                slots[k] = _Slots(names[color])
    return slots, boxes


def _labels(disc: Disc, lines: Sequence[TextLine], height: float) -> list[_Label]:
    """Lines that follow each other, inside the disc or outside of it, as labels."""
    found: list[_Label] = []
    for line in sorted(lines, key=lambda line: line.box[1]):
        own = _label(line)
        before = [one for one in found if _follows(disc, one, own, height)]
        if not before:
            found.append(own)
            continue
        last = min(before, key=lambda one: abs(_middle(one.box) - _middle(own.box)))
        found[found.index(last)] = _Label(
            f"{last.name} {own.name}".strip(),
            last.numeral or own.numeral,
            _around(last.box, own.box),
            (*last.lines, *own.lines),
        )
    return found


def _with_signs(found: Sequence[_Label]) -> list[_Label]:
    """Labels beside percentages, of whose numbers OCR took the sign for a digit: 276 for 27%."""
    if not any(one.numeral and one.numeral.unit == "%" for one in found):
        return list(found)
    return [
        replace(one, numeral=replace(one.numeral, value=one.numeral.value // 10, unit="%"))
        if one.numeral and one.numeral.value > 100 and one.numeral.step == 1
        else one
        for one in found
    ]


def _label(line: TextLine) -> _Label:
    """A line: the number that it is or has, if that is a percentage, and its other words."""
    whole = parse(line.text, line.box, line.angle, line.height)
    if whole is not None:
        return _Label("", whole, line.box, (line.box,))
    shares = [word for word in line.words if _share(word.text) is not None]
    words = [word.text for word in line.words if word not in shares]
    numeral = _share(shares[0].text) if len(shares) == 1 else None
    name = " ".join(words) if numeral is not None else line.text
    return _Label(labels.clean(name), numeral, line.box, (line.box,))


def _share(text: str) -> Numeral | None:
    numeral = parse(text)
    return numeral if numeral is not None and numeral.unit == "%" else None


def _follows(disc: Disc, one: _Label, other: _Label, height: float) -> bool:
    """Whether a label goes on below one: centered, or flush, and with no more than one number."""
    if one.numeral is not None and other.numeral is not None:
        return False
    if _within(disc, one.box) != _within(disc, other.box):
        return False
    last = one.lines[-1]
    gap = other.box[1] - last[3]
    off = min(
        abs(_middle(last) - _middle(other.box)),
        abs(last[0] - other.box[0]),
        abs(last[2] - other.box[2]),
    )
    return -0.8 * height <= gap <= _NEXT * height and off <= 0.6 * height


def _middle(box: Box) -> float:
    return (box[0] + box[2]) / 2


def _around(box: Box, other: Box) -> Box:
    low = (min(box[0], other[0]), min(box[1], other[1]))
    return *low, max(box[2], other[2]), max(box[3], other[3])


def _total(disc: Disc, found: Sequence[_Label], slots: Sequence[_Slots]) -> float:
    """What all slices sum to: 100 if numbers are percentages, else by the numbers in slices."""
    every = [*(one.numeral for one in found), *(one.numeral for one in slots)]
    numerals = [one for one in every if one is not None]
    if 2 * len(numerals) < len(slots) or any(one.unit == "%" for one in numerals):
        return 100.0
    rates = [
        label.numeral.value * 360 / disc.slices[k].sweep
        for label in found
        if label.numeral is not None
        for k in range(len(disc.slices))
        if _within(disc, label.box) and _off(disc, k, label) == 0
    ]
    total = float(np.median(rates)) if rates else sum(one.value for one in numerals)
    return 100.0 if 85 < total < 115 else total


def _off(disc: Disc, k: int, label: _Label) -> float:
    """Degrees between a label and a slice, 0 where it lies at its angles."""
    inside = _within(disc, label.box)
    box = label.box
    point = (_middle(box), (box[1] + box[3]) / 2) if inside else _nearest_point(disc, box)
    return max(0.0, _turn(disc, k, point) - disc.slices[k].sweep / 2)


def _turn(disc: Disc, k: int, point: tuple[float, float]) -> float:
    angle = disc.polar(*point)[0]
    return abs((angle - disc.slices[k].middle + 180) % 360 - 180)


def _differs(disc: Disc, k: int, numeral: Numeral, total: float) -> float:
    """Percentage points between a number and its slice's share."""
    return abs(100 * numeral.value / total - disc.slices[k].sweep / 3.6)


def _assign(disc: Disc, found: Sequence[_Label], slots: list[_Slots], total: float) -> set[Box]:
    """Gives each label to the slice that it fits best; returns the boxes of those given."""
    pairs = []
    for label in found:
        for k in range(len(slots)):
            off = _off(disc, k, label)
            if off > (_AWAY if label.numeral is None else _AWAY_NUMBER):
                continue
            cost = off + 10 * max(0.0, _gap(disc, label.box)) / disc.radius
            if label.numeral is not None:
                differs = _differs(disc, k, label.numeral, total)
                cost += 8 * max(0.0, differs - 1)
            pairs.append((cost, k, label))
    taken: set[Box] = set()
    for _, k, label in sorted(pairs, key=lambda pair: pair[0]):
        slot = slots[k]
        if taken & set(label.lines):
            continue
        if (label.name and slot.name) or (label.numeral and slot.numeral):
            continue
        slots[k] = _Slots(slot.name or label.name, slot.numeral or label.numeral)
        taken |= set(label.lines)
    return taken


def _marks(disc: Disc, slots: Sequence[_Slots], total: float) -> list[ChartMark]:
    """The value of each slice: its number, or its share of the rim where there is none."""
    marks = []
    for k, (one, slot) in enumerate(zip(disc.slices, slots, strict=True)):
        box = _box(disc, k)
        numeral = slot.numeral
        if numeral is not None and _differs(disc, k, numeral, total) <= _DIFFERS:
            marks.append(ChartMark(slot.name, numeral.value, True, numeral.step / 2, 0.0, box))
        else:
            tolerance = total * MEASURED / (2 * np.pi * disc.radius)
            value = total * one.sweep / 360
            marks.append(ChartMark(slot.name, value, False, float(tolerance), MEASURED, box))
    return marks


def _box(disc: Disc, k: int) -> Box:
    """The bounding box of a slice."""
    one = disc.slices[k]
    inner = disc.hole / disc.radius
    corners = [
        disc.point(one.start + share * one.sweep, radii)
        for share in np.linspace(0, 1, 25)
        for radii in (inner, 1.0)
    ]
    xs, ys = zip(*corners, strict=True)
    return round(min(xs)), round(min(ys)), round(max(xs)) + 1, round(max(ys)) + 1
