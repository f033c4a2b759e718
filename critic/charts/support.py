"""Whether what a sentence is about stands in the image."""

from __future__ import annotations

import re
from collections.abc import Sequence

from revise_captions.charts import Chart
from revise_captions.charts.claims import ChartCheck, ChartClaim, ClaimOutcome
from revise_captions.charts.claims.mentions import fold, numbers_in
from revise_captions.charts.claims.sentence import all_labels
from revise_captions.charts.claims.trends import speaks_of_trend
from revise_captions.critic.charts.places import words_and_years
from revise_captions.critic.charts.words import content_stems, general_stems, stem

#: A sentence of fewer content words may be about the chart in general.
FEW_WORDS = 3
#: A sentence with so many words of the image is about it, however long it is.
ENOUGH = 4
_OF_THE_CHART = re.compile(
    r"\b(?:charts?|graphs?|tables?|data|axis|axes|plots?|bars?|curve)\b", re.IGNORECASE
)
#: Openings that speak of the chart, whatever the sentence then says.
_LINK = re.compile(
    r"^\W*(?:according to the \w+|looking at the \w+|in the (?:chart|graph|table)|overall|the \w+ "
    r"(?:shows?|indicates?|suggests?|reveals?) that|it can be seen that),? ",
    re.IGNORECASE,
)
#: Why something is so, what comes of it, who says so, and what else was asked.
_CONTEXT = re.compile(
    r"\b(?:due to|because of|caused by|driven by|thanks to|attribut(?:ed|able) to|as a result of"
    r"|efforts? (?:of|by|to)|expect(?:s|ed)? (?:to|this|that)|experts|critics|spokes\w+"
    r"|polic(?:y|ies)"
    r"|(?:previous|earlier|last) (?:survey|poll)|years? earlier|at that time|was founded|need for"
    r"|news media|effect on|(?:more|less) likely to)\b",
    re.IGNORECASE,
)
#: Names, and years.
_NAME = re.compile(
    r"[A-Z][\w&’'-]*(?:(?: of| and| the| &)* [A-Z][\w&’'-]*)*|\b(?:1[6-9]|20)\d\d\b(?![\d,.]\d)"
)
#: What a sentence says that the chart as a whole shows.
_TOPIC = re.compile(
    r"\b(?:the|this) (?:\w+ )?(?:chart|graph|table|data|statistics?|figure)s? (?:shows?|depicts?"
    r"|illustrates?|presents?|displays?) (?P<topic>(?:the|how|an?) [^,;]+?)"
    r"(?: from \d{4}\S* to \d{4}\S*?| in \d{4})?\.?$",
    re.IGNORECASE,
)
#: Where a subtitle begins.
_ENDS_TITLE = re.compile(r"\n| %| Percent\b| \(")


#: Why something is so: what a chart does not show.
_CAUSE = re.compile(
    r"\b(?:due to|because of|(?:caused|driven|fuell?ed|prompted|spurred) by|thanks to"
    r"|attribut(?:ed|able) to|as a result of|result(?:s|ed|ing)? from|owing to"
    r"|responsible for|explains?|explained by|behind (?:this|the)|reflects?|reflecting|stems? from"
    r"|led to|leads? to|contribut\w+ to)\b",
    re.IGNORECASE,
)


def is_foreign(sentence: str, shown: frozenset[str]) -> bool:
    """Whether none of the sentence's content words, `FEW_WORDS` or more, stands in the image, or
    it says why something is so in words most of which do not."""
    said = content_stems(sentence)
    if _CAUSE.search(sentence) and len(said) >= FEW_WORDS and 2 * len(said & shown) < len(said):
        return True
    return len(said) >= FEW_WORDS and not said & shown


def is_supported(
    sentence: str, checks: Sequence[ChartCheck], charts: Sequence[Chart], lines: Sequence[str]
) -> bool:
    """Whether anything that the sentence is about stands in the image."""
    shown = frozenset().union(*(words_and_years(line) for line in lines))
    sentence = _LINK.sub("", sentence)
    said, labels = content_stems(sentence), all_labels(sentence, charts)
    named = [label for label in labels if not label.name.isdigit()]
    if _CONTEXT.search(sentence) and not named and 2 * len(said & shown) < len(said):
        return False
    if any(
        check.outcome is ClaimOutcome.TRUE
        for check in checks
        if check.claim is not ChartClaim.NUMBER
    ):
        return True
    if named or not said or _OF_THE_CHART.search(sentence):
        return True
    if len(said) <= ENOUGH and speaks_of_trend(sentence):
        return True
    if len(said) > 1 and not said & shown and numbers_in(sentence, labels):
        return False
    if len(said) < FEW_WORDS:
        return bool(said & shown) or not absent_names(sentence, charts, lines)
    return len(said & shown) >= min(ENOUGH, len(said) / 2)


def other_topic(
    sentence: str, charts: Sequence[Chart], lines: Sequence[str]
) -> tuple[str, tuple[int, int]] | None:
    """The chart's title, and the span of what the sentence says that the chart is about, where two
    thirds of that stand nowhere in the image; None where they do, or nothing is said of the kind.
    """
    titles = [title for chart in charts if (title := _ENDS_TITLE.split(chart.title)[0].strip())]
    match = _TOPIC.search(sentence)
    if match is None or not titles:
        return None
    said, shown = content_stems(match["topic"]), fold(" ".join(lines))
    known = sum(one in shown for one in said)
    if len(said) < FEW_WORDS or 3 * known > len(said):
        return None
    return titles[0].replace("“", "'").replace("”", "'"), match.span("topic")


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
