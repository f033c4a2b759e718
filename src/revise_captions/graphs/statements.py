"""A scene graph's components as sentences of their own, in forms that captions have.

"There is a dog.", "The dog is brown.", "The boat is to the left of the house." Where several
objects share a name, a sentence introduces its object ("There is a brown dog."), as "the dog" would
be ambiguous.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from revise_captions.graphs import words
from revise_captions.graphs.graph import AttributeKind, Graph
from revise_captions.graphs.inflect import gerund
from revise_captions.graphs.triples import lemmas

#: Relations by which a thing belongs to another, which then says where it is.
_HOLDING = frozenset(("hold", "carry"))
_OWNING = _HOLDING | {"have", "with", "wear"}
_NUMBERS = {digits: word for word, digits in reversed(words.NUMBERS.items())}
_UNCOUNTED = words.listed(
    "grass sand water snow ice sky hair fur foliage plumage clothing rain fog smoke sunlight light "
    "wood glass metal food bread rice furniture jewelry makeup dirt mud traffic greenery"
)
#: What has nothing, though a caption says "a room with a chair".
_SURROUNDINGS = words.listed(
    "room street road meadow field beach park garden yard sky landscape kitchen area background "
    "foreground setting scene image picture photo corner shore city town forest"
)
#: Nouns of place whose article a relation's name leaves out.
_AT_SIDE = ("left", "right", "top", "side", "edge", "back", "middle", "center", "centre", "bottom")


@dataclass(frozen=True, slots=True)
class Speaker:
    """Phrases statements about a graph's objects (the graph without what is denied).

    Attributes:
        owners: Owner and relation of a thing that belongs to another.
        only: Whether it may be called "the dog": no other object has the same name.
    """

    graph: Graph
    owners: Mapping[int, tuple[int, str]]
    only: Sequence[bool]

    def after(self, known: frozenset[int]) -> Speaker:
        """Names things as a sentence does before which only these were mentioned."""
        return replace(self, only=[one and i in known for i, one in enumerate(self.only)])

    def exists(self, index: int) -> str:
        """ "There is a dog.", "The man has a beard." """
        owner = self.owners.get(index)
        if owner is not None:
            return sentence(f"{self.the(owner[0])} {self._having(*owner)} {self._a(index)}")
        if self._last(index) in _SURROUNDINGS:
            return sentence(f"the picture shows {self._a(index)}")
        return sentence(f"there {self._be(index)} {self._a(index)}")

    def has(self, index: int, value: str, kind: AttributeKind) -> str:
        """ "The dog is brown.", "There are two dogs." """
        item, owner = self.graph.objects[index], self.owners.get(index)
        said = f"{_NUMBERS.get(value, value)} {item.name}"
        if kind is not AttributeKind.COUNT:
            if self.only[index] and (owner is None or owner[1] not in _HOLDING):
                return sentence(f"{self.the(index)} {self._be(index)} {value}")
            if value.endswith("ing"):
                return sentence(f"{self._a(index)} {self._be(index)} {value}")
            said = f"{self._article(index, value)}{value} {item.name}"
        if owner is not None:
            return sentence(f"{self.the(owner[0])} {self._having(*owner)} {said}")
        return sentence(f"there {self._be(index)} {said}")

    def stands(self, subject: int, relation: str, target: int) -> str:
        """ "The dog is sitting on the mat." """
        if relation in _OWNING:
            who = self.the(subject)
            return sentence(f"{who} {self._having(subject, relation)} {self._a(target)}")
        verb, _, rest = relation.partition(" ")
        if verb in ("in", "wear") and self._last(target) in words.CLOTHES:
            return sentence(f"{self.the(subject)} {self._be(subject)} wearing {self._a(target)}")
        if verb == "be" and rest:
            verb, relation = rest.partition(" ")[0], rest
        if verb in _PREPOSITIONS:
            said = f"{self._be(subject)} {_with_article(relation)}"
        else:
            said = f"{self._be(subject)} {gerund(verb)}{' ' * bool(rest)}{_with_article(rest)}"
        return sentence(f"{self.the(subject)} {said} {self.the(target)}")

    def _last(self, index: int) -> str:
        return self.graph.objects[index].lemma.rpartition(" ")[2]

    def _having(self, owner: int, relation: str) -> str:
        if relation in ("have", "with"):
            return "have" if self.graph.objects[owner].plural else "has"
        return f"{self._be(owner)} {gerund(relation)}"

    def _be(self, index: int) -> str:
        return "are" if self.graph.objects[index].plural else "is"

    def the(self, index: int) -> str:
        """ "the dog" where there is one, else "a dog"; several may be some of more."""
        return f"the {self.graph.objects[index].name}" if self.only[index] else self._a(index)

    def _a(self, index: int) -> str:
        name = self.graph.objects[index].name
        return self._article(index, name) + name

    def _article(self, index: int, before: str) -> str:
        item = self.graph.objects[index]
        if item.plural or self._last(index) in _UNCOUNTED:
            return ""
        return "an " if before[:1].lower() in "aeiou" else "a "


def speaker_of(graph: Graph) -> Speaker:
    names = [lemmas(item.lemma) for item in graph.objects]
    times = Counter(names)
    owners: dict[int, tuple[int, str]] = {}
    for edge in graph.relations:
        wide = graph.objects[edge.subject].lemma.rpartition(" ")[2] in _SURROUNDINGS
        if edge.name in _OWNING and not wide:
            owners.setdefault(edge.target, (edge.subject, edge.name))
    for i, item in enumerate(graph.objects):
        if item.part_of is not None:
            owners[i] = item.part_of, "have"
    return Speaker(graph, owners, [times[name] == 1 for name in names])


def sentence(text: str) -> str:
    """With a capital and a final stop."""
    return text[:1].upper() + text[1:] + "."


_PREPOSITIONS = words.listed(
    "on in at by near above below under over behind beside between among around inside outside "
    "against along across beneath underneath atop next to from of into onto off through toward "
    "towards within left right opposite past up down for about like front"
)


def _with_article(relation: str) -> str:
    """ "to left of" with the article that captions have: "to the left of"."""
    parts = relation.split()
    if len(parts) == 3 and parts[1] in _AT_SIDE and parts[2] == "of" and parts[:2] != ["on", "top"]:
        parts.insert(1, "the")
    return " ".join(parts)
