"""Numbers formatted for people, in the terminal, in reports and in pages."""

from __future__ import annotations

from math import ceil, log10


def percent(value: float | None) -> str:
    """`0.9123` as `91.2 %`; only exactly 1 is shown as 100 %, and only exactly 0 as 0 %."""
    if value is None:
        return "–"
    shown = round(100 * value, 1)
    if shown >= 100 and value < 1:
        shown = 99.9
    if shown == 0 and value > 0:
        shown = 0.1
    return f"{shown:.0f} %" if shown in (0, 100) else f"{shown:.1f} %"


def plural(count: int, noun: str, verb: str = "") -> str:
    """`1 sentence`, `1,204 sentences`, `3 sentences rewritten`."""
    text = f"{count:,} {noun}{'' if count == 1 else 's'}"
    return f"{text} {verb}" if verb else text


def duration(seconds: float) -> str:
    """`12.3 s`, `4 min 05 s`, `3 h 07 min`."""
    if seconds < 60:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02} s"
    return f"{minutes // 60} h {minutes % 60:02} min"


def p_value(p: float, least: float) -> str:
    """A p-value with two decimals if at least .05, else with three or as many as needed.

    Never smaller than `least`, the smallest that a resampling test can give: `p < 0.002` if none
    of 499 permutations reached the observed value.
    """
    digits = max(3, ceil(-log10(least) - 0.01))
    if p <= least * (1 + 1e-9):
        return f"p < {ceil(round(least * 10**digits, 2)) / 10**digits:.{digits}f}"
    return f"p = {p:.2f}" if p >= 0.05 else f"p = {p:.{digits}f}"


def signed(text: str) -> str:
    """A formatted number with a true minus sign."""
    return text.replace("-", "−")
