"""Numbers as charts print them: tick labels, and values at marks."""

from __future__ import annotations

import re
from dataclasses import dataclass

from revise_captions.charts.chart import Box

_FACTORS = {"k": 1e3, "m": 1e6, "b": 1e9, "bn": 1e9, "t": 1e12}
#: What OCR takes a digit for.
_CONFUSED = str.maketrans({"O": "0", "o": "0", "l": "1", "I": "1", "−": "-", "–": "-", "—": "-"})
_NUMERAL = re.compile(
    r"(?P<sign>[-+]?)(?P<less>[<>~]?)(?P<currency>[$€£]?)"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+)"
    r"(?P<unit>%|pts?|[KkMmBTbt]|bn)?"
)
#: A tick's own dash, dots and footnote marks around a number.
_AROUND = " .,*†‡_:;·'’|()[]"
_YEAR = re.compile(r"(?:1[6-9]|20|21)\d\d")
_SHORT_YEAR = re.compile(r"['‘’`](\d\d)")


@dataclass(frozen=True, slots=True)
class Numeral:
    """A number that stands in the image.

    Attributes:
        value: With suffixes such as `K` multiplied out.
        unit: `%`, `$`, … or "".
        step: The worth of its last digit.
        text: As recognized.
        box: Where it stands.
        angle: Of the text, as in `TextLine`.
        height: Of the text, as in `TextLine`.
    """

    value: float
    unit: str
    step: float
    text: str
    box: Box
    angle: float = 0.0
    height: float = 0.0

    @property
    def center(self) -> tuple[float, float]:
        """(x, y) in pixels."""
        return (self.box[0] + self.box[2]) / 2, (self.box[1] + self.box[3]) / 2

    @property
    def is_year(self) -> bool:
        """Whether it looks like a calendar year."""
        return not self.unit and _YEAR.fullmatch(self.text.strip(_AROUND + "-")) is not None


def parse(
    text: str, box: Box = (0, 0, 0, 0), angle: float = 0.0, height: float = 0.0
) -> Numeral | None:
    """The number that a text is, or None if it is anything more than that.

    A dash behind the number is an axis's tick mark.

    >>> parse("20,000-").value, parse("$1.5M").value, parse("-3%").unit, parse("3 of 4")
    (20000.0, 1500000.0, '%', None)
    """
    plain = text.strip()
    if not any(letter.isdigit() for letter in plain):
        return None
    plain = plain.translate(_CONFUSED).replace(" ", "").strip(_AROUND).rstrip("-<>" + _AROUND)
    found = _NUMERAL.fullmatch(plain)
    if found is None:
        return None
    digits = found["digits"].replace(",", "")
    factor = _FACTORS.get((found["unit"] or "").lower(), 1.0)
    sign = -1.0 if found["sign"] == "-" else 1.0
    places = len(digits.partition(".")[2])
    unit = found["unit"] if found["unit"] in ("%", "pt", "pts") else ""
    return Numeral(
        value=sign * float(digits) * factor,
        unit=unit or found["currency"],
        step=10.0**-places * factor,
        text=text.strip(),
        box=box,
        angle=angle,
        height=height,
    )


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH_YEAR = re.compile(r"([A-Za-z]{3,9})\.?\s*(['‘’`]?\d\d(?:\d\d)?)")


def date_of(text: str) -> float | None:
    """A year, or a month of a year, as a number of years; None for anything else.

    >>> date_of("2014*"), date_of("Jan 2010"), date_of("Men")
    (2014.0, 2010.0, None)
    """
    year = year_of(text)
    if year is not None:
        return float(year)
    found = _MONTH_YEAR.fullmatch(text.strip())
    if found is None or found[1][:3].lower() not in _MONTHS:
        return None
    short = found[2] if len(found[2].strip("'‘’`")) == 4 else f"'{found[2][-2:]}"
    year = year_of(short)
    return None if year is None else year + _MONTHS.index(found[1][:3].lower()) / 12


def is_date(text: str) -> bool:
    """Whether a text is a year, two years such as 2014/15, a month, or a month of a year."""
    if date_of(text.partition("/")[0]) is not None:
        return True
    return text.strip(" .")[:3].lower() in _MONTHS


def year_of(text: str) -> int | None:
    """The year that a tick label names: `2014`, `2014*`, `'94`; None for anything else.

    >>> year_of("2010*"), year_of("'94"), year_of("’08"), year_of("18-29")
    (2010, 1994, 2008, None)
    """
    plain = text.strip()
    if found := _SHORT_YEAR.fullmatch(plain):
        short = int(found[1])
        return 1900 + short if short > 40 else 2000 + short
    plain = plain.translate(_CONFUSED).strip(_AROUND + "-")
    return int(plain) if _YEAR.fullmatch(plain) else None
