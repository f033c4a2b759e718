"""The words that claims about charts are told by: ways to go, ranks, comparisons, and hedges.

Each verb stands with all its forms beside its opposite, so that a sentence that says the wrong
direction can be turned in the form it is in, and back.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb of direction.

    Attributes:
        base: "grow"; also what `third` is made of: "grows".
        past: "grew".
        participle: "grown".
        gerund: "growing".
        noun: "growth"; "" where there is none.
        third: "grows".
    """

    base: str
    past: str
    participle: str
    gerund: str
    noun: str
    third: str

    @property
    def forms(self) -> tuple[str, ...]:
        """Past, participle, third person, gerund, base, noun."""
        return self.past, self.participle, self.third, self.gerund, self.base, self.noun


def _verb(
    base: str, past: str = "", participle: str = "", gerund: str = "", noun: str | None = None
) -> Verb:
    """A verb; forms that are not given are regular, and the noun is the base."""
    head, *rest = base.split(" ")
    tail = "".join(f" {word}" for word in rest)
    stem = head.removesuffix("e")
    past = past or f"{stem}ed{tail}"
    third = f"{head}{'es' if head.endswith(('o', 'sh')) else 's'}{tail}"
    return Verb(
        base,
        past,
        participle or past,
        gerund or f"{stem}ing{tail}",
        base if noun is None else noun,
        third,
    )


#: Verbs that say that something rises, each with its opposite.
VERBS: tuple[tuple[Verb, Verb], ...] = (
    (_verb("increase"), _verb("decrease")),
    (_verb("rise", "rose", "risen"), _verb("fall", "fell", "fallen")),
    (_verb("grow", "grew", "grown", noun="growth"), _verb("decline")),
    (_verb("climb"), _verb("drop", "dropped", gerund="dropping")),
    (
        _verb("go up", "went up", "gone up", noun=""),
        _verb("go down", "went down", "gone down", noun=""),
    ),
    (_verb("surge"), _verb("plunge")),
    (_verb("soar", noun=""), _verb("plummet", noun="")),
    (_verb("jump"), _verb("dip", "dipped", gerund="dipping")),
    (_verb("rebound"), _verb("slump")),
    (_verb("expand", noun="expansion"), _verb("reduce", noun="reduction")),
    (_verb("swell", participle="swollen", noun=""), _verb("shrink", "shrank", "shrunk", noun="")),
    (_verb("escalate", noun=""), _verb("dwindle", noun="")),
    (_verb("strengthen", noun=""), _verb("diminish", noun="")),
)
#: Other words for directions, each with its opposite.
WAYS: tuple[tuple[str, str], ...] = (
    ("upward", "downward"),
    ("upwards", "downwards"),
    ("positive trend", "negative trend"),
)
#: Words of a direction that none in its place would turn: what recovers has fallen before.
ONE_WAY_UP = (
    "incline", "inclines", "gain", "gains", "gained", "recover", "recovers", "recovered",
    "recovering", "recovery", "improves", "improved", "improvement", "rallied",
)  # fmt: skip
#: Verbs that say how far something goes, too; their opposite says as much of the other direction.
STRONG = frozenset(("surge", "plunge", "soar", "plummet", "jump", "dip", "rebound", "slump",
                    "swell", "shrink", "escalate", "dwindle", "strengthen", "diminish",
                    "expand", "reduce"))  # fmt: skip
#: Forms that are other words far more often: "expanded access", "strengthen ties".
_UNSAID = frozenset(
    ("expand", "expands", "expanding", "reduce", "reduces", "reducing", "strengthen",
     "strengthens", "swells")
)  # fmt: skip


def either(words: Iterable[str]) -> str:
    """A pattern of any of the words, the longest first."""
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


def _said(side: int) -> list[str]:
    """The forms of one side that claims are looked for by."""
    forms = [f for pair in VERBS for f in pair[side].forms if f and f not in _UNSAID]
    return [*forms, *(pair[side] for pair in WAYS), *(ONE_WAY_UP if side == 0 else ())]


#: Patterns of what says that something rises, and that it falls.
UP, DOWN = (either(dict.fromkeys(_said(side))) for side in (0, 1))


@functools.cache
def _turned() -> dict[str, str]:
    table: dict[str, str] = {}
    for one, other in VERBS:
        for a, b in ((one, other), (other, one)):
            for mine, its in zip(a.forms, b.forms, strict=True):
                if mine:
                    table.setdefault(mine, its)
    return table | {a: b for pair in WAYS for a, b in (pair, pair[::-1])}


def turned(word: str) -> str:
    """The word for the other direction, in the same form; "" where there is none."""
    return _turned().get(word.lower(), "")


@functools.cache
def _verbs_by_form() -> dict[str, Verb]:
    found: dict[str, Verb] = {}
    for pair in VERBS:
        for verb in pair:
            for form in filter(None, verb.forms):
                found.setdefault(form, verb)
    return found


def verb_of(word: str) -> Verb | None:
    """The verb of direction that a word is a form of."""
    return _verbs_by_form().get(word.lower())


#: Superlatives of the highest, and of the lowest.
HIGHEST = (
    r"highest|largest|greatest|biggest|peak(?:s(?! and)|ed|ing)?|maximum|leads|most (?:popular"
    r"|common|frequent|spoken|visited|used|expensive|prevalent|dominant|people)|(?:the|its) most"
    r"|record high|longest|best"
)
LOWEST = (
    r"lowest|smallest|least|fewest|minimum|bottom(?:ed|s)?|low point|record low|shortest|cheapest"
)
RANKS = {"second": 2, "third": 3, "fourth": 4, "fifth": 5, "2nd": 2, "3rd": 3}
#: What a change, and not a value, is called: "the largest increase".
CHANGES = (
    r"increase|decrease|decline|jump|drop|growth|gap|difference|change|reduction|rise|improvement"
    r"|disparit|discrepanc|dip|spike|shift|fall|surge|variation|contrast|deficit|loss|surplus"
)

#: Adjectives of comparisons, with what says the opposite before "than".
COMPARED = {
    "higher": "lower", "lower": "higher", "more": "less", "less": "more", "fewer": "more",
    "greater": "lower", "larger": "smaller", "smaller": "larger", "longer": "shorter",
    "shorter": "longer", "above": "below", "below": "above", "ahead of": "behind",
    "behind": "ahead of", "bigger": "smaller",
}  # fmt: skip
MORE = r"higher|more|greater|larger|bigger|longer|better"
LESS = r"lower|less|fewer|smaller|shorter"
#: Verbs of comparisons.
EXCEEDS = r"exceed(?:s|ed)?|surpass(?:es|ed)?|outnumber(?:s|ed)?|outranks?|tops"
TRAILS = r"trail(?:s|ed)?"

#: Words that say that a number is not exact, that it is a lower bound, and an upper one.
ABOUT = r"about|around|approximately|roughly|nearly|almost|close to|close|near"
OVER = (
    r"more than|over|above|at least|exceed\w*|surpass\w*|pass(?:es|ed|ing)?|topp(?:ed|ing)"
    r"|cross(?:es|ed|ing)"
)
UNDER = r"less than|under|below|fewer than|up to|within"
#: "just over" is as good as "about".
NARROWLY = r"just|slightly"
#: How little or how much something changes.
LITTLE = r"slightly|slight|marginally|marginal|a little|somewhat|minimally"
MUCH = r"sharply|sharp|dramatically|dramatic|drastically|drastic|steeply|steep|strongly"
#: That something goes one way without setbacks.
STEADILY = r"steadily|consistently|continuous(?:ly)?|constantly|steady|consistent"
