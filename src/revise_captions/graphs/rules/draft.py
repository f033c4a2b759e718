"""What the passes hand to each other: noun phrases, attributes and relations of nodes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from revise_captions.graphs.graph import AttributeKind
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.records import Span

NOMINAL = frozenset(("NOUN", "PROPN"))
SUBJECTS = (Role.SUBJECT, Role.PASSIVE_SUBJECT)


@dataclass(slots=True)
class NounPhrase:
    """A noun phrase that names an object. `head`: its node; `parts`: the nodes of its name.

    `group`: the node of a group noun that counts it ("a *group* of people").
    """

    head: int
    parts: list[int]
    name: str
    lemma: str
    span: Span
    plural: bool
    denied: bool
    group: int | None = None
    modifiers: list[int] = field(default_factory=list)


@dataclass(slots=True)
class GraphDraft:
    """The text's nodes, the things among them, and which node stands for which object.

    `quoted`: the nodes between quotation marks.
    """

    text: str
    nodes: Sequence[Node]
    things: dict[int, NounPhrase] = field(default_factory=dict)
    stand_in: dict[int, int] = field(default_factory=dict)
    places: dict[int, int] = field(default_factory=dict)
    quoted: frozenset[int] = frozenset()

    def thing_of(self, index: int) -> int | None:
        """The thing that a node speaks of: itself, what its group is of, or what it refers to."""
        for _ in range(4):
            if index in self.things:
                return index
            if index not in self.stand_in:
                return None
            index = self.stand_in[index]
        return None


@dataclass(frozen=True, slots=True)
class Said:
    """An attribute of a thing, before objects are numbered."""

    thing: int
    value: str
    span: Span
    kind: AttributeKind = AttributeKind.QUALITY
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Told:
    """A relation between two nodes' things. `part`: the target is a part of the subject."""

    subject: int
    name: str
    target: int
    span: Span
    denied: bool = False
    part: bool = False
