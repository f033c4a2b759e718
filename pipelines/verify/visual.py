"""Visual verification: the critic judges single components of a caption.

Each component becomes a short sentence of its own ("There is a dog.", "The dog is brown.", "The
boat is to the left of the house."), in forms that captions, and so training data, have. The critic
judges it as a caption of one sentence. If several objects share a name, a sentence introduces its
object ("There is a brown dog."), as "the dog" would be ambiguous.

This checks consistency, not truth: a critic that asked for the revision agrees with itself.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from revise_captions.graphs import words
from revise_captions.graphs.graph import AttributeKind, Graph
from revise_captions.graphs.inflect import gerund
from revise_captions.graphs.triples import lemmas
from revise_captions.posh.components import Part
from revise_captions.records import Span, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.critic.protocol import Critic

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
class ComponentQuestion:
    """One component as a sentence. `phrase` is its short name, `span` its place in the text."""

    text: str
    part: Part
    phrase: str
    span: Span


def questions(graph: Graph) -> list[ComponentQuestion]:
    """A sentence for every component that the text asserts, without duplicates."""
    graph = graph.present()
    speaker = _speaker(graph)
    made = [
        ComponentQuestion(speaker.exists(i), Part.OBJECT, item.name, item.span)
        for i, item in enumerate(graph.objects)
    ]
    for said in graph.attributes:
        phrase = f"{said.value} {graph.objects[said.object].name}"
        text = speaker.has(said.object, said.value, said.kind)
        made.append(ComponentQuestion(text, Part.ATTRIBUTE, phrase, said.span))
    for edge in graph.relations:
        ends = graph.objects[edge.subject].name, graph.objects[edge.target].name
        text = speaker.stands(edge.subject, edge.name, edge.target)
        made.append(
            ComponentQuestion(text, Part.RELATION, f"{ends[0]} {edge.name} {ends[1]}", edge.span)
        )
    unique: dict[str, ComponentQuestion] = {}
    for item in made:
        unique.setdefault(item.text, item)
    return list(unique.values())


@dataclass(frozen=True, slots=True)
class _Speaker:
    """Phrases statements about a graph's objects.

    Attributes:
        owners: Owner and relation of a thing that belongs to another.
        only: Whether no other object has the same name.
    """

    graph: Graph
    owners: Mapping[int, tuple[int, str]]
    only: Sequence[bool]

    def exists(self, index: int) -> str:
        owner = self.owners.get(index)
        if owner is not None:
            return _sentence(f"{self._the(owner[0])} {self._having(*owner)} {self._a(index)}")
        if self._last(index) in _SURROUNDINGS:
            return _sentence(f"the picture shows {self._a(index)}")
        return _sentence(f"there {self._be(index)} {self._a(index)}")

    def has(self, index: int, value: str, kind: AttributeKind) -> str:
        item, owner = self.graph.objects[index], self.owners.get(index)
        said = f"{_NUMBERS.get(value, value)} {item.name}"
        if kind is not AttributeKind.COUNT:
            if self.only[index] and (owner is None or owner[1] not in _HOLDING):
                return _sentence(f"{self._the(index)} {self._be(index)} {value}")
            if value.endswith("ing"):
                return _sentence(f"{self._a(index)} {self._be(index)} {value}")
            said = f"{self._article(index, value)}{value} {item.name}"
        if owner is not None:
            return _sentence(f"{self._the(owner[0])} {self._having(*owner)} {said}")
        return _sentence(f"there {self._be(index)} {said}")

    def stands(self, subject: int, relation: str, target: int) -> str:
        if relation in _OWNING:
            who = self._the(subject)
            return _sentence(f"{who} {self._having(subject, relation)} {self._a(target)}")
        verb, _, rest = relation.partition(" ")
        if verb in ("in", "wear") and self._last(target) in words.CLOTHES:
            return _sentence(f"{self._the(subject)} {self._be(subject)} wearing {self._a(target)}")
        if verb == "be" and rest:
            verb, relation = rest.partition(" ")[0], rest
        if verb in _PREPOSITIONS:
            said = f"{self._be(subject)} {_with_article(relation)}"
        else:
            said = f"{self._be(subject)} {gerund(verb)}{' ' * bool(rest)}{_with_article(rest)}"
        return _sentence(f"{self._the(subject)} {said} {self._the(target)}")

    def _last(self, index: int) -> str:
        return self.graph.objects[index].lemma.rpartition(" ")[2]

    def _having(self, owner: int, relation: str) -> str:
        if relation in ("have", "with"):
            return "have" if self.graph.objects[owner].plural else "has"
        return f"{self._be(owner)} {gerund(relation)}"

    def _be(self, index: int) -> str:
        return "are" if self.graph.objects[index].plural else "is"

    def _the(self, index: int) -> str:
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


def _speaker(graph: Graph) -> _Speaker:
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
    return _Speaker(graph, owners, [times[name] == 1 for name in names])


def _sentence(text: str) -> str:
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


@dataclass(frozen=True, slots=True)
class ComponentAnswer:
    """A question with the critic's verdict. `yes` is None if unscored."""

    question: ComponentQuestion
    verdict: Verdict
    yes: bool | None


def look(
    asked: Sequence[tuple[Image, Sequence[ComponentQuestion]]], critic: Critic
) -> list[tuple[ComponentAnswer, ...]]:
    """The critic's answers, in order. Equal questions about one image are asked once."""
    from revise_captions.critic.protocol import JudgeRequest

    places: dict[tuple[int, str], int] = {}
    paragraphs: list[JudgeRequest] = []
    for image, items in asked:
        for item in items:
            if (id(image), item.text) not in places:
                places[id(image), item.text] = len(paragraphs)
                paragraphs.append(JudgeRequest(image, item.text, (Span(0, len(item.text)),)))
    verdicts = [found[0] for found in critic.judge(paragraphs)] if paragraphs else []
    return [
        tuple(
            _seen(item, verdicts[places[id(image), item.text]], critic.threshold) for item in items
        )
        for image, items in asked
    ]


def _seen(question: ComponentQuestion, verdict: Verdict, threshold: float) -> ComponentAnswer:
    p = verdict.p_factual
    return ComponentAnswer(question, verdict, None if p is None else p >= threshold)
