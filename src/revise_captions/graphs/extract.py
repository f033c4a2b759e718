"""From the facts about a parsed text to a scene graph, in four passes over its nodes.

1. things: which nodes name an object, with number, denial and name (`things`);
2. merging: coreference says which of them are the same object (`coreference`);
3. attributes: adjectives, counts, predicates, participles without a partner (`attributes`);
4. relations: verbs with their subjects, objects and prepositional phrases; prepositions between
   nouns; possession (`relations`).

Passes 3 and 4 speak of nodes, and of objects only here at the end, so that attributes and relations
stay with the object whichever of its mentions they were said of (POSH, A.1.2).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from revise_captions.graphs.graph import Attribute, Graph, Object, Relation
from revise_captions.graphs.rules import coreference, quotes, things
from revise_captions.graphs.rules.attributes import attributes
from revise_captions.graphs.rules.draft import GraphDraft, Said
from revise_captions.graphs.rules.places import unsaid
from revise_captions.graphs.rules.relations import relations
from revise_captions.graphs.rules.roles import Node
from revise_captions.records import Span

#: Rises with every change of the rules that changes a graph.
VERSION = "8"
Clusters = Mapping[int, tuple[int, ...]]
Claim = TypeVar("Claim", Attribute, Relation)


@dataclass(frozen=True, slots=True)
class TextReading:
    """A parsed text: its words, its scene graph, and who is who.

    Attributes:
        nodes: The words, one node each.
        graph: The scene graph, with what the text denies.
        objects: For each mention's node the objects that it speaks of, as indexes into the graph's.
    """

    nodes: Sequence[Node]
    graph: Graph
    objects: Mapping[int, tuple[int, ...]]


def extract(text: str, nodes: Sequence[Node], links: Sequence[Sequence[Span]] = ()) -> Graph:
    """The scene graph of a parsed text. `links`: clusters of mentions from another coreference."""
    return read(text, nodes, links).graph


def read(text: str, nodes: Sequence[Node], links: Sequence[Sequence[Span]] = ()) -> TextReading:
    """`extract`, with the words and their objects."""
    draft = GraphDraft(text, nodes, quoted=quotes.inside(nodes, quotes.quoted(text)))
    things.find(draft)
    clusters = coreference.resolve(draft, links)
    tops = dict.fromkeys(top for index in sorted(draft.things) for top in clusters.get(index, ()))
    number = {top: i for i, top in enumerate(tops)}
    objects = {
        node: tuple(number[top] for top in found if top in number)
        for node, found in clusters.items()
    }
    return TextReading(nodes, _assemble(draft, clusters, number), objects)


def _assemble(draft: GraphDraft, clusters: Clusters, number: Mapping[int, int]) -> Graph:
    """Numbers objects in the order of their first mention and points everything at them."""

    def objects_of(node: int) -> list[int]:
        thing = draft.thing_of(node)
        return [number[top] for top in clusters.get(node if thing is None else thing, ())]

    def attributes_of(items: Iterable[Said]) -> list[Attribute]:
        return [
            Attribute(i, item.value, item.span, item.kind, item.denied)
            for item in items
            for i in objects_of(item.thing)
        ]

    said = attributes_of((*attributes(draft), *quotes.written(draft)))
    told, part_of = [], dict[int, int]()
    for item in relations(draft):
        for subject in objects_of(item.subject):
            for target in objects_of(item.target):
                if subject == target:
                    continue
                told.append(Relation(subject, item.name, target, item.span, item.denied))
                if item.part and not _above(part_of, target, subject):
                    part_of.setdefault(target, subject)
    spans = [*(one.span for one in said), *(one.span for one in told)]
    said += attributes_of(unsaid(draft, spans))
    objects = _objects(draft, clusters, number, part_of)
    return Graph(draft.text, objects, _unique(said), _unique(told))


def _above(part_of: Mapping[int, int], index: int, other: int) -> bool:
    """Whether `other` is `index` or a part of it, so that it cannot be what `index` is part of."""
    seen: set[int] = set()
    while other != index and other in part_of and other not in seen:
        seen.add(other)
        other = part_of[other]
    return other == index


def _objects(
    draft: GraphDraft, clusters: Clusters, number: Mapping[int, int], part_of: Mapping[int, int]
) -> tuple[Object, ...]:
    mentions: dict[int, list[Span]] = {top: [] for top in number}
    for index in sorted(clusters):
        node = draft.nodes[index]
        own = draft.things.get(index)
        for top in clusters[index]:
            mentions[top].append(own.span if own else Span(node.start, node.end))
    return tuple(
        Object(
            thing.name,
            thing.lemma,
            thing.span,
            tuple(mentions[top]),
            thing.plural,
            thing.denied,
            part_of.get(i),
        )
        for top, i in number.items()
        for thing in [draft.things[top]]
    )


def _unique(claims: Iterable[Claim]) -> tuple[Claim, ...]:
    """Each claim once, where it is made first."""
    seen: dict[tuple[object, ...], Claim] = {}
    for item in claims:
        if isinstance(item, Attribute):
            key: tuple[object, ...] = (item.object, item.value, item.denied)
        else:
            key = (item.subject, item.name, item.target, item.denied)
        seen.setdefault(key, item)
    return tuple(seen.values())
