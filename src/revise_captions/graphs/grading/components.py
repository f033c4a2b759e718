"""The components of a scene graph that are scored: objects, attributes and relations.

A denied one ("no people") claims that something is not there; so does what is said of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from revise_captions.graphs.graph import Graph
from revise_captions.records import Span


class Part(StrEnum):
    OBJECT = "object"
    ATTRIBUTE = "attribute"
    RELATION = "relation"


@dataclass(frozen=True, slots=True)
class Component:
    """`index` into the graph's objects, attributes or relations; `span` is where it is said."""

    part: Part
    index: int
    span: Span
    denied: bool = False

    def phrase(self, graph: Graph) -> str:
        """The component in a few words: "man", "red hat", "man wear hat", "not black dog"."""
        if self.part is Part.OBJECT:
            return f"{'no ' * self.denied}{graph.objects[self.index].name}"
        denial = "not " * self.denied
        if self.part is Part.ATTRIBUTE:
            said = graph.attributes[self.index]
            return f"{denial}{said.value} {graph.objects[said.object].name}"
        edge = graph.relations[self.index]
        subject, target = graph.objects[edge.subject], graph.objects[edge.target]
        return f"{subject.name} {denial}{edge.name} {target.name}"


def components(graph: Graph) -> list[Component]:
    """All components of a graph: objects, then attributes, then relations, in its order."""
    denied = [item.denied for item in graph.objects]
    found = [Component(Part.OBJECT, i, o.span, o.denied) for i, o in enumerate(graph.objects)]
    for i, said in enumerate(graph.attributes):
        found.append(Component(Part.ATTRIBUTE, i, said.span, said.denied or denied[said.object]))
    for i, edge in enumerate(graph.relations):
        off = edge.denied or denied[edge.subject] or denied[edge.target]
        found.append(Component(Part.RELATION, i, edge.span, off))
    return found
