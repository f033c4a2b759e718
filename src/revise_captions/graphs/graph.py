"""A scene graph: objects, attributes and relations, each with its place in the text.

G(d) = <O(d), E(d), K(d)> as in SPICE (Anderson et al. 2016) and POSH (section 3), with spans.
An object is one thing or one group in the scene, however often the text mentions it. What a text
denies ("no people", "is not red") is in the graph too, marked `denied`: it makes a claim, but not
that something is there. `present()` is the graph without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from revise_captions.records import Span


class AttributeKind(StrEnum):
    """What an attribute says of its object; a place is one in the picture ("on the left")."""

    QUALITY = "quality"
    COUNT = "count"
    PLACE = "place"


@dataclass(frozen=True, slots=True)
class Object:
    """`name`: head noun with the nouns that belong to it, as written, lower-cased ("ski poles").

    `lemma` is the name with its head in the singular. `mentions` are the spans of all noun phrases
    that speak of it, in order, the first the one that introduced it; `span` is that one's core, the
    name. `part_of` is the index of the object that it is a part of ("face of the man").
    """

    name: str
    lemma: str
    span: Span
    mentions: tuple[Span, ...]
    plural: bool = False
    denied: bool = False
    part_of: int | None = None


@dataclass(frozen=True, slots=True)
class Attribute:
    """`value` of the object with index `object`: "red", "2", "partly cloudy"."""

    object: int
    value: str
    span: Span
    kind: AttributeKind = AttributeKind.QUALITY
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Relation:
    """`subject` and `target` are indexes of objects; `name` is a verb's lemma, its particle and
    its prepositions, or one of them: "sit on", "in front of", "have".
    """

    subject: int
    name: str
    target: int
    span: Span
    denied: bool = False


@dataclass(frozen=True, slots=True)
class Graph:
    """All spans are half-open and count code points of `text`."""

    text: str
    objects: tuple[Object, ...] = ()
    attributes: tuple[Attribute, ...] = ()
    relations: tuple[Relation, ...] = ()

    def present(self) -> Graph:
        """The graph of what the text says is there, renumbered."""
        kept = [i for i, item in enumerate(self.objects) if not item.denied]
        index = {old: new for new, old in enumerate(kept)}
        objects = tuple(
            replace(self.objects[i], part_of=index.get(self.objects[i].part_of or 0))
            if self.objects[i].part_of is not None
            else self.objects[i]
            for i in kept
        )
        attributes = tuple(
            replace(item, object=index[item.object])
            for item in self.attributes
            if item.object in index and not item.denied
        )
        relations = tuple(
            replace(item, subject=index[item.subject], target=index[item.target])
            for item in self.relations
            if item.subject in index and item.target in index and not item.denied
        )
        return Graph(self.text, objects, attributes, relations)

    def attributes_of(self, index: int) -> Iterator[Attribute]:
        return (item for item in self.attributes if item.object == index)

    def relations_of(self, index: int) -> Iterator[Relation]:
        return (item for item in self.relations if index in (item.subject, item.target))

    def triples(self) -> list[tuple[str, str, str]]:
        """For reading: (subject, relation, target) and (object, "is", value), by names."""
        names = [item.name for item in self.objects]
        told = [(names[a.object], "is", a.value) for a in self.attributes if not a.denied]
        return told + [
            (names[r.subject], r.name, names[r.target]) for r in self.relations if not r.denied
        ]
