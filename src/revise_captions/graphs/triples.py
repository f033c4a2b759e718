"""Graphs as triples: FACTUAL's and DiscoSG's notation, its conventions, and how graphs compare.

`( man , wear , hat ) , ( hat , is , red ) , ( dog )`: relations, attributes, and objects that have
neither. The annotators' conventions differ from ours in a few places (`convention` says how).

Two scores: **set match** is the share of captions whose triples are exactly the gold ones; the
**SPICE-style F1** (Anderson et al. 2016, equations 4 to 6) is that of the tuples `(object)`,
`(object, attribute)`, `(subject, relation, target)`, averaged over captions, where two words count
as the same if their lemmas do. SPICE also takes WordNet's synonyms for the same: `synonyms` does.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from revise_captions.graphs import lexicon, words
from revise_captions.graphs.graph import Attribute, AttributeKind, Graph, Relation

Triple = tuple[str, ...]
_TRIPLE = re.compile(r"\(\s*([^()]*?)\s*\)")


@dataclass(frozen=True, slots=True)
class Tuples:
    """A graph as sets of tuples of lemmas, by kind."""

    objects: frozenset[Triple]
    attributes: frozenset[Triple]
    relations: frozenset[Triple]

    @property
    def all(self) -> frozenset[Triple]:
        return self.objects | self.attributes | self.relations

    @property
    def triples(self) -> frozenset[Triple]:
        """Attributes and relations only."""
        return self.attributes | self.relations


def read_triples(text: str) -> list[Triple]:
    """The notation's triples, in order; an object alone is a tuple of one."""
    found = [tuple(part.strip() for part in inner.split(" , ")) for inner in _TRIPLE.findall(text)]
    return [triple for triple in found if len(triple) in (1, 3)]


@cache
def lemmas(phrase: str) -> str:
    """Each word's lemma, lower-cased; digits for number words; no articles."""
    import simplemma

    kept = [w for w in phrase.lower().replace("-", " ").split() if w not in ("a", "an", "the")]
    stems = (str(simplemma.lemmatize(words.NUMBERS.get(w, w), lang="en")).lower() for w in kept)
    return " ".join("gray" if stem == "grey" else stem for stem in stems)


def tuples(triples: Iterable[Triple]) -> Tuples:
    """Objects are every subject, and every target of a relation."""
    objects: set[Triple] = set()
    attributes: set[Triple] = set()
    relations: set[Triple] = set()
    for triple in triples:
        parts = tuple(lemmas(part) for part in triple)
        objects.add((parts[0],))
        if len(parts) == 3 and triple[1] == "is":
            attributes.add((parts[0], parts[2]))
        elif len(parts) == 3:
            relations.add((parts[0], parts[1], parts[2]))
            objects.add((parts[2],))
    return Tuples(frozenset(objects), frozenset(attributes), frozenset(relations))


def f1(found: frozenset[Triple], gold: frozenset[Triple]) -> float:
    """2PR/(P+R) of two sets; 1 where both are empty."""
    if not found and not gold:
        return 1.0
    return 2 * len(found & gold) / (len(found) + len(gold))


#: "Number 42", "letter p".
_NUMBER = re.compile(r"(?<=\w) (\d+|\w)$")
_PEOPLE = {"guy": "person", "someone": "person", "somebody": "person"}


def convention(graph: Graph) -> list[Triple]:
    """A graph of ours in FACTUAL's notation: names as written, counts as digits, vague quantities
    ("several") and directions of verbs left out, clothes that somebody is in worn; objects that no
    triple mentions are listed.
    """
    graph = written(graph)
    names = [_PEOPLE.get(item.name, _NUMBER.sub("", item.name)) for item in graph.objects]
    found: list[Triple] = [
        (names[item.object], "is", said_of(item))
        for item in graph.attributes
        if is_counted(item) and (item.kind is not AttributeKind.PLACE or item.value in _SIDES)
    ]
    told = Counter(frozenset((edge.subject, edge.target)) for edge in graph.relations)
    found += [
        _told(graph, edge, names)
        for edge in graph.relations  # of "a table with a cup on it", "on" alone
        if edge.name != "with" or told[frozenset((edge.subject, edge.target))] == 1
    ]
    named = {name for triple in found for name in (triple[0], triple[2])}
    alone = [(name,) for name in names if name not in named]
    return list(dict.fromkeys([*found, *alone]))


