"""Closed classes of words that captions often get wrong: counts, bounds, colors, times, places."""

from __future__ import annotations

import re

COUNT = (
    r"(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|twenty|thirty|forty|fifty"
    r"|dozens|hundreds|(?<![\w.,:/-])\$?\d+(?:[.,]\d+)*%?(?![\w:/]))"
)
BOUND = (
    r"(?:at least|at most|(?:no )?more than|less than|(?:no )?fewer than|about|around|roughly"
    r"|approximately|nearly|almost|exactly|over|under|up to|close to|just)"
)
_UNIT = (
    "feet|foot|inch(?:es)?|(?:centi|kilo|milli)?met(?:er|re)s?|miles?|yards?|pounds?|kilograms?|tons"
    "|seconds?|minutes?|hours?|days?|weeks?|months?|years?|percent|degrees?|dollars?|euros?|cents?"
)
_COLOR = (
    r"(?:red|orange|yellow|green|blue|purple|violet|pink|brown|black|white|gr[ae]y|beige|tan|silver"
    r"|gold(?:en)?|maroon|turquoise|teal|navy)"
)
_MONTH = "january|february|march|april|june|july|august|september|october|november|december"
#: Closed classes: if a sentence has a single member of a class, that is the one meant.
CLASSES = tuple(
    re.compile(rf"\b(?:{pattern})(?!\w)", re.IGNORECASE)
    for pattern in (
        rf"(?:{BOUND} )?{COUNT}[ -](?:{_UNIT})",
        rf"(?:{BOUND} )?{COUNT}",
        rf"{_COLOR}(?:(?:,? and|,) {_COLOR})*",
        r"\d?\d[:.]\d\d(?: ?[ap]\.?m\b)?|\d?\d ?[ap]\.?m\b",
        "morning|afternoon|evening|night|noon|midday|midnight|sunset|sunrise|dusk|dawn"
        "|daytime|nighttime",
        "(?:mon|tues|wednes|thurs|fri|satur|sun)day",
        "spring|summer|autumn|fall|winter",
        _MONTH,
    )
)
COLORS = CLASSES[2]
#: Of these, the times of day, week and year.
TIMES = CLASSES[4:]
_PLACE = "left|right|above|below|under|behind|in front|inside|outside|top|bottom|middle|center"
_REVERSES = r"not|no|without|with|never|increas\w+|decreas\w+|highest|lowest|higher|lower|rose|fell"
#: Any of them, in a difference between two texts.
KINDS = re.compile(
    "|".join((*(pattern.pattern for pattern in CLASSES), rf"\b(?:{BOUND}|{_PLACE}|{_REVERSES})\b")),
    re.IGNORECASE,
)
