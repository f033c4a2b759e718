"""Why a sentence about a chart was flagged: what stands wrong, and what would be right.

Claims that the reading refutes come first, all of them, as a rewrite has to mend them together;
then what is doubtful, then that the sentence is garbled or about something that the chart does not
show. The text says what the fixes do, for people and language models.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from revise_captions.charts import Chart
from revise_captions.charts.claims import ChartCheck, ChartClaim, ClaimOutcome, check_sentence
from revise_captions.charts.claims.extremes import rank_edits
from revise_captions.critic.charts.certainty import (
    ReadChart,
    doubts,
    others_hold,
    read_chart,
)
from revise_captions.critic.charts.garbled import is_garbled
from revise_captions.critic.charts.places import (
    NumberPlace,
    words_and_years,
)
from revise_captions.critic.charts.refuted import without_doubtful
from revise_captions.critic.charts.removals import (
    NOT_SAID,
    removal_doubts,
    unprinted,
    why_remove,
)
from revise_captions.critic.charts.support import absent_names, is_supported, other_topic
from revise_captions.critic.charts.words import content_stems
from revise_captions.records import Evidence, Fix, Rationale, Span

NO_SENSE = "The sentence makes no sense."
#: Kinds of fixes that are about the whole of a sentence, or its subject.
GARBLED, FOREIGN, TOPIC, UNLIKELY = "garbled", "foreign", "topic", "unlikely"


def rationale_of(
    sentence: str,
    charts: Sequence[Chart],
    lines: Sequence[str],
    places: Sequence[NumberPlace] = (),
    p: float | None = None,
    rest: float = 1.0,
) -> Rationale:
    """What the chart shows in the place of what a flagged sentence claims.

    Args:
        sentence: The sentence.
        charts: The charts that were read in its image.
        lines: The lines of text in its image.
        places: Where numbers stand in its image: one that is printed beside the name that the
            sentence gives it is never put right, whatever was read.
        p: P(factual) of the sentence, which decides whether one that cannot be put right for
            certain goes; None: it stays.
        rest: The mean of that of the caption's other sentences (`mean_of_others`).

    Returns:
        Its fixes have spans of the sentence, and boxes of the marks that they go by; the text is ""
        where nothing in particular is known to be wrong.
    """
    chart = read_chart(charts, lines, places)
    told = _told(sentence, chart)
    if p is None or (told.fixes and all(fix.certain for fix in told.fixes)):
        return told
    why, basis = why_remove(sentence, chart, p, rest)
    if not why:
        return told
    whole = Fix(Span(0, len(sentence)), "", UNLIKELY, True, basis)
    return Rationale(told.text or why, (whole,))


def mean_of_others(chances: Sequence[float], index: int) -> float:
    """The mean P(factual) of a caption's sentences but one; 1 where there is none."""
    others = [*chances[:index], *chances[index + 1 :]]
    return sum(others) / len(others) if others else 1.0


def _told(sentence: str, chart: ReadChart) -> Rationale:
    """What is wrong with a sentence, in the order of the module's description."""
    charts, lines = chart.charts, chart.lines
    if is_garbled(sentence):
        return _removed(sentence, NO_SENSE, GARBLED, removal_doubts(sentence, False, chart))
    checks = without_doubtful(sentence, check_sentence(sentence, charts, lines), chart)
    instead = _other_extreme(sentence, checks, chart)
    if instead is not None:
        return instead
    if not is_supported(sentence, checks, charts, lines):
        return _removed(sentence, NOT_SAID, FOREIGN, removal_doubts(sentence, True, chart))
    topic = other_topic(sentence, charts, lines)
    if topic:
        said, span = f"“{topic[0]}”", Span(*topic[1])
        text = f"The chart is about {said}, not {span.of(sentence)}."
        return Rationale(text, (Fix(span, said, TOPIC, False, "title read by OCR"),))
    false = [check for check in checks if check.outcome is ClaimOutcome.FALSE]
    doubtful = [c for c in checks if c.outcome is ClaimOutcome.UNDECIDED and c.rationale]
    found = _together(false) or doubtful
    if found:
        return _mended(sentence, sorted(found, key=lambda check: -check.off), chart)
    missing = [sentence[n.start : n.end] for n in unprinted(sentence, chart)]
    return Rationale(f"The chart does not show {' or '.join(missing)}." if missing else "")


