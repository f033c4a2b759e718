"""Line and area charts: where curves stand at the labels of the horizontal axis."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from revise_captions.charts.canvas import Canvas
from revise_captions.charts.chart import Box, ChartMark, ChartSeries
from revise_captions.charts.numerals import Numeral, date_of, year_of
from revise_captions.charts.ocr import TextWord
from revise_captions.charts.scales import FittedScale
from revise_captions.charts.shapes import Curve

#: Pixels by which a curve's height may be off.
MEASURED = 1.5
#: A curve is straight between two points where it leaves their line by no more pixels, but at few
#: places, where a thick line's corner sticks out.
_STRAIGHT, _FEW, _CORNER = 1.0, 0.1, 2.0
#: Longer ranges of years are read at their tick labels only.
_MOST_YEARS = 80
#: A number belongs to a curve not farther away than so many heights of text.
_NEAR = 2.6
#: A printed number may be off its curve's height by this share of what the curves span.
_OFF = 0.1


@dataclass(frozen=True, slots=True)
class Station:
    """A place on the horizontal axis.

    Attributes:
        category: Its label, or the year between two labels.
        x: Pixel column.
        labeled: Whether a label stands there.
    """

    category: str
    x: float
    labeled: bool = True


def stations(labels: Sequence[tuple[TextWord, float]], extent: tuple[int, int]) -> list[Station]:
    """Where curves are read: at every year if labels are years, else at the labels.

    Args:
        labels: Below the axis, with the column that each stands for.
        extent: First column of the curves, and the one after the last.
    """
    dated = [(year_of(word.text), x) for word, x in labels]
    years = [(year, x) for year, x in dated if year is not None]
    fitted = _year_line(years) if len(years) >= max(2, 0.6 * len(labels)) else None
    if fitted is None:
        return [Station(word.text.strip(" .-–_:"), x) for word, x in labels]
    slope, offset = fitted
    first, last = extent[0], extent[1] - 1
    start, end = slope * first + offset, slope * last + offset
    low, high = round(start), round(end)
    if high - low < 1 or high - low > _MOST_YEARS:
        return [Station(str(year), x) for year, x in years]
    known = {year for year, _ in years}
    if abs(start - low) < 0.35 and abs(end - high) < 0.35:
        # curves begin and end at a year: their ends are more exact than labels
        slope = (high - low) / (last - first)
        offset = low - slope * first
    else:
        # markers hide the ends of a curve
        hidden = min(0.45, 0.6 * slope * float(np.median([w.box[3] - w.box[1] for w, _ in labels])))
        low, high = int(np.ceil(start - 0.1)), int(np.floor(end + 0.1))
        low -= low - 1 in known and start - low + 1 <= hidden
        high += high + 1 in known and high + 1 - end <= hidden
    return [
        Station(str(year), (year - offset) / slope, year in known) for year in range(low, high + 1)
    ]


def _year_line(years: Sequence[tuple[float, float]]) -> tuple[float, float] | None:
    """(slope, offset) of years over columns, by most pairs' agreement; None if they disagree."""
    ordered = sorted(years, key=lambda pair: pair[1])
    values = np.array([year for year, _ in ordered], dtype=float)
    places = np.array([x for _, x in ordered])
    best: np.ndarray | None = None
    for i in range(len(values)):
        for j in range(i + 1, len(values)):
            if values[j] <= values[i] or places[j] - places[i] < 4:
                continue
            slope = (values[j] - values[i]) / (places[j] - places[i])
            off = np.abs(values[i] + slope * (places - places[i]) - values)
            near = np.flatnonzero(off < max(0.4, 0.06 * (values.max() - values.min())))
            if best is None or len(near) > len(best):
                best = near
    if best is None or len(best) < 0.7 * len(values) or len(best) < 2:
        return None
    slope, offset = np.polyfit(places[best], values[best], 1)
    return float(slope), float(offset)


