"""Claims of trends: a series that rises, falls, turns or stays."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from revise_captions.charts.claims.check import ChartCheck, ChartClaim, ClaimOutcome, Tolerance
from revise_captions.charts.claims.grid import FoundMark, is_temporal, narrowed, runs_of, year_of
from revise_captions.charts.claims.mentions import PERIOD, NamedLabel

_UP = re.compile(
    r"\b(?:increas(?:e|es|ed|ing)|ris(?:e|es|en|ing)|rose|gr(?:ow|ows|ew|own|owing|owth)|upwards?"
    r"|went up|climb(?:s|ed|ing)?|surg(?:e|es|ed)|positive trend|jump(?:s|ed)?|gain(?:s|ed)?"
    r"|recover(?:s|ed|y)|improv(?:es|ed|ement))\b",
    re.IGNORECASE,
)
_DOWN = re.compile(
    r"\b(?:decreas(?:e|es|ed|ing)|declin(?:e|es|ed|ing)|f[ae]ll(?:s|en|ing)?|drop(?:s|ped|ping)?"
    r"|downwards?|went down|plummet(?:s|ed|ing)?|negative trend|reduc(?:ed|tion)|dip(?:s|ped)?"
    r"|shr(?:ank|inks|unk)|plung(?:e|ed|es))\b",
    re.IGNORECASE,
)
_FLAT = re.compile(
    r"\b(?:stable|steady state|constant|unchanged|flat|stagnant|consistent(?! (?:in|de))"
    r"|remained? (?:fairly |relatively )?(?:the same|steady|consistent))\b",
    re.IGNORECASE,
)
_WAVY = re.compile(r"\bfluctuat|\bvari(?:ed|es|ation)|\bvolatil|\bups and downs", re.IGNORECASE)
_WITHOUT_TURN = re.compile(
    r"\b(?:steadily|consistently|continuous(?:ly)?|constantly|steady|consistent) (?:\w+ )?"
    r"(?:increas|ris|rose|gr[eo]w|declin|decreas|fall|fell|drop|upward|downward)"
    r"|\b(?:increas|r[io]s|gr[eo]w|declin|decreas|f[ae]ll)\w* (?:steadily|consistently|continuously"
    r"|every year|each year)",
    re.IGNORECASE,
)


def check_trends(
    sentence: str, labels: Sequence[NamedLabel], marks: Sequence[FoundMark], tolerance: Tolerance
) -> list[ChartCheck]:
    """Decides one trend: between the years that are named, else over the whole series."""
    if not marks or not is_temporal(marks):
        return []
    up, down = _UP.search(sentence), _DOWN.search(sentence)
    flat, wavy = _FLAT.search(sentence), _WAVY.search(sentence)
    if bool(up) + bool(down) + bool(flat) + bool(wavy) != 1:
        return []
    runs = [_between(run, labels) for run in runs_of(narrowed(marks, labels))]
    runs = [run for run in runs if len(run) >= 2]
    if not runs:
        return []
    if up or down:
        found = up or down
        assert found is not None
        held = [_direction(sentence, run, bool(up), found, tolerance) for run in runs]
    elif flat:
        held = [_flatness(run) for run in runs]
    else:
        held = [_wave(run) for run in runs]
    return [min(held, key=lambda check: (check.outcome is ClaimOutcome.FALSE, check.off))]


_SHOWS = re.compile(
    r"\b(?:chart|graph|table|data|statistics?|figure|plot|provided)\b.{0,40}?\b(?:shows?|illustrat\w+"
    r"|present(?:s|ed)|depict\w*|display(?:s|ed)|represents?|outlin\w+|provid\w+|cover\w*|track\w*"
    r"|highlight\w*|detail\w*|compar\w+|describ\w+)",
    re.IGNORECASE,
)


def check_period(sentence: str, marks: Sequence[FoundMark]) -> list[ChartCheck]:
    """Decides the years that a sentence says the whole chart spans."""
    match = PERIOD.search(sentence)
    known = sorted({y for found in marks if (y := year_of(found.mark.category)) is not None})
    if match is None or len(known) < 3 or not is_temporal(marks) or not _SHOWS.search(sentence):
        return []
    said = int(match[1]), int(match[2])
    off = max(abs(said[0] - known[0]), abs(said[1] - known[-1]))
    step = max(1, (known[-1] - known[0]) // (len(known) - 1))
    if off < step:
        return [ChartCheck(ChartClaim.PERIOD, ClaimOutcome.TRUE, 0.0)]
    if off <= 2 * step:
        return [ChartCheck(ChartClaim.PERIOD, ClaimOutcome.UNDECIDED, 1.0)]
    rationale = f"The chart spans {known[0]} to {known[-1]}, not {said[0]} to {said[1]}."
    wrong = (match.start(1), match.end(2))
    right = sentence[slice(*wrong)].replace(match[1], str(known[0]), 1)
    right = right[: -len(match[2])] + str(known[-1])
    return [
        ChartCheck(ChartClaim.PERIOD, ClaimOutcome.FALSE, float(off), rationale, (), wrong, right)
    ]


def _between(run: Sequence[FoundMark], labels: Sequence[NamedLabel]) -> list[FoundMark]:
    """The part of a series between the first and last year that the sentence names."""
    years = sorted(y for label in labels if (y := year_of(label.name)) is not None)
    dated = [(year_of(found.mark.category), found) for found in run]
    known = [(year, found) for year, found in dated if year is not None]
    if len(years) >= 2:
        return [found for year, found in known if years[0] <= year <= years[-1]]
    return [found for _, found in known]


def _direction(
    sentence: str, run: Sequence[FoundMark], up: bool, word: re.Match[str], tolerance: Tolerance
) -> ChartCheck:
    first, last = run[0], run[-1]
    width = 0.5 * tolerance.width(first.value, first.extent, first.mark.tolerance, False)
    gone = (last.value - first.value) * (1 if up else -1)
    cells = (first.cell, last.cell)
    if gone > width or (gone > 0 and not _WITHOUT_TURN.search(sentence)):
        back = _greatest_setback(run, up)
        if _WITHOUT_TURN.search(sentence) and back > 4 * width and back > 0.3 * gone:
            rationale = f"It does not go one way: from {first.said} to {last.said}, with setbacks."
            return ChartCheck(
                ChartClaim.TREND, ClaimOutcome.UNDECIDED, back / width, rationale, cells
            )
        return ChartCheck(ChartClaim.TREND, ClaimOutcome.TRUE, 0.0, cells=cells)
    if gone > -width:
        return ChartCheck(ChartClaim.TREND, ClaimOutcome.UNDECIDED, 1.0, cells=cells)
    right = _opposite(word[0])
    return ChartCheck(
        ChartClaim.TREND, ClaimOutcome.FALSE, -gone / width, _ends(run), cells,
        (word.start(), word.end()) if right else None, right,
    )  # fmt: skip


def _greatest_setback(run: Sequence[FoundMark], up: bool) -> float:
    """The greatest step against the direction."""
    sign = -1 if up else 1
    steps = (sign * (b.value - a.value) for a, b in itertools.pairwise(run))
    return max([0.0, *steps])


_PAIRS = (
    ("increased", "decreased"), ("rose", "fell"), ("grew", "shrank"), ("increase", "decrease"),
    ("rise", "fall"), ("growth", "decline"), ("increasing", "decreasing"), ("rising", "falling"),
    ("upward", "downward"), ("climbed", "dropped"), ("growing", "declining"), ("rose", "declined"),
    ("upwards", "downwards"), ("went up", "went down"), ("risen", "fallen"), ("rise", "drop"),
    ("positive trend", "negative trend"), ("increases", "decreases"),
)  # fmt: skip


def _opposite(word: str) -> str:
    """The word for the other direction; "" where there is none to put in its place."""
    lower = word.lower()
    for one, other in _PAIRS:
        if lower in (one, other):
            return other if lower == one else one
    return ""


def _spread(run: Sequence[FoundMark]) -> float:
    values = [found.value for found in run]
    top = max(abs(v) for v in values) or 1.0
    return (max(values) - min(values)) / top


def _flatness(run: Sequence[FoundMark]) -> ChartCheck:
    spread = _spread(run)
    if spread < 0.15:
        return ChartCheck(ChartClaim.TREND, ClaimOutcome.TRUE, spread)
    if spread > 0.45:
        low, high = min(run, key=lambda f: f.value), max(run, key=lambda f: f.value)
        rationale = f"It ranges from {low.said} ({low.name}) to {high.said} ({high.name})."
        if {low.cell, high.cell} == {run[0].cell, run[-1].cell}:
            rationale = _ends(run)
        return ChartCheck(
            ChartClaim.TREND, ClaimOutcome.FALSE, spread / 0.45, rationale, (low.cell, high.cell)
        )
    return ChartCheck(ChartClaim.TREND, ClaimOutcome.UNDECIDED, spread, _ends(run))


def _ends(run: Sequence[FoundMark]) -> str:
    """Where a series goes from first to last."""
    first, last = run[0], run[-1]
    verb = "rose" if last.value > first.value else "fell"
    return f"It {verb} from {first.said} in {first.name} to {last.said} in {last.mark.category}."


def _wave(run: Sequence[FoundMark]) -> ChartCheck:
    steps = [b.value - a.value for a, b in itertools.pairwise(run)]
    path = sum(abs(step) for step in steps)
    turns = sum(a * b < 0 for a, b in itertools.pairwise(steps))
    straight = abs(sum(steps)) / path if path else 1.0
    if turns == 0 and straight > 0.98 and len(run) > 3:
        rationale = f"It goes one way, from {run[0].said} to {run[-1].said}."
        return ChartCheck(
            ChartClaim.TREND, ClaimOutcome.FALSE, 1.5, rationale, (run[0].cell, run[-1].cell)
        )
    outcome = ClaimOutcome.TRUE if turns > 1 and straight < 0.85 else ClaimOutcome.UNDECIDED
    return ChartCheck(ChartClaim.TREND, outcome, straight)
