"""What speaks for and against a sentence about a chart, as numbers for a linear model."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from revise_captions.charts import Chart
from revise_captions.charts.claims import ChartCheck, ChartClaim, ClaimOutcome, check_sentence
from revise_captions.charts.claims.amounts import is_printed
from revise_captions.charts.claims.grid import marks_of
from revise_captions.charts.claims.mentions import fold, numbers_in, years_in
from revise_captions.charts.claims.sentence import printed_numbers
from revise_captions.critic.charts.binding import misnamed
from revise_captions.critic.charts.garbled import contradicts_itself, is_garbled
from revise_captions.critic.charts.places import NumberPlace, support, words_and_years
from revise_captions.critic.charts.support import is_foreign
from revise_captions.critic.charts.words import subject_stems, words_of

#: Kinds of claims that are counted apart; the others are taken together with comparisons.
_KINDS = tuple(ChartClaim(n) for n in ("value", "number", "extreme", "trend", "period"))
#: That a number stands somewhere in the image is not counted, but that it stands at other names.
_DECIDED = tuple(
    (kind, outcome)
    for kind in (*_KINDS, "comparison")
    for outcome in (ClaimOutcome.FALSE, ClaimOutcome.TRUE)
    if (kind, outcome) != (ChartClaim.NUMBER, ClaimOutcome.TRUE)
)
NAMES = (
    *(f"{outcome} {kind}" for kind, outcome in _DECIDED),
    "undecided number", "undecided value", "undecided extreme", "undecided trend", "refuted share",
    "unprinted numbers", "unprinted years", "beside", "set apart",
    "repeated words", "fragment", "of the chart", "reported", "about nothing shown", "garbled",
    "absent words", "at other names", "language model",
)  # fmt: skip
#: Words and numbers.
_TOKEN = re.compile(r"\w+")
#: How a whole sentence ends, and how one ends that was cut at a list's number or initial.
_ENDS = re.compile(r"[.!?:;][\"')\]”’]*\s*$")
_CUT = re.compile(r"^\W*\d{1,2}\.\s*$|(?:^|\s)(?:[A-Z]|vs|[Ii]ncl|[Rr]ep|[Dd]em)\.\s*$")
#: Wording of sentences about the chart itself.
OF_THE_CHART = re.compile(
    r"\b(?:charts?|graph|table|data|axis|axes|figure|plot|bars?|lines?|legend|colou?rs?|dots?)\b",
    re.IGNORECASE,
)
#: And of reports from outside of it.
REPORTED = re.compile(
    r"\b(?:now|today|recent(?:ly)?|currently|last (?:year|week|month)|this (?:year|week|month)|week"
    r"|ago|say|said|says|believe|think|feel|according to)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ChartEvidence:
    """What is known of a sentence.

    Attributes:
        checks: Its claims, decided.
        values: Numbers in the order of `NAMES`.
    """

    checks: tuple[ChartCheck, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class ChartText:
    """The text in an image, prepared for comparison.

    Attributes:
        numbers: Every number in it.
        places: Where they stand.
        words: Stems of its content words, and years.
        letters: All its letters, in lower case, without what is between them: OCR joins words.
        printed: Whether most marks have their value beside them.
    """

    numbers: frozenset[float]
    places: tuple[NumberPlace, ...]
    words: frozenset[str]
    letters: str
    printed: bool


def text_of(
    charts: Sequence[Chart], lines: Sequence[str], places: Sequence[NumberPlace] = ()
) -> ChartText:
    """The text of an image, from what `gather` takes."""
    marks = [mark for chart in charts for one in chart.series for mark in one.marks]
    return ChartText(
        printed_numbers(charts, lines),
        tuple(places),
        frozenset().union(*(words_and_years(line) for line in lines)),
        re.sub(r"\d", "", fold(" ".join(lines))),
        2 * sum(mark.printed for mark in marks) >= len(marks),
    )


def gather(
    sentences: Sequence[str],
    charts: Sequence[Chart],
    lines: Sequence[str],
    places: Sequence[NumberPlace] = (),
    language: Sequence[float] = (),
) -> list[ChartEvidence]:
    """The evidence on each sentence of a caption.

    Args:
        sentences: The sentences.
        charts: The charts that were read in its image.
        lines: The lines of text in its image.
        places: Where numbers stand in its image.
        language: A language model's log-odds of each sentence; 0 without one.
    """
    text, marks = text_of(charts, lines, places), marks_of(charts)
    checks = [check_sentence(sentence, charts, lines) for sentence in sentences]
    odds = language or [0.0] * len(sentences)
    return [
        ChartEvidence(
            found,
            (*_own(sentence, found, text), misnamed(sentence, charts, marks, lines, before), one),
        )
        for sentence, before, found, one in zip(
            sentences, ["", *sentences[:-1]], checks, odds, strict=True
        )
    ]


def _own(sentence: str, checks: Sequence[ChartCheck], text: ChartText) -> tuple[float, ...]:
    """The values of `NAMES`, but the last two."""
    counts = Counter((c.claim if c.claim in _KINDS else "comparison", c.outcome) for c in checks)
    counts[ChartClaim.TREND, ClaimOutcome.FALSE] += contradicts_itself(sentence)
    by_kind = [float(min(2, counts[one])) for one in _DECIDED]
    undecided = [
        float(min(2, counts[ChartClaim(kind), ClaimOutcome.UNDECIDED]))
        for kind in ("number", "value", "extreme", "trend")
    ]
    false = [c for c in checks if c.outcome is ClaimOutcome.FALSE]
    decided = [c for c in checks if c.outcome is not ClaimOutcome.UNDECIDED]
    words = words_of(sentence)
    pairs = Counter(itertools.pairwise(words))
    return (
        *by_kind,
        *undecided,
        len(false) / len(decided) if decided else 0.3,
        *_printed(sentence, text),
        float(min(4, sum(n - 1 for n in pairs.values() if n > 1))),
        float(
            len(_TOKEN.findall(sentence)) < 3
            or not _ENDS.search(sentence)
            or bool(_CUT.search(sentence))
        ),
        *(float(bool(one.search(sentence))) for one in (OF_THE_CHART, REPORTED)),
        float(is_foreign(sentence, text.words)),
        float(is_garbled(sentence)),
        _absent(sentence, text),
    )


def _absent(sentence: str, text: ChartText) -> float:
    """The share of words for the sentence's subject that do not stand in the image, drawn toward 0
    if it has few."""
    said = subject_stems(sentence)
    return sum(fold(one) not in text.letters for one in said) / (len(said) + 2)


def _printed(sentence: str, text: ChartText) -> tuple[float, float, float, float]:
    """Numbers and years that the image does not show, and numbers beside other words of it."""
    years = years_in(sentence)
    stated = [n for n in numbers_in(sentence, years) if not n.change]
    absent = [n for n in stated if not n.hedged and not is_printed(n, text.numbers)]
    mentioned = words_and_years(sentence) & text.words
    shares = [
        share for n in stated if (share := support(n.value, mentioned, text.places)) is not None
    ]
    return (
        float(min(3, len(absent) * text.printed)),
        float(min(2, sum(float(year.name) not in text.numbers for year in years))),
        sum(shares) / len(shares) if shares else 0.4,
        float(min(3, sum(share == 0 for share in shares))),
    )
