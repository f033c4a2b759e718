"""What speaks for and against a sentence about a chart, as numbers for a linear model."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from revise_captions.charts import Chart
from revise_captions.charts.claims import ChartCheck, ChartClaim, ClaimOutcome, check_sentence
from revise_captions.charts.claims.mentions import fold, numbers_in, years_in
from revise_captions.charts.claims.sentence import printed_numbers
from revise_captions.critic.charts.words import seen_in, unseen_words, words_of

#: Kinds of claims that are counted apart; the others are taken together with comparisons.
_KINDS = tuple(ChartClaim(n) for n in ("value", "number", "extreme", "trend", "period"))
NAMES = (
    *(f"{outcome} {kind}" for kind in (*_KINDS, "comparison") for outcome in ("false", "true")),
    "undecided number", "undecided value", "how far off", "refuted share", "unseen words",
    "unseen share", "unseen names", "unseen numbers", "unseen years", "repeated words", "fragment",
    "refuted elsewhere", "borne out elsewhere", "unseen share elsewhere",
)  # fmt: skip
#: How a whole sentence ends, and how one ends that was cut at a list's number or initial.
_ENDS = re.compile(r"[.!?:;][\"')\]”’]*\s*$")
_CUT = re.compile(r"(?:^|\s)(?:\d{1,2}|[A-Z]|[Nn]o|vs|[Ii]ncl)\.\s*$")


@dataclass(frozen=True, slots=True)
class ChartEvidence:
    """What is known of a sentence.

    Attributes:
        checks: Its claims, decided.
        values: Numbers in the order of `NAMES`.
    """

    checks: tuple[ChartCheck, ...]
    values: tuple[float, ...]

    @property
    def refuted(self) -> tuple[ChartCheck, ...]:
        """The claims that the chart does not bear out, the one that is farthest off first."""
        false = [check for check in self.checks if check.outcome is ClaimOutcome.FALSE]
        return tuple(sorted(false, key=lambda check: -check.off))


@dataclass(frozen=True, slots=True)
class ChartText:
    """All text in an image, prepared for comparison."""

    lines: tuple[str, ...]
    stems: frozenset[str]
    joined: str
    numbers: frozenset[float]


def text_of(charts: Sequence[Chart], lines: Sequence[str]) -> ChartText:
    """The text of an image: its lines, and what the reading names."""
    every = [*lines]
    for chart in charts:
        every += [chart.title, chart.source, *chart.notes, chart.x.label, chart.y.label]
        every += [one.name for one in chart.series]
        every += [mark.category for one in chart.series for mark in one.marks]
    joined = fold(" ".join(every))
    return ChartText(tuple(lines), seen_in(every), joined, printed_numbers(charts, lines))


def gather(
    sentences: Sequence[str], charts: Sequence[Chart], lines: Sequence[str]
) -> list[ChartEvidence]:
    """The evidence on each sentence of a caption.

    Args:
        sentences: The sentences.
        charts: The charts that were read in its image.
        lines: The lines of text in its image.
    """
    text = text_of(charts, lines)
    checks = [check_sentence(sentence, charts, lines) for sentence in sentences]
    own = [_own(s, found, text) for s, found in zip(sentences, checks, strict=True)]
    share = NAMES.index("unseen share")
    evidence = []
    for k, found in enumerate(checks):
        others = [check for j, other in enumerate(checks) if j != k for check in other]
        false, true = (
            sum(c.outcome is o for c in others) for o in (ClaimOutcome.FALSE, ClaimOutcome.TRUE)
        )
        shares = [values[share] for j, values in enumerate(own) if j != k]
        elsewhere = (
            false / (false + true + 2), true / (false + true + 2),
            sum(shares) / len(shares) if shares else 0.15,
        )  # fmt: skip
        evidence.append(ChartEvidence(found, (*own[k], *elsewhere)))
    return evidence


def _own(sentence: str, checks: Sequence[ChartCheck], text: ChartText) -> tuple[float, ...]:
    """The values that depend on the sentence alone."""
    counts = Counter((c.claim if c.claim in _KINDS else "comparison", c.outcome) for c in checks)
    by_kind = [
        float(min(2, counts[kind, outcome]))
        for kind in (*_KINDS, "comparison")
        for outcome in (ClaimOutcome.FALSE, ClaimOutcome.TRUE)
    ]
    false = [c for c in checks if c.outcome is ClaimOutcome.FALSE]
    decided = [c for c in checks if c.outcome is not ClaimOutcome.UNDECIDED]
    off = max((min(c.off, 20.0) for c in false), default=0.0)
    words = words_of(sentence)
    unseen = unseen_words(sentence, text.stems, text.joined)
    names = [w for w in unseen if w[0].isupper() and not sentence.startswith(w)]
    years = years_in(sentence)
    stated = [n for n in numbers_in(sentence, years) if not n.hedged and not n.change]
    pairs = Counter(itertools.pairwise(words))
    return (
        *by_kind,
        float(min(2, counts[ChartClaim.NUMBER, ClaimOutcome.UNDECIDED])),
        float(min(2, counts[ChartClaim.VALUE, ClaimOutcome.UNDECIDED])),
        math.log1p(off),
        len(false) / len(decided) if decided else 0.3,
        float(min(6, len(unseen))),
        len(unseen) / max(4, len(words)),
        float(min(3, len(names))),
        float(min(4, sum(n.value not in text.numbers for n in stated))),
        float(sum(float(y.name) not in text.numbers for y in years)),
        float(min(4, sum(n - 1 for n in pairs.values() if n > 1))),
        float(len(words) < 3 or not _ENDS.search(sentence) or bool(_CUT.search(sentence))),
    )