def bends(curves: Sequence[Curve], places: list[Station]) -> list[Station]:
    """The stations without those between labels if curves bend at labels and nowhere else.

    Then there is a point at each label, and what lies between was never measured.
    """
    labeled = [place for place in places if place.labeled]
    if len(labeled) < 4 or len(labeled) == len(places):
        return places
    bent = 0
    for one in curves:
        known = [(place.x, y) for place in labeled if (y := one.at(place.x)) is not None]
        if len(known) < 2:
            return places
        xs, ys = np.array(known).T
        steps = np.diff(ys) / np.diff(xs)
        bent = max(bent, int((np.abs(np.diff(steps)) * np.diff(xs)[1:] > _STRAIGHT).sum()))
        between = [place.x for place in places if not place.labeled and xs[0] < place.x < xs[-1]]
        off = np.abs(np.interp(between, one.xs, one.ys) - np.interp(between, xs, ys))
        if (off > _CORNER).any() or (off > _STRAIGHT).sum() > _FEW * len(off):
            return places
    if not bent:
        return places
    inner = range(places.index(labeled[0]), places.index(labeled[-1]) + 1)
    return [place for k, place in enumerate(places) if place.labeled or k not in inner]


def measured(
    curves: Sequence[Curve], places: Sequence[Station], scale: FittedScale
) -> list[list[ChartMark]]:
    """Each curve's values at the stations that it reaches, on the axis's scale."""
    return [
        [
            _mark(station, y, scale.value(y), MEASURED * abs(scale.a))
            for station in places
            if (y := one.at(station.x)) is not None
        ]
        for one in curves
    ]


def _mark(station: Station, y: float, value: float, tolerance: float) -> ChartMark:
    box = (round(station.x) - 3, round(y) - 3, round(station.x) + 4, round(y) + 4)
    return ChartMark(station.category, value, False, tolerance, MEASURED, box)


def with_dates(
    curves: Sequence[Curve],
    places: list[Station],
    labels: Sequence[tuple[TextWord, float]],
    numerals: Sequence[Numeral],
) -> list[Station]:
    """Stations for numbers that stand between dated labels, named by their years."""
    dated = [(date_of(word.text), x) for word, x in labels]
    known = [(date, x) for date, x in dated if date is not None]
    if len(known) < 2 or len(known) < 0.6 * len(labels) or not places:
        return places
    fitted = _year_line(known)
    if fitted is None:
        return places
    slope, offset = fitted
    # where all points stand at labels, a number farther from one is still that point's
    wide = all(place.labeled for place in places) and slope * (places[-1].x - places[0].x) > len(
        places
    )
    close = (0.45 if wide else 0.25) * float(np.median(np.diff(sorted(x for _, x in known))))
    found = list(places)
    for one in sorted(numerals, key=lambda one: one.center[0]):
        x = _station_of(curves, one)
        year = str(int(slope * x + offset + 1e-6))
        near = min(abs(place.x - x) for place in found) <= close
        if not near and all(place.category != year for place in found):
            found.append(Station(year, x))
    return sorted(found, key=lambda place: place.x)


def _station_of(curves: Sequence[Curve], one: Numeral) -> float:
    """The column of the curve that a number stands at, which may be beyond the curve's end."""
    x, y = one.center
    ends = [each.nearest(x) for each in curves]
    levels = [each.at(end) for each, end in zip(curves, ends, strict=True)]
    offs = [abs(y - level) if level is not None else np.inf for level in levels]
    return ends[int(np.argmin(offs))]


def printed(
    curves: Sequence[Curve],
    places: Sequence[Station],
    canvas: Canvas,
    numerals: Sequence[Numeral],
    scale: FittedScale | None = None,
) -> list[dict[int, Numeral]]:
    """For each curve, the number printed at a station, by the station's index.

    A number goes to the nearest curve, sooner to one of its own color, and to the nearest station;
    with a scale, to the near curve whose height comes nearest to its value.
    """
    if not places:
        return [{} for _ in curves]
    found: list[dict[int, Numeral]] = [{} for _ in curves]
    taken: set[Box] = set()
    colors = [each.color for each in curves]
    inks = {one.box: canvas.ink_among(one.box, colors) for one in numerals}
    pairs = [
        (cost + (inks[one.box] != each.color), k, one)
        for one in numerals
        for k, each in enumerate(curves)
        if (cost := _cost(canvas, each, one, scale)) is not None
    ]
    for _, k, one in sorted(pairs, key=lambda pair: pair[0]):
        if one.box in taken:
            continue
        x = curves[k].nearest(one.center[0])
        station = min(range(len(places)), key=lambda s: abs(places[s].x - x))
        if station not in found[k]:
            found[k][station] = one
            taken.add(one.box)
    return found


