"""What captions hold against a claim: they say otherwise of the same thing.

A sentence encoder finds "a boy stands on a skateboard" and "a man stands next to a skateboard"
alike; a graph can tell that they are at odds. Three things exclude each other:

* colours that are no shades of one another ("blue" against "black" and "grey");
* counts;
* being on something and being beside, before, behind or under it.

Only where no caption says the same is it a contradiction: a shirt may be red and white.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from revise_captions.graphs import words
from revise_captions.graphs.graph import Attribute, AttributeKind, Graph, Object
from revise_captions.graphs.triples import lemmas
from scripts.research.posh.boxes import category

#: Colours that people use for one another.
_FAMILIES = tuple(
    map(
        words.listed,
        (
            "gray grey silver", "white cream ivory beige", "brown tan beige khaki bronze golden",
            "yellow gold golden blond blonde", "red maroon burgundy crimson scarlet",
            "orange peach", "blue navy azure teal turquoise cyan", "green teal olive turquoise",
            "purple violet lavender magenta pink",
        ),
    )
)  # fmt: skip
_ON = words.listed("on onto atop on_top_of ride mount_on")
_BESIDE = words.listed(
    "next_to beside near close_to in_front_of behind by alongside under underneath below beneath "
    "before outside"
)


def against(graph: Graph, captions: Sequence[Graph]) -> Iterator[str]:
    """Every claim of a text's graph that captions contradict, in a few words."""
    yield from _attributes(graph, captions)
    yield from _relations(graph, captions)


def _attributes(graph: Graph, captions: Sequence[Graph]) -> Iterator[str]:
    for item in graph.attributes:
        mine = graph.objects[item.object]
        told = [
            other
            for caption in captions
            for other in caption.attributes
            if same(mine, caption.objects[other.object])
        ]
        all_of_it = _colors(graph.attributes_of(item.object))
        theirs = _colors(told)
        if _colors([item]) and theirs and not _alike(all_of_it, theirs):
            yield f"{item.value} {mine.name}, and captions say {', '.join(sorted(theirs))}"
        counts = {o.value for o in told if o.kind is AttributeKind.COUNT and o.value.isdigit()}
        number = item.value if item.kind is AttributeKind.COUNT and item.value.isdigit() else ""
        if number and counts and number not in counts:
            yield f"{number} {mine.name}, and captions say {', '.join(sorted(counts))}"


def _colors(told: Iterable[Attribute]) -> frozenset[str]:
    return frozenset(word for item in told for word in item.value.split()) & words.COLORS


def _alike(first: frozenset[str], second: frozenset[str]) -> bool:
    return bool(first & second) or any(first & f and second & f for f in _FAMILIES)


def _relations(graph: Graph, captions: Sequence[Graph]) -> Iterator[str]:
    for edge in graph.relations:
        own = _stance(edge.name)
        if not own:
            continue
        ends = graph.objects[edge.subject], graph.objects[edge.target]
        told = {
            other.name: _stance(other.name)
            for caption in captions
            for other in caption.relations
            if same(ends[0], caption.objects[other.subject])
            and same(ends[1], caption.objects[other.target])
        }
        odd = sorted(name for name, stance in told.items() if stance)
        if odd and own not in told.values():
            claim = f"{ends[0].name} {edge.name} {ends[1].name}"
            yield f"{claim}, and captions say {', '.join(odd)}"


def _stance(name: str) -> str:
    """Where a relation puts one thing to another: "on", "beside", or "" for elsewhere."""
    parts = name.split()
    for size in (3, 2, 1):
        end = "_".join(parts[-size:])
        if end in _ON:
            return "on"
        if end in _BESIDE:
            return "beside"
    return ""


def same(one: Object, other: Object) -> bool:
    """Whether two texts on one picture may speak of the same thing: one noun, or one category."""
    heads = [lemmas(item.lemma).rpartition(" ")[2] for item in (one, other)]
    found = category(one.name)
    return heads[0] == heads[1] or bool(found and found == category(other.name))