def _told(graph: Graph, edge: Relation, names: Sequence[str]) -> Triple:
    """A relation as annotators write it: food is on a plate, who is in a picture is in it."""
    subject, target = names[edge.subject], names[edge.target]
    head = _head(graph, edge.subject)
    filled = head in words.CONTAINERS - {"forest"} and " of " in edge.span.of(graph.text)
    if filled and edge.name == "have":
        return target, "on" if head in _FLAT else "in", subject
    if edge.name == "of" and head in _SHOWING:
        return target, "in", subject
    if _is_worn(graph, edge):
        return subject, "wear", target
    return subject, usual_name(edge.name), target


_FLAT = words.listed("plate tray platter field cart pan")
_SHOWING = words.PICTURES | words.listed("painting drawing portrait sketch poster mural")


def _head(graph: Graph, index: int) -> str:
    return graph.objects[index].lemma.rpartition(" ")[2]


#: Prepositions as FACTUAL's annotators write them.
_USUAL = {
    "beneath": "under", "underneath": "under", "below": "under", "in between": "between",
    "in middle of": "on middle of", "in centre of": "in center of", "inside of": "inside",
    "outside of": "outside", "at end of": "in end of", "at bottom of": "on bottom of",
    "at top of": "on top of", "atop": "on top of", "at edge of": "on edge of",
    "on other side of": "on side of", "on left side of": "at left of", "to left of": "at left of",
    "to right of": "on right side of", "along side of": "alongside", "toward": "towards",
    "besides": "beside",
}  # fmt: skip


@cache
def usual_name(name: str) -> str:
    """A relation's name as annotators write it: "lie down underneath" is "lie under"."""
    parts = name.split()
    if len(parts) > 2 and parts[1] in ("down", "up"):
        del parts[1]
    if parts[0] == "seat":
        parts[0] = "sit"
    for start in range(len(parts)):
        usual = _USUAL.get(" ".join(parts[start:]))
        if usual is not None:
            return " ".join([*parts[:start], usual])
    return " ".join(parts)


def _is_worn(graph: Graph, edge: Relation) -> bool:
    if not is_clothing(graph, edge.target):
        return False
    being = _head(graph, edge.subject) in words.BEINGS
    return edge.name == "in" or (being and edge.name in _WORN)


_WORN = ("with", "have", "dress in", "clothe in", "sit with", "stand with")


def written(graph: Graph) -> Graph:
    """What is there of a graph and annotators write down: no metal, symbols, shots."""
    heads = [item.lemma.rpartition(" ")[2] for item in graph.objects]
    left_out = words.FRAMES - words.PICTURES
    seen = tuple(
        replace(item, denied=item.denied or head in left_out or not lexicon.is_named(head))
        for item, head in zip(graph.objects, heads, strict=True)
    )
    return replace(graph, objects=seen).present()


_SIDES = ("on the left", "on the right")


def is_counted(item: Attribute) -> bool:
    """Whether annotators write an attribute down: any quality; of counts numbers and groups."""
    counted = item.value.isdigit() or " " in item.value or item.value in _PORTIONS
    return item.kind is not AttributeKind.COUNT or counted


_PORTIONS = words.listed("piece slice patch block")


def said_of(item: Attribute) -> str:
    """An attribute's value without the direction of a verb or the degree of a quality."""
    first, _, last = item.value.partition(" ")
    if first in words.DEGREES and last:
        return last
    manner = last.endswith("ly") and first.endswith(("ing", "ed", "s"))
    return first if manner or last in words.DIRECTIONS else item.value


def is_clothing(graph: Graph, index: int) -> bool:
    return _head(graph, index) in words.CLOTHES
