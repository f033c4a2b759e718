"""The components of a scene graph that are scored: objects, attributes and relations.

Denied ones ("no people") are left out: they claim that nothing is there.
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

    def phrase(self, graph: Graph) -> str:
        """The component in a few words: "man", "red hat", "man wear hat"."""
        if self.part is Part.OBJECT:
            return graph.objects[self.index].name
        if self.part is Part.ATTRIBUTE:
            said = graph.attributes[self.index]
            return f"{said.value} {graph.objects[said.object].name}"
        edge = graph.relations[self.index]
        subject, target = graph.objects[edge.subject], graph.objects[edge.target]
        return f"{subject.name} {edge.name} {target.name}"


def components(graph: Graph) -> list[Component]:
    """All components of a graph without denied claims (`Graph.present`): objects first."""
    return [
        *(Component(Part.OBJECT, i, item.span) for i, item in enumerate(graph.objects)),
        *(Component(Part.ATTRIBUTE, i, item.span) for i, item in enumerate(graph.attributes)),
        *(Component(Part.RELATION, i, item.span) for i, item in enumerate(graph.relations)),
    ]
