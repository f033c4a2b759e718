"""Identifiers that make a question be about one object and no other (POSH, A.1.3).

Two objects collide if they have the same class name. One that collides with none is called by its
class, and by its other names in the text ("musician"). One that does is called by an attribute that
only it has among them ("tall man"), or else by a relation that only it has ("man on horse"). A part
of an object already found is called by that object ("face of the tall man"). Objects that nothing
distinguishes are called by all their attributes, and the question may then be about either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from revise_captions.graphs.graph import Graph, Relation
from revise_captions.graphs.words import listed


class By(StrEnum):
    """What an identifier is made from, which determines how it is rewritten."""

    NAME = "name"
    ATTRIBUTE = "attribute"
    RELATION = "relation"
    OWNER = "owner"


@dataclass(frozen=True, slots=True)
class Identifier:
    text: str
    by: By


def candidates(graph: Graph, index: int, owner: str = "") -> list[Identifier]:
    """Identifiers for an object, simplest first; `owner`: identifier of the object it is part of.

    Never empty, without repetitions.
    """
    found = list(_candidates(graph, index, owner))
    if not found:
        values = " ".join(item.value for item in graph.attributes_of(index))
        name = graph.objects[index].name
        found = [Identifier(f"{values} {name}".strip(), By.ATTRIBUTE if values else By.NAME)]
    return list({item.text: item for item in reversed(found)}.values())[::-1]


def _candidates(graph: Graph, index: int, owner: str) -> Iterator[Identifier]:
    item = graph.objects[index]
    rivals = [
        i for i, other in enumerate(graph.objects) if i != index and other.lemma == item.lemma
    ]
    if owner:
        siblings = [i for i in rivals if graph.objects[i].part_of == item.part_of]
        if not siblings:
            yield Identifier(f"{item.name} of {owner}", By.OWNER)
        rivals = siblings or rivals
    if not rivals:
        yield Identifier(item.name, By.NAME)
        yield from surfaces(graph, index)
        return
    before = False
    theirs = {said.value for i in rivals for said in graph.attributes_of(i)}
    for said in graph.attributes_of(index):
        if said.value not in theirs:
            before = True
            yield Identifier(f"{said.value} {item.name}", By.ATTRIBUTE)
    if before:
        return
    told = {_seen_from(graph, i, edge) for i in rivals for edge in graph.relations_of(i)}
    for edge in graph.relations_of(index):
        if _seen_from(graph, index, edge) not in told:
            yield Identifier(phrase(graph, edge), By.RELATION)


def surfaces(graph: Graph, index: int) -> Iterator[Identifier]:
    """Other names in the text for the same object, unless another object also has them."""
    names = {item.name for item in graph.objects}
    for span in graph.objects[index].mentions:
        name = span.of(graph.text).lower()
        if name and name not in names | _PRONOUNS:
            yield Identifier(name, By.NAME)


_PRONOUNS = listed(
    "he she it they him her them his hers its their theirs who whom whose which that both one "
    "other another two himself herself itself themselves"
)


def phrase(graph: Graph, edge: Relation) -> str:
    """ "man sit on horse"."""
    return f"{graph.objects[edge.subject].name} {edge.name} {graph.objects[edge.target].name}"


def _seen_from(graph: Graph, index: int, edge: Relation) -> tuple[bool, str, str]:
    """A relation from the point of view of one of its objects."""
    first = edge.subject == index
    other = graph.objects[edge.target if first else edge.subject]
    return first, edge.name, other.name