def _cost(canvas: Canvas, each: Curve, one: Numeral, scale: FittedScale | None) -> float | None:
    """How far a number, or with a scale its value, is from a curve, in heights of text; None if the
    number is not near it."""
    height = canvas.text_height
    x, y = one.center
    if abs(each.nearest(x) - x) > 2.5 * height:
        return None
    level = each.at(each.nearest(x))
    gap = _NEAR + 1 if level is None else abs(y - level) / height
    # a marker on the curve looks like the letter or the digit
    if gap > _NEAR or (gap < 0.6 and one.text in ("0", "O", "o")):
        return None
    return gap if scale is None or level is None else abs(scale.pixel(one.value) - level) / height


def calibrated(
    curves: Sequence[Curve], places: Sequence[Station], found: Sequence[dict[int, Numeral]]
) -> FittedScale | None:
    """A scale from printed numbers and the curves' heights there; None if they do not fit one."""
    levels, values = [], []
    for one, numbers in zip(curves, found, strict=True):
        for station, numeral in numbers.items():
            level = one.at(places[station].x)
            if level is not None:
                levels.append(level)
                values.append(numeral.value)
    if len(set(values)) < 3:
        return None
    y, v = np.array(levels), np.array(values)
    best: np.ndarray | None = None
    spread = v.max() - v.min()
    for i in range(len(v)):
        for j in range(i + 1, len(v)):
            if abs(y[i] - y[j]) < 8 or (v[j] - v[i]) / (y[j] - y[i]) >= 0:
                continue
            a = (v[j] - v[i]) / (y[j] - y[i])
            near = np.flatnonzero(np.abs(v[i] + a * (y - y[i]) - v) < 0.06 * spread + 0.6)
            if best is None or len(near) > len(best):
                best = near
    if best is None or len(best) < max(3, 0.6 * len(v)):
        return None
    a, b = np.polyfit(y[best], v[best], 1)
    return FittedScale(float(a), float(b), (), True)


def agreeing(
    curves: Sequence[Curve],
    places: Sequence[Station],
    found: Sequence[dict[int, Numeral]],
    scale: FittedScale,
) -> list[dict[int, Numeral]]:
    """The printed numbers without those that their curve's height contradicts.

    They are markers that look like digits, or numbers that belong elsewhere.
    """
    levels = [y for one in curves for y in (one.ys.min(), one.ys.max())]
    slack = _OFF * abs(scale.a) * (max(levels) - min(levels)) + 12 * abs(scale.a)
    return [
        {
            k: one
            for k, one in numbers.items()
            if (level := each.at(each.nearest(places[k].x))) is None
            or abs(scale.value(level) - one.value) <= slack
        }
        for each, numbers in zip(curves, found, strict=True)
    ]


def with_printed(
    one: Curve,
    places: Sequence[Station],
    numbers: dict[int, Numeral],
    scale: FittedScale | None,
) -> list[ChartMark]:
    """Printed numbers, and measured values at the other labeled stations."""
    marks = []
    for k, station in enumerate(places):
        y = one.at(station.x)
        numeral = numbers.get(k)
        if numeral is not None:
            level = y if y is not None else numeral.center[1]
            box = (round(station.x) - 3, round(level) - 3, round(station.x) + 4, round(level) + 4)
            marks.append(
                ChartMark(station.category, numeral.value, True, numeral.step / 2, 0.0, box)
            )
        elif y is not None and scale is not None and station.labeled:
            marks.append(_mark(station, y, scale.value(y), 2 * MEASURED * abs(scale.a)))
    return marks


def series(
    curves: Sequence[Curve],
    marks: Sequence[Sequence[ChartMark]],
    names: Sequence[str],
    canvas: Canvas,
) -> tuple[ChartSeries, ...]:
    """One series a curve."""
    return tuple(
        ChartSeries(name, canvas.hex(one.color), tuple(own))
        for name, one, own in zip(names, curves, marks, strict=True)
        if own
    )
