"""The clauses of a sentence that could stand alone, or be removed.

    The dog is brown, and it is asleep.      The dog is brown. / It is asleep.
    There is a dog, a cat and a ball.        one clause, with a list

Uses rules on words, not a parse: a part without a verb of its own belongs to the clause before it.
Known verbs are those of short descriptions; a clause with any other verb is not split off.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise

from revise_captions.records import Span

#: Version of these rules; part of the signature.
VERSION = "clauses/2"
#: Characters; anything longer is not a sentence of a few clauses.
_LONGEST = 1000
_VERB = re.compile(
    r"\b(?:is|are|was|were|has|have|can|stands?|sits?|flies|fly|jumps?|leaps?|waves?|sleeps?|holds?|"
    r"carries|carry|wears?|shows?|depicts?|contains?|includes?|reads|says|appears?|exists?|lies|lie|"
    r"rests?|grows?|floats?|hangs?|shines?)\b"
)
_JOINT = re.compile(r",\s+(?:(?:and|but|while)\s+)?|\s+(?:and|but|while)\s+")
_WHOLE = re.compile(r"[\"“”]|\b(?:who|which|that|whose|where|if|not true)\b", re.IGNORECASE)
_MARKS = " .!?;"


@dataclass(frozen=True, slots=True)
class SpokenPart:
    """A clause.

    Attributes:
        span: In code points of the sentence, without conjunctions and commas around it.
        text: The clause as a sentence of its own.
    """

    span: Span
    text: str


def clauses(sentence: str) -> tuple[SpokenPart, ...]:
    """The clauses of a sentence in order, two or more; () if it has only one.

    A sentence with a quotation, or with a subordinate clause, is not split.
    """
    if len(sentence) > _LONGEST or _WHOLE.search(sentence):
        return ()
    body = sentence.rstrip(_MARKS)
    cuts = [(0, 0), *(joint.span() for joint in _JOINT.finditer(body)), (len(body), len(body))]
    found: list[Span] = []
    for (_, start), (end, _) in pairwise(cuts):
        alone = bool(_VERB.search(body, start, end))
        if found and not (alone and _VERB.search(found[-1].of(body))):
            found[-1] = Span(found[-1].start, end)
        else:
            found.append(Span(start, end))
    if len(found) < 2 or not all(_VERB.search(span.of(body)) for span in found):
        return ()
    return tuple(SpokenPart(span, _as_sentence(span.of(body))) for span in found)


def without_clause(sentence: str, gone: Span) -> str:
    """The sentence without one of its clauses; unchanged if `gone` is not one of them."""
    parts = clauses(sentence)
    left = [part for part in parts if part.span != gone]
    if not left or len(left) == len(parts):
        return sentence
    first, *others = [part.text.rstrip(".") for part in left]
    rest = [_lowered(text) for text in others]
    mark = sentence[len(sentence.rstrip(_MARKS)) :]
    if not rest:
        return first + mark
    comma = "," if len(rest) > 1 else ""
    return f"{', '.join([first, *rest[:-1]])}{comma} and {rest[-1]}{mark}"


def with_clause(sentence: str, place: Span, text: str) -> str:
    """The sentence with another sentence in place of one of its clauses."""
    put = text.rstrip(_MARKS)
    put = put if place.start == 0 else _lowered(put)
    return sentence[: place.start] + put + sentence[place.end :]


def _lowered(text: str) -> str:
    """The text without a sentence's initial capital; words all in capitals keep theirs."""
    first = text.partition(" ")[0]
    return text if len(first) > 1 and first.isupper() else text[:1].lower() + text[1:]


def _as_sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."
