"""How captions put numbers into words: exact, rounded, or as a share in words."""

from __future__ import annotations

import math
import random

from revise_captions.chart_world.tables import Table

#: Shares in words, with the percentages that they stand for; both ends inclusive.
SHARES: tuple[tuple[str, float, float], ...] = (
    ("one-in-ten", 9.5, 10.5), ("two-in-ten", 19.5, 20.5), ("a quarter", 24.5, 25.5),
    ("three-in-ten", 29.5, 30.5), ("a third", 32.5, 34), ("four-in-ten", 39.5, 40.5),
    ("half", 49.5, 50.5), ("six-in-ten", 59.5, 60.5), ("two-thirds", 65.5, 67.5),
    ("seven-in-ten", 69.5, 70.5), ("three-quarters", 74.5, 75.5), ("eight-in-ten", 79.5, 80.5),
    ("nine-in-ten", 89.5, 90.5),
)  # fmt: skip
_NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine",
                 "ten", "eleven", "twelve")  # fmt: skip
_ORDINALS = ("", "", "second", "third", "fourth", "fifth")


def cardinal(count: int) -> str:
    """A small count as a word, a larger one in digits."""
    return _NUMBER_WORDS[count] if count < len(_NUMBER_WORDS) else str(count)


def ordinal(rank: int) -> str:
    """`second`, `third`, … for ranks 2 to 5."""
    return _ORDINALS[rank]


def with_unit(number: str, table: Table, rng: random.Random) -> str:
    """A number with the table's unit, which a caption may leave out unless it is %."""
    if table.unit == "%":
        return f"{number}%" if rng.random() < 0.8 else f"{number} percent"
    if not table.unit or rng.random() < 0.25:
        return number
    return f"{number} {table.unit}"


def digits(value: float, decimals: int) -> str:
    """`12,345` or `3.5`; no trailing zeros."""
    text = f"{value:,.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def rounded_number(value: float) -> float:
    """The value with two significant digits."""
    if value == 0:
        return 0.0
    scale = 10 ** (math.floor(math.log10(abs(value))) - 1)
    return round(value / scale) * scale


def amount(value: float, table: Table, rng: random.Random) -> str:
    """The value as a caption would say it: exact, hedged and rounded, or as a share in words."""
    draw = rng.random()
    if table.unit == "%" and draw < 0.3:
        words = share_in_words(value, rng)
        if words:
            return words
    if draw < 0.62 or value == 0:
        return with_unit(digits(value, table.decimals), table, rng)
    near = rounded_number(value)
    said = with_unit(digits(near, max(0, table.decimals)), table, rng)
    if near > value * 1.004:
        hedge = rng.choice(("nearly", "just under", "almost", "around", "slightly below"))
    elif near < value * 0.996:
        hedge = rng.choice(("over", "just over", "more than", "approximately", "slightly above"))
    else:
        hedge = rng.choice(("about", "around", "approximately", "roughly", "close to"))
    return f"{hedge} {said}"


def share_in_words(value: float, rng: random.Random) -> str:
    """`nearly half (48%)`, `three-in-ten`, …; "" where no such share is near."""
    for words, low, high in SHARES:
        if low <= value <= high:
            said = f"about {words}" if rng.random() < 0.5 else words
        elif low - 2.5 <= value < low:
            said = f"{rng.choice(('nearly', 'almost', 'just under'))} {words}"
        elif high < value <= high + 2:
            said = f"{rng.choice(('just over', 'slightly more than'))} {words}"
        else:
            continue
        return f"{said} ({value:.0f}%)" if rng.random() < 0.6 else said
    return ""


def capitalized(text: str) -> str:
    """The text with its first letter in upper case."""
    return text[:1].upper() + text[1:]
