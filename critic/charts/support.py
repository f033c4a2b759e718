"""Whether what a sentence is about stands in the image."""

from __future__ import annotations

import re
from collections.abc import Sequence

from revise_captions.charts import Chart
from revise_captions.charts.claims import ChartCheck, ChartClaim, ClaimOutcome
from revise_captions.charts.claims.mentions import fold
from revise_captions.charts.claims.sentence import all_labels
from revise_captions.critic.charts.places import words_and_years
from revise_captions.critic.charts.words import content_stems, general_stems, stem

#: A sentence of fewer content words may be about the chart in general.
FEW_WORDS = 3
_OF_THE_CHART = re.compile(r"\b(?:charts?|graphs?|tables?|data|axis|axes|plots?)\b", re.IGNORECASE)
#: Names, and years.
_NAME = re.compile(
    r"[A-Z][\w&’'-]*(?:(?: of| and| the| &)* [A-Z][\w&’'-]*)*|\b(?:1[6-9]|20)\d\d\b(?![\d,.]\d)"
)


def is_foreign(sentence: str, shown: frozenset[str]) -> bool:
    """Whether none of the sentence's content words, `FEW_WORDS` or more, stands in the image."""
    said = content_stems(sentence)
    return len(said) >= FEW_WORDS and not said & shown


def is_supported(
    sentence: str, checks: Sequence[ChartCheck], charts: Sequence[Chart], lines: Sequence[str]
) -> bool:
    """Whether anything that the sentence is about stands in the image."""
    if any(
        check.outcome is ClaimOutcome.TRUE
        for check in checks
        if check.claim is not ChartClaim.NUMBER
    ):
        return True
    shown = frozenset().union(*(words_and_years(line) for line in lines))
    said = content_stems(sentence)
    named = [label for label in all_labels(sentence, charts) if not label.name.isdigit()]
    if named or not said or _OF_THE_CHART.search(sentence):
        return True
    if len(said) < FEW_WORDS:
        return bool(said & shown) or not absent_names(sentence, charts, lines)
    return 2 * len(said & shown) >= len(said)


def absent_names(sentence: str, charts: Sequence[Chart], lines: Sequence[str]) -> list[str]:
    """The names and years of a sentence that stand nowhere in the image."""
    shown = fold(" ".join(lines))
    taken = [(label.start, label.end) for label in all_labels(sentence, charts)]
    found = []
    for match in _NAME.finditer(sentence):
        first = not sentence[: match.start()].strip("“\"'( ")
        if first and " " not in match[0] and stem(match[0]) in general_stems():
            continue
        inside = any(start < match.end() and match.start() < end for start, end in taken)
        if fold(match[0]) not in shown and (not inside or match[0].isdigit()):
            found.append(match[0])
    return found
