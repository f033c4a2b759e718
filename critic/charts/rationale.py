"""Why a sentence about a chart was flagged, and what the chart shows in its place.

The reviser `charts` understands each of these sentences. Claims that the reading refutes come
first, all of them, as a rewrite has to mend them together; then what is doubtful, then that the
sentence is garbled or about something that the chart does not show.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from revise_captions.charts import Chart
from revise_captions.charts.claims import ChartCheck, ChartClaim, ClaimOutcome, check_sentence
from revise_captions.charts.claims.mentions import numbers_in, years_in
from revise_captions.charts.claims.sentence import all_labels, printed_numbers
from revise_captions.critic.charts.garbled import is_garbled
from revise_captions.critic.charts.places import (
    NumberPlace,
    numbers_of,
    support,
    words_and_years,
)
from revise_captions.critic.charts.support import absent_names, is_supported, other_topic
from revise_captions.critic.charts.words import content_stems

#: Rationales of sentences that no other words in their place would mend.
NOT_SAID = "The chart does not say this."
NO_SENSE = "The sentence makes no sense."
#: At most so many claims are put right at once.
MOST = 3


def rationale_of(
    sentence: str,
    charts: Sequence[Chart],
    lines: Sequence[str],
    places: Sequence[NumberPlace] = (),
) -> str:
    """What the chart shows in the place of what a flagged sentence claims.

    Args:
        sentence: The sentence.
        charts: The charts that were read in its image.
        lines: The lines of text in its image.
        places: Where numbers stand in its image: a number that stands beside all that a sentence
            names of the chart, but no series, is no value to be put right, whatever was read.

    Returns:
        Sentences; "" where nothing in particular is known to be wrong.
    """
    if is_garbled(sentence):
        return NO_SENSE
    checks = check_sentence(sentence, charts, lines)
    instead = _other_extreme(sentence, checks, charts, lines)
    if instead:
        return instead
    if not is_supported(sentence, checks, charts, lines):
        return NOT_SAID
    topic = other_topic(sentence, charts, lines)
    if topic:
        return f"The chart is about “{topic[0]}”, not {topic[1]}."
    named = any(label.series for label in all_labels(sentence, charts))
    false = [
        check
        for check in checks
        if check.outcome is ClaimOutcome.FALSE
        and (named or not _stands_there(sentence, check, lines, places))
    ]
    doubtful = [c for c in checks if c.outcome is ClaimOutcome.UNDECIDED and c.rationale]
    for found in (_together(false), doubtful):
        if found:
            ordered = sorted(found, key=lambda check: -check.off)[:MOST]
            return " ".join(dict.fromkeys(check.rationale for check in ordered))
    printed = printed_numbers(charts, lines)
    stated = numbers_in(sentence, years_in(sentence))
    missing = [sentence[n.start : n.end] for n in stated if n.value not in printed]
    return f"The chart does not show {' or '.join(missing)}." if missing else ""


def _shown(lines: Sequence[str]) -> frozenset[str]:
    """The content words and years in the image."""
    return frozenset().union(*(words_and_years(line) for line in lines))


def _stands_there(
    sentence: str, check: ChartCheck, lines: Sequence[str], places: Sequence[NumberPlace]
) -> bool:
    """Whether a refuted value is printed beside all words of the image that the sentence has."""
    if check.claim is not ChartClaim.VALUE or check.wrong is None or not places:
        return False
    stated = numbers_of(sentence[slice(*check.wrong)])
    said = words_and_years(sentence) & _shown(lines)
    return len(stated) == 1 and support(stated[0], said, places) == 1.0


def _together(false: Sequence[ChartCheck]) -> list[ChartCheck]:
    """The refuted claims, without values of marks that a wrong extreme is about: another mark takes
    its place, with its own value."""
    extremes = [check for check in false if check.claim is ChartClaim.EXTREME]
    cells = {cell for check in extremes for cell in check.cells}
    values = (ChartClaim.VALUE, ChartClaim.NUMBER)
    return [c for c in false if not (extremes and c.claim in values and cells & {*c.cells})]


def _other_extreme(
    sentence: str, checks: Sequence[ChartCheck], charts: Sequence[Chart], lines: Sequence[str]
) -> str:
    """What is highest, where the sentence says so of something that the chart does not show."""
    unnamed = [c for c in checks if c.claim is ChartClaim.EXTREME and not c.cells and c.rationale]
    absent = absent_names(sentence, charts, lines)
    names = [name for name in absent if not _is_aside(sentence, name)]
    if len(unnamed) != 1 or len(names) != 1:
        return ""
    besides = content_stems(sentence.replace(names[0], ""))
    if len(besides) > 1 and not besides & _shown(lines):
        return NOT_SAID
    return f"{unnamed[0].rationale[:-1]}; the chart does not show {names[0]}."


_ASIDE = re.compile(r"(?<!was )(?<!is )(?<!were )\b(?:in|as of|from|by|at|until)(?: the)? $")


def _is_aside(sentence: str, name: str) -> bool:
    """Whether a name is that of a place or time that something is highest in: "in the UK"."""
    return not name.isdigit() and bool(_ASIDE.search(sentence[: sentence.index(name)]))