def _removed(sentence: str, text: str, kind: str, against: Sequence[str]) -> Rationale:
    """A sentence of which nothing can stay."""
    basis = "; ".join(against) or "text read by OCR"
    return Rationale(text, (Fix(Span(0, len(sentence)), "", kind, not against, basis),))


def _mended(sentence: str, checks: Sequence[ChartCheck], chart: ReadChart) -> Rationale:
    """What each claim would have to say; certain only if every one is, and then all holds."""
    text = " ".join(dict.fromkeys(check.rationale for check in checks))
    against = [doubts(sentence, check, chart) for check in checks]
    fixes: list[Fix] = []
    for check, reasons in zip(checks, against, strict=True):
        basis = "; ".join(reasons) or _basis(check, chart)
        for edit in check.edits:
            if all(edit.span.end <= f.span.start or f.span.end <= edit.span.start for f in fixes):
                kind = check.claim.value
                shown = _evidence(check, chart)
                fixes.append(Fix(edit.span, edit.right, kind, not reasons, basis, shown))
    fixes.sort(key=lambda fix: fix.span)
    certain = all(fix.certain for fix in fixes)
    holds = certain and others_hold(sentence, fixes, chart)
    if not holds or any(check.outcome is not ClaimOutcome.FALSE for check in checks):
        left = "another claim of the sentence is not borne out"
        fixes = [
            replace(fix, certain=False, basis=left if fix.certain else fix.basis) for fix in fixes
        ]
    return Rationale(text, tuple(fixes))


def _basis(check: ChartCheck, chart: ReadChart) -> str:
    """How the values that a fix rests on were read."""
    found = [mark for mark in chart.marks if mark.cell in check.cells]
    if not found:
        return "read from the axis"
    return "printed value" if all(one.mark.printed for one in found) else "measured value"


def _evidence(check: ChartCheck, chart: ReadChart) -> tuple[Evidence, ...]:
    """The marks that a claim is about, where the image shows them."""
    return tuple(
        Evidence(found.mark.box, found.name)
        for cell in check.cells
        for found in chart.marks
        if found.cell == cell and found.mark.box is not None
    )


def _shown(lines: Sequence[str]) -> frozenset[str]:
    """The content words and years in the image."""
    return frozenset().union(*(words_and_years(line) for line in lines))


def _together(false: Sequence[ChartCheck]) -> list[ChartCheck]:
    """The refuted claims, without values of marks that a wrong extreme is about: another mark takes
    its place, with its own value."""
    extremes = [check for check in false if check.claim is ChartClaim.EXTREME]
    cells = {cell for check in extremes for cell in check.cells}
    values = (ChartClaim.VALUE, ChartClaim.NUMBER)
    return [c for c in false if not (extremes and c.claim in values and cells & {*c.cells})]


def _other_extreme(
    sentence: str, checks: Sequence[ChartCheck], chart: ReadChart
) -> Rationale | None:
    """What is highest, where the sentence says so of something that the chart does not show."""
    unnamed = [
        c
        for c in checks
        if c.claim is ChartClaim.EXTREME and c.outcome is ClaimOutcome.UNDECIDED and c.rationale
    ]
    absent = absent_names(sentence, chart.charts, chart.lines)
    names = [name for name in absent if not _is_aside(sentence, name)]
    if len(unnamed) != 1 or len(names) != 1:
        return None
    besides = content_stems(sentence.replace(names[0], ""))
    if len(besides) > 1 and not besides & _shown(chart.lines):
        return _removed(sentence, NOT_SAID, FOREIGN, removal_doubts(sentence, True, chart))
    (check,), start = unnamed, sentence.index(names[0])
    (there,) = (mark for mark in chart.marks if mark.cell in check.cells)
    edits = rank_edits(sentence, Span(start, start + len(names[0])), there)
    text = f"{check.rationale[:-1]}; the chart does not show {names[0]}."
    told = replace(check, outcome=ClaimOutcome.FALSE, rationale=text, edits=edits)
    return _mended(sentence, [told], chart)


_ASIDE = re.compile(r"(?<!was )(?<!is )(?<!were )\b(?:in|as of|from|by|at|until)(?: the)? $")


def _is_aside(sentence: str, name: str) -> bool:
    """Whether a name is that of a place or time that something is highest in: "in the UK"."""
    return not name.isdigit() and bool(_ASIDE.search(sentence[: sentence.index(name)]))
