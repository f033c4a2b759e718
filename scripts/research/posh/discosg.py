"""A graph of ours in the notation of DiscoSG, whose annotators write less than a text says.

What they do, as counted in the first half of its published part: objects have one-word names, a
noun before a noun is an attribute unless the two are one thing ("fire hydrant"); "right hand" is a
hand that is right; what a thing is seen with, filled or adorned with, it has; clothes are worn;
the background is an object, the foreground and places in the picture are none; neither are words
for anything ("objects"), qualities that FACTUAL's annotators seldom write ("visible"), and objects
that little speaks for: how often FACTUAL's annotators name the noun, whether anything is said of
it, how often and where the text has it (`_points`). Objects of no triple are listed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from revise_captions.graphs import lexicon
from revise_captions.graphs.graph import AttributeKind, Graph, Object, Relation
from revise_captions.graphs.triples import (
    Triple,
    is_clothing,
    is_counted,
    lemmas,
    said_of,
    usual_name,
    written,
)
from revise_captions.graphs.words import listed

_SUMMARY = ("overall", "in summary", "in conclusion")
#: What begins in the last tenth of a text is said about it all.
_END = 0.9
_LATE = 0.74
_MARKS = ("'", '"', "“", "‘")
#: So many points an object needs to be named.
_ENOUGH = 3
_BODY = listed("back figure form")
_APART = listed("left right front back")
_NO_NAME = _APART | listed("baseball city zoo")
_UNSAID = listed("foreground object item text element subject")
#: Qualities that tell nothing of a thing alone.
_EMPTY = listed("visible distinctive focus focal ready central center stark additional essential")
_PEOPLE = {"guy": "person", "someone": "person", "individual": "person", "individuals": "people"}
_WORN = ("in", "have", "with", "wear", "sport", "don", "match", "flaunt")
_DRESSED = listed("dress clothe don adorn drape cloak wrap outfit attire bundle")
_HAD = ("with", "display", "feature", "host", "house", "boast", "showcase")
_CLAD = listed("dress clothe don attire outfit")
#: No relation that annotators write: "bridge to the left", "brand of camera".
_UNTOLD = ("to", "for", "from", "of", "like", "than")
_TURNED = {"adorn": "have", "characterize": "have", "cover in": "cover", "blanket in": "cover"}
_DOTTED = ("dot", "speckle", "dot in")
#: Rare verbs as annotators write them.
_VERBS = {
    "soar": "fly", "disperse": "scatter", "leap": "jump", "grip": "hold", "wield": "hold",
    "clutch": "hold", "grasp": "hold", "seat": "sit", "crisscross": "cross", "don": "wear",
    "launch": "throw", "gaze": "look",
}  # fmt: skip
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
    """The graph's triples as DiscoSG's annotators would write them, and objects without any."""
    graph = written(graph)
    names = [_parts(item) for item in graph.objects]
    kept = {i for i in range(len(names)) if _points(graph, i, names[i][1]) >= _ENOUGH}
    found: list[Triple] = []
    for i in sorted(kept):
        found += [(names[i][0], "is", value) for value in names[i][1] if _is_said(value)]
    for said in graph.attributes:
        quoted = graph.text[said.span.start - 1 : said.span.start] in _MARKS
        if (
            said.object in kept
            and is_counted(said)
            and said.kind is not AttributeKind.PLACE
            and not quoted
        ):
            values = filter(_is_said, _values(said_of(said)))
            found += [(names[said.object][0], "is", value) for value in values]
    for edge in graph.relations:
        if {edge.subject, edge.target} <= kept:
            told = _told(graph, edge, [name for name, _ in names])
            found += [] if told is None else [told]
    mentioned = {name for triple in found for name in (triple[0], triple[2])}
    alone = [(names[i][0],) for i in sorted(kept) if names[i][0] not in mentioned]
    return list(dict.fromkeys([*found, *alone]))


def _points(graph: Graph, index: int, before: tuple[str, ...]) -> int:
    """How likely annotators are to name an object: a sum of small numbers for what speaks for it.

    `before`: the words of its name that become attributes.
    """
    item = graph.objects[index]
    last = item.lemma.rpartition(" ")[2]
    said = list(graph.attributes_of(index))
    edges = list(graph.relations_of(index))
    qualities = len(before) + sum(one.kind is not AttributeKind.PLACE for one in said)
    known = lexicon.is_known(lemmas(last)) or len(item.mentions) > 1
    return (
        lexicon.weight(lemmas(last))
        + 2 * (qualities > 0)
        + any(one.kind is AttributeKind.PLACE for one in said)
        + any(edge.subject == index for edge in edges)
        + any(edge.target == index for edge in edges)
        + (len(item.mentions) > 1)
        + item.plural
        - 3 * (not known)
        - 2 * (item.mentions[0].start > _LATE * len(graph.text))
        - 2 * (last in _BODY and not qualities)
        - 4 * (last in _UNSAID or _only_at_the_end(graph.text, item))
    )


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
    size = 2 if one and first not in _NO_NAME else 1
    return " ".join(name[-size:]), tuple(name[:-size])


def _values(value: str) -> Iterator[str]:
    """ "Freshly baked" is baked, "predominantly white" white; shades stay with their colours."""
    words_ = value.split()
    if len(words_) == 2 and words_[0].endswith("ly"):
        yield words_[1]
    else:
        yield value


def _is_said(value: str) -> bool:
    lemma = lemmas(value)
    return (lexicon.is_said(lemma) or lemma in _APART) and lemma not in _EMPTY


def _told(graph: Graph, edge: Relation, names: Sequence[str]) -> Triple | None:
    """A relation as annotators write it; None for what they leave out."""
    name = _name(graph, edge)
    subject, target = names[edge.subject], names[edge.target]
    if name in _UNTOLD:
        return None
    if name == "have" and graph.objects[edge.subject].lemma == "background":
        return target, "in", subject
    if name in _DOTTED:
        return subject, "in", target
    if name in _TURNED:
        return target, _TURNED[name], subject
    return subject, name, target


def _name(graph: Graph, edge: Relation) -> str:
    name = edge.name
    verb, _, last = name.rpartition(" ")
    target = graph.objects[edge.target].lemma
    worn = last in ("in", "with") and verb in _CLAD
    dressed = name in _WORN or (last in ("in", "with") and verb in _DRESSED)
    dressed = worn or (dressed and is_clothing(graph, edge.target))
    if dressed and not is_clothing(graph, edge.subject):
        return "wear"
    if target == "background" and last in ("in", ""):
        return "in"
    if name == "with" or (last == "with" and verb.replace(" ", "_") in _HAS):
        return "have"
    name = usual_name(name)
    return _usual(_NAMES.get(name, name))


def _usual(name: str) -> str:
    """Without the words that annotators leave out: rare verbs, "out" of "reach out to"."""
    first, *rest = name.split()
    first = _VERBS.get(first, first)
    if len(rest) > 1 and rest[0] in ("out", "up", "down"):
        rest = rest[1:]
    if rest and first not in lexicon.verb_forms() and first not in lexicon.PREPOSITIONS:
        first, *rest = rest
    if first in _HAD and not rest:
        return "have"
    name = " ".join([first, *rest]).replace("in heart of", "in").replace("in midst of", "in")
    return _NAMES.get(name, name)
