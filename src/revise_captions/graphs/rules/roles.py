"""The words of a parsed text, and the roles that they can have."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Role(StrEnum):
    ROOT = "root"
    SUBJECT = "subject"
    PASSIVE_SUBJECT = "passive subject"
    OBJECT = "object"
    INDIRECT = "indirect object"
    AGENT = "agent"
    PLACE = "oblique"  # nominal with a case, under a verb or a predicate
    OF_NOUN = "nominal modifier"  # nominal with a case, under a noun
    ADJECTIVE = "adjective"
    ADVERB = "adverb"
    COMPOUND = "compound"
    FLAT = "flat"
    OWNER = "possessor"
    NUMBER = "number"
    DETERMINER = "determiner"
    CONJUNCT = "conjunct"
    RELATIVE = "relative clause"
    PARTICIPLE = "clause of a noun"
    COMPLEMENT = "open complement"
    CLAUSE = "clause"
    APPOSITION = "apposition"
    PARTICLE = "particle"
    NEGATION = "negation"
    AUXILIARY = "auxiliary"
    PASSIVE = "passive auxiliary"
    COPULA = "copula"
    EXPLETIVE = "expletive"
    CASE = "case"
    OTHER = "other"


@dataclass(slots=True)
class Node:
    """A word with its facts. `case` are the prepositions' texts in order ("on", "top", "of").

    `marks`: the indexes of nodes that belong to its case, for spans. `head` is -1 for a root.
    """

    index: int
    start: int
    end: int
    text: str
    lemma: str
    pos: str
    tag: str
    plural: bool
    sentence: int
    head: int = -1
    role: Role = Role.OTHER
    case: list[str] = field(default_factory=list)
    marks: list[int] = field(default_factory=list)
    copula: bool = False
    passive: bool = False
    negated: bool = False
    children: list[int] = field(default_factory=list)
