"""A graph of ours in the notation of DiscoSG, whose annotators write less than a text says.

What they do, as counted in the first half of its published part: objects have one-word names, a
noun before a noun is an attribute unless the two are one thing ("fire hydrant"); "right hand" is a
hand that is right; what a thing is seen with, filled or adorned with, it has; clothes are worn;
the background is an object, the foreground and places in the picture are none; neither are body
parts of which nothing is said, words for anything ("objects"), nouns that are named once and that
FACTUAL's annotators have never taken for an object, and what only the end names ("Overall, ...").
There are triples only.
"""

from __future__ import annotations

from collections.abc import Iterator

from revise_captions.graphs import lexicon
from revise_captions.graphs.graph import Graph, Kind, Object, Relation
from revise_captions.graphs.triples import Triple, is_clothing, is_counted, lemmas, said_of
from revise_captions.graphs.words import listed

_SUMMARY = ("overall", "in summary", "in conclusion")
#: What begins in the last tenth of a text is said about it all.
_END = 0.9
_BODY = listed("back figure form")
_APART = listed("left right front back baseball")
_UNSAID = listed("foreground object item text element subject")
_PEOPLE = {"guy": "person", "someone": "person", "individual": "person", "individuals": "people"}
_WORN = ("in", "have", "with", "wear", "sport", "don", "match", "flaunt")
_DRESSED = listed("dress clothe don adorn drape cloak wrap outfit attire bundle")
_NAMES = {
    "to right of": "on right side of", "to left of": "at left of", "on left side of": "at left of",
    "amidst": "among", "amid": "among", "stand amidst": "stand among", "beneath": "under",
    "in heart of": "in", "in midst of": "in", "over": "above", "atop": "on top of",
    "flank": "on both side of",
}  # fmt: skip
#: "Filled with", "equipped with", "stands out with": what something has.
_HAS = listed(
    "fill dot adorn equip characterize mark teem lace emblazon stand stand_out top crown punctuate "
    "fit feature decorate boast compose comprise brim pack populate face line contrast"
)


def discourse(graph: Graph) -> list[Triple]:
    """The graph's triples as DiscoSG's annotators would write them."""
    graph = graph.present()
    kept = {i for i, item in enumerate(graph.objects) if _is_told(graph, i, item)}
    names = [_parts(item) for item in graph.objects]
    found: list[Triple] = []
    for i in sorted(kept):
        found += [(names[i][0], "is", value) for value in names[i][1]]
    for said in graph.attributes:
        if said.object in kept and is_counted(said) and said.kind is not Kind.PLACE:
            found += [(names[said.object][0], "is", value) for value in _values(said_of(said))]
    for edge in graph.relations:
        if {edge.subject, edge.target} <= kept:
            subject, target = names[edge.subject][0], names[edge.target][0]
            found.append((subject, _name(graph, edge), target))
    return list(dict.fromkeys(found))


def _is_told(graph: Graph, index: int, item: Object) -> bool:
    last = item.lemma.rpartition(" ")[2]
    if last in _UNSAID or _only_at_the_end(graph.text, item):
        return False
    if not lexicon.is_known(lemmas(last)) and len(item.mentions) == 1:
        return False
    return last not in _BODY or any(True for _ in graph.attributes_of(index)) or " " in item.name


def _only_at_the_end(text: str, item: Object) -> bool:
    first = item.mentions[0].start
    start = text.rfind(". ", 0, first) + 1
    summary = text[start : start + 20].strip().lower().startswith(_SUMMARY)
    return summary or (start > 0 and first >= _END * len(text))


def _parts(item: Object) -> tuple[str, tuple[str, ...]]:
    """The one-word name, or that of two that are one thing, and the attributes before it."""
    name = _PEOPLE.get(item.name, item.name).split()
    if len(name) == 1:
        return name[0], ()
    first, last = name[-2], lemmas(name[-1])
    one = lexicon.is_one(first, last) or not lexicon.is_known(last)
    size = 2 if one and first not in _APART else 1
    return " ".join(name[-size:]), tuple(name[:-size])


def _values(value: str) -> Iterator[str]:
    """ "Freshly baked" is baked, "predominantly white" white; shades stay with their colours."""
    words_ = value.split()
    if len(words_) == 2 and words_[0].endswith("ly"):
        yield words_[1]
    else:
        yield value


def _name(graph: Graph, edge: Relation) -> str:
    name = edge.name
    verb, _, last = name.rpartition(" ")
    target = graph.objects[edge.target].lemma
    dressed = name in _WORN or (last in ("in", "with") and verb in _DRESSED)
    if dressed and is_clothing(graph, edge.target) and not is_clothing(graph, edge.subject):
        return "wear"
    if target == "background" and last in ("in", ""):
        return "in"
    if name == "with" or (last == "with" and verb.replace(" ", "_") in _HAS):
        return "have"
    return _NAMES.get(name, name)
