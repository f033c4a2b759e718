"""Claims of trends: a series that rises, falls, turns or stays."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from revise_captions.charts.claims.check import (
    ChartCheck,
    ChartClaim,
    ClaimEdit,
    ClaimOutcome,
    Tolerance,
    edit,
)
from revise_captions.charts.claims.directions import Direction, directions_in
from revise_captions.charts.claims.grid import (
    FoundMark,
    in_time,
    is_temporal,
    narrowed,
    runs_of,
    year_of,
)
from revise_captions.charts.claims.mentions import PERIOD, SHOWS, NamedLabel
from revise_captions.charts.claims.vocabulary import DOWN, STEADILY, UP, turned
from revise_captions.records import Span

_STAYS = r"(?:remain|stay)(?:ed|s)?"
_FLAT = re.compile(
    r"\b(?:stable|steady state|constant|unchanged|flat|stagnant"
    rf"|{_STAYS} (?:fairly |relatively )?(?:the same|steady|consistent|level))\b",
    re.IGNORECASE,
)
_NOT = re.compile(r"\b(?:without|no|not)\b[^.,;]*$", re.IGNORECASE)
_WAVY = re.compile(
    r"\bfluctuat|\bvari(?:ed|es|ation)|\bvolatil|\bups and downs|\bpeaks and (?:troughs|valleys)",
    re.IGNORECASE,
)
_WITHOUT_TURN = re.compile(
    rf"\bwithout (?:interruption|a break|setbacks?)|\b(?:{STEADILY}) (?:\w+ )?(?:{UP}|{DOWN})\b"
    rf"|\b(?:{UP}|{DOWN}) (?:{STEADILY}|every year|each year)",
    re.IGNORECASE,
)
#: The word that denies every setback, and "remained stable" with its verb.
_DENIES = re.compile(rf"\b(?:{STEADILY}|without (?:interruption|a break|setbacks?))\b", re.I)
_STAYED = re.compile(
    rf"\b(?:{_STAYS}|was|been) (?:\w+ly )?"
    r"(?:stable|constant|unchanged|flat|steady|the same|consistent)\b",
    re.IGNORECASE,
)


def check_trends(
    sentence: str, labels: Sequence[NamedLabel], marks: Sequence[FoundMark], tolerance: Tolerance
) -> list[ChartCheck]:
    """Decides the directions that are stated, or that a series stays or fluctuates: between the
    years that are named, else over the whole series."""
    if not marks or not is_temporal(marks):
        return []
    ways = directions_in(sentence, labels)
    flat, wavy = _FLAT.search(sentence), _WAVY.search(sentence)
    if flat and _NOT.search(sentence[: flat.start()]):
        flat = None
    if len([*ways, *filter(None, (flat, wavy))]) > 1 and (flat or wavy or not _apart(ways)):
        return []
    runs = runs_of(narrowed(marks, labels))
    checks = [_directed(sentence, way, runs, tolerance) for way in ways]
    if not ways and (flat or wavy):
        parts = [part for run in runs if len(part := _between(run, labels)) >= 2]
        found = [_flatness(sentence, part) if flat else _wave(part) for part in parts]
        checks = [_mildest(found)]
    told = [*checks, _multiplied(sentence, runs, labels)]
    return _as_turn([check for check in told if check is not None], ways)


_TIMES = re.compile(
    r"\b(?P<more>(?:well )?(?:more than|over) )?(?P<less>(?:almost|nearly) )?"
    r"(?P<by>doubled|tripled|trebled|quadrupled|halved)\b",
    re.IGNORECASE,
)
_FACTORS = {"doubled": 2.0, "tripled": 3.0, "trebled": 3.0, "quadrupled": 4.0, "halved": 0.5}
#: What a factor may be taken for: from, to, as shares of it; beyond it by how much it is wrong.
_ABOUT, _MORE, _LESS, _WRONG = (0.85, 1.25), (0.97, 1.6), (0.8, 1.02), 1.1


def _multiplied(
    sentence: str, runs: Sequence[Sequence[FoundMark]], labels: Sequence[NamedLabel]
) -> ChartCheck | None:
    """Decides "almost doubled", between the years that are named, of the one series."""
    match = _TIMES.search(sentence)
    part = _between(runs[0], labels) if match and len(runs) == 1 else []
    if match is None or len(part) < 2 or part[0].value <= 0:
        return None
    low, high = _MORE if match["more"] else _LESS if match["less"] else _ABOUT
    share = part[-1].value / part[0].value / _FACTORS[match["by"].lower()]
    cells = (part[0].cell, part[-1].cell)
    if low <= share <= high:
        return ChartCheck(ChartClaim.RATIO, ClaimOutcome.TRUE, 0.0, cells=cells)
    off = max(low / max(share, 1e-9), share / high)
    wrong = off > _WRONG
    outcome = ClaimOutcome.FALSE if wrong else ClaimOutcome.UNDECIDED
    return ChartCheck(ChartClaim.RATIO, outcome, off, _ends(part) if wrong else "", cells)


def _opposed(sentence: str, way: Direction) -> tuple[ClaimEdit, ...]:
    """All words for a direction turned; none where one of them has no opposite."""
    spans = [Span(way.start, way.end), *way.also]
    words = [turned(span.of(sentence)) for span in spans]
    return tuple(map(ClaimEdit, spans, words)) if all(words) else ()


def speaks_of_trend(sentence: str) -> bool:
    """Whether a sentence says of something that it rises, falls, stays or fluctuates."""
    return bool(directions_in(sentence, ()) or _FLAT.search(sentence) or _WAVY.search(sentence))


def _apart(ways: Sequence[Direction]) -> bool:
    """Whether each of several directions has its own part of the series."""
    return all(way.known for way in ways) and len({(w.first, w.last) for w in ways}) == len(ways)


def _directed(
    sentence: str, way: Direction, runs: Sequence[Sequence[FoundMark]], tolerance: Tolerance
) -> ChartCheck | None:
    """One direction, of the series that bears it out best; None where its years are not known."""
    parts = [part for run in runs if len(part := way.part(run)) >= 2]
    if not way.known:
        return None
    return _mildest([_direction(sentence, part, way, tolerance) for part in parts])


def _mildest(checks: Sequence[ChartCheck]) -> ChartCheck | None:
    return min(checks, key=lambda one: (one.outcome is ClaimOutcome.FALSE, one.off), default=None)


def _as_turn(checks: Sequence[ChartCheck], ways: Sequence[Direction]) -> list[ChartCheck]:
    """A turn that is told the wrong way round is one claim: its parts are put right at once."""
    false = [check for check in checks if check.outcome is ClaimOutcome.FALSE]
    if len(ways) != 2 or len(false) != 2 or ways[0].last is None:
        return list(checks)
    one, other = ("fell", "rose") if ways[0].up else ("rose", "fell")
    if ways[0].up == ways[1].up:
        return list(checks)
    rationale = f"It {one} until {ways[0].last} and {other} after that."
    cells = tuple(dict.fromkeys(cell for check in false for cell in check.cells))
    off = max(check.off for check in false)
    edits = tuple(one for check in false for one in check.edits)
    return [ChartCheck(ChartClaim.TREND, ClaimOutcome.FALSE, off, rationale, cells, edits)]


#: Years by which the first or last one may be misread.
_NEAR = 3


def check_period(
    sentence: str, marks: Sequence[FoundMark], printed: frozenset[float]
) -> list[ChartCheck]:
    """Decides the years that a sentence says the whole chart spans: it may mean a part of them, but
    none that is neither among them nor printed in the image."""
    match = PERIOD.search(sentence)
    known = sorted({y for found in marks if (y := year_of(found.mark.category)) is not None})
    if match is None or len(known) < 3 or not is_temporal(marks) or not SHOWS.search(sentence):
        return []
    said = int(match[1]), int(match[2])
    step = max(1, (known[-1] - known[0]) // (len(known) - 1))
    if max(abs(said[0] - known[0]), abs(said[1] - known[-1])) < min(step, 2):
        return [ChartCheck(ChartClaim.PERIOD, ClaimOutcome.TRUE, 0.0)]
    near = min(step, _NEAR)
    beyond = [year for year in said if not known[0] - near < year < known[-1] + near]
    if not beyond or printed & {float(year) for year in beyond}:
        return [ChartCheck(ChartClaim.PERIOD, ClaimOutcome.UNDECIDED, 1.0)]
    off = max(abs(said[0] - known[0]), abs(said[1] - known[-1]))
    rationale = f"The chart spans {known[0]} to {known[-1]}, not {said[0]} to {said[1]}."
    wrong = Span(match.start(1), match.end(2))
    right = wrong.of(sentence).replace(match[1], str(known[0]), 1)
    edits = edit(*wrong, right[: -len(match[2])] + str(known[-1]))
    return [ChartCheck(ChartClaim.PERIOD, ClaimOutcome.FALSE, float(off), rationale, (), edits)]


def _between(run: Sequence[FoundMark], labels: Sequence[NamedLabel]) -> list[FoundMark]:
    """The part of a series between the first and last year that the sentence names."""
    years = sorted(y for label in labels if (y := year_of(label.name)) is not None)
    known = in_time(run)
    if len(years) >= 2:
        return [found for year, found in known if years[0] <= year <= years[-1]]
    return [found for _, found in known]


def _mildest_start(run: Sequence[FoundMark], up: bool) -> FoundMark:
    """The mark from which a direction is borne out most."""
    return (min if up else max)(run, key=lambda found: found.value)


def _direction(
    sentence: str, run: Sequence[FoundMark], way: Direction, tolerance: Tolerance
) -> ChartCheck:
    last, up = run[-1], way.up
    first = _mildest_start(run[:-1], up) if way.open else run[0]
    width = 0.5 * tolerance.width(first.value, first.extent, first.mark.tolerance, False)
    gone = (last.value - first.value) * (1 if up else -1)
    cells = (first.cell, last.cell)
    if way.open and gone > width:
        return ChartCheck(ChartClaim.TREND, ClaimOutcome.TRUE, 0.0, cells=cells)
    if gone > width or (gone > 0 and not _WITHOUT_TURN.search(sentence)):
        back = _greatest_setback(run, up)
        if _WITHOUT_TURN.search(sentence) and back > 4 * width and back > 0.3 * gone:
            rationale = f"It does not go one way: from {first.said} to {last.said}, with setbacks."
            denies = _DENIES.search(sentence)
            edits = (ClaimEdit(Span(*denies.span()), ""),) if denies else ()
            return ChartCheck(
                ChartClaim.TREND, ClaimOutcome.UNDECIDED, back / width, rationale, cells, edits
            )
        return _manner(run, way, gone)
    if gone > -width:
        return ChartCheck(ChartClaim.TREND, ClaimOutcome.UNDECIDED, 1.0, cells=cells)
    off, opposed = -gone / width, _opposed(sentence, way)
    return ChartCheck(
        ChartClaim.TREND, ClaimOutcome.FALSE, off, _ends([first, last]), cells, opposed
    )


#: Changes that are neither little nor great: as shares of where they start, and of the axis.
_NOT_LITTLE, _NOT_MUCH = (0.6, 0.25), (0.15, 0.1)


def _manner(run: Sequence[FoundMark], way: Direction, gone: float) -> ChartCheck:
    """Whether a change in the right direction is as small, or as great, as it is called."""
    cells = (run[0].cell, run[-1].cell)
    shares = gone / max(abs(run[0].value), 1e-9), gone / run[0].extent
    little = way.little and all(a > b for a, b in zip(shares, _NOT_LITTLE, strict=True))
    much = way.much and all(a < b for a, b in zip(shares, _NOT_MUCH, strict=True))
    if not little and not much:
        return ChartCheck(ChartClaim.TREND, ClaimOutcome.TRUE, 0.0, cells=cells)
    rationale = f"{_ends(run)[:-1]}, not {way.little or way.much}."
    edits = (ClaimEdit(way.manner, ""),) if way.manner is not None else ()
    return ChartCheck(ChartClaim.TREND, ClaimOutcome.FALSE, 1.0, rationale, cells, edits)


def _greatest_setback(run: Sequence[FoundMark], up: bool) -> float:
    """The greatest step against the direction."""
    sign = -1 if up else 1
    steps = (sign * (b.value - a.value) for a, b in itertools.pairwise(run))
    return max([0.0, *steps])


def _spread(run: Sequence[FoundMark]) -> float:
    values = [found.value for found in run]
    top = max(abs(v) for v in values) or 1.0
    return (max(values) - min(values)) / top


def _flatness(sentence: str, run: Sequence[FoundMark]) -> ChartCheck:
    spread = _spread(run)
    if spread < 0.15:
        return ChartCheck(ChartClaim.TREND, ClaimOutcome.TRUE, spread)
    if spread > 0.45:
        low, high = min(run, key=lambda f: f.value), max(run, key=lambda f: f.value)
        rationale = f"It ranges from {low.said} ({low.name}) to {high.said} ({high.name})."
        instead = f"ranged from {low.said} to {high.said}"
        if {low.cell, high.cell} == {run[0].cell, run[-1].cell}:
            rationale, instead = _ends(run), "rose" if run[-1] is high else "fell"
        stayed, cells = _STAYED.search(sentence), (low.cell, high.cell)
        edits = edit(*stayed.span(), instead) if stayed else ()
        off = spread / 0.45
        return ChartCheck(ChartClaim.TREND, ClaimOutcome.FALSE, off, rationale, cells, edits)
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
