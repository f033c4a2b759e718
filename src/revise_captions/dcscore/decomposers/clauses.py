"""Clauses and noun phrases of a parsed text as sentences of their own.

A scene graph's triples say only who does what to whom, but "the windshield reflects the sunlight
brightly just in front of the driver's seat" says more than that. Here each predicate makes a
sentence with its subject, its adverbs and the bare heads of its arguments, and one with each of
these alone; each noun makes one with each modifier that the graph leaves out, and with its "of"
phrase. Words are kept as written; a pronoun is replaced by what it refers to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from revise_captions.graphs.extract import TextReading
from revise_captions.graphs.graph import Graph
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.statements import Speaker, sentence
from revise_captions.graphs.words import FEMALE, GROUP, MALE, NEUTER, PLACES, RELATIVE
from revise_captions.records import Span

_NOMINAL = frozenset(("NOUN", "PROPN", "PRON", "NUM"))
_SUBJECTS = (Role.SUBJECT, Role.PASSIVE_SUBJECT)
_ARGUMENTS = (Role.OBJECT, Role.INDIRECT, Role.PLACE, Role.AGENT)
#: Roles of what belongs to a verb itself rather than being its argument.
_VERBAL = (Role.AUXILIARY, Role.PASSIVE, Role.COPULA, Role.NEGATION, Role.PARTICLE, Role.ADVERB)
_HELPING = (Role.AUXILIARY, Role.PASSIVE, Role.COPULA)
_IN_NAME = (Role.DETERMINER, Role.NUMBER, Role.COMPOUND, Role.FLAT)
_PERSONAL = MALE | FEMALE | NEUTER | GROUP
#: A clause with more arguments than this is no longer a small unit.
_MOST = 4


@dataclass(frozen=True, slots=True)
class SpokenClause:
    """A sentence that states a part of a text, and where the text states it."""

    text: str
    span: Span


class ClauseSpeaker:
    """Phrases the clauses of one text.

    Args:
        reading: The parsed text.
        speaker_at: Gives the speaker that names the objects of its graph, without denied ones, at a
            place.
        shown: For each object of the reading's graph, its index in that graph, if it is there.
    """

    def __init__(
        self,
        reading: TextReading,
        speaker_at: Callable[[int], Speaker],
        shown: Sequence[int | None],
    ) -> None:
        self.nodes, self.objects = reading.nodes, reading.objects
        self.text = reading.graph.text
        #: Where attributes of the graph end: a modifier that ends there is already covered.
        self.said = {item.span.end for item in reading.graph.attributes}
        self.speaker_at, self.shown = speaker_at, shown

    def statements(self) -> Iterator[SpokenClause]:
        """All statements, in word order."""
        for node in self.nodes:
            if _is_predicate(node):
                yield from self._clause(node)
            if node.pos in _NOMINAL:
                yield from self._noun(node)

    # --- Clauses --------------------------------------------------------------------------------

    def _clause(self, node: Node) -> Iterator[SpokenClause]:
        """The clause with all its arguments and, if there are several, with each one alone."""
        if node.role is Role.COMPLEMENT and self._is_infinitive(node):
            return
        verbal = self._verbal(node)
        expletive = [c for c in self._children(node) if c.role is Role.EXPLETIVE]
        subject = self._subject(node)
        own = [c for c in self._children(node) if c.role in _SUBJECTS]
        if expletive:
            arguments = [self._phrase(one) for c in own for one in self._row(c)][:1]
            verbal |= {c.index: c.text for c in expletive}
        elif subject is None or (node.role is not Role.COMPLEMENT and self._is_infinitive(node)):
            return
        else:
            arguments = []
        there = arguments[:1]
        rows = [there, *self._arguments(node)] if there else self._arguments(node)
        start = "" if expletive or subject is None else self._named(subject)
        be = "" if expletive or subject is None else self._be(node, verbal, subject)
        if sum(map(len, rows)) <= _MOST:
            yield self._said(start, be, verbal, [one for row in rows for one in _joined(row)])
        alone = [one for row in rows[len(there) :] for one in row]
        if len(alone) + len(there) > 1:
            for one in alone:
                yield self._said(start, be, verbal, [*there, one])

    def _said(
        self, start: str, be: str, verbal: dict[int, str], arguments: Sequence[dict[int, str]]
    ) -> SpokenClause:
        words = dict(verbal)
        for argument in arguments:
            words |= argument
        order = sorted(words)
        text = " ".join(filter(None, [start, be, *(words[i] for i in order)]))
        return SpokenClause(
            sentence(" ".join(text.split()).replace(" n't", "n't").replace(" n’t", "n’t")),
            Span(self.nodes[order[0]].start, self.nodes[order[-1]].end),
        )

    def _verbal(self, node: Node) -> dict[int, str]:
        """The predicate with auxiliaries, particles, adverbs, and an open complement."""
        words = self._phrase(node) if node.pos in _NOMINAL else {node.index: self._as_written(node)}
        for child in self._children(node):
            if (
                child.role in _VERBAL
                or (child.role is Role.OTHER and child.text in ("to", "not"))
                or (child.role is Role.ADJECTIVE and node.pos not in _NOMINAL)
            ):
                words[child.index] = self._as_written(child)
            elif child.role is Role.COMPLEMENT and child.index > node.index:
                words |= self._verbal(child)
                for row in self._arguments(child):
                    for argument in _joined(row):
                        words |= argument
        return words

    def _arguments(self, node: Node) -> list[list[dict[int, str]]]:
        """Each argument with those coordinated with it."""
        return [
            [self._phrase(one) for one in self._row(child)]
            for child in self._children(node)
            if child.role in _ARGUMENTS and child.text not in RELATIVE
        ]

    def _be(self, node: Node, verbal: dict[int, str], subject: Node) -> str:
        """ "is" before a participle that has no auxiliary of its own."""
        helped = any(c.role in _HELPING for c in self._children(node))
        helped = helped or verbal[min(verbal)] in ("is", "are", "was", "were")
        bare = node.pos in ("ADJ", *_NOMINAL) or node.tag in ("VBG", "VBN")
        if helped or not bare:
            return ""
        several = subject.plural or len(self._row(subject)) > 1
        return "are" if several else "is"

    def _is_infinitive(self, node: Node) -> bool:
        return node.tag == "VB" or any(
            c.text == "to" and c.index < node.index for c in self._children(node)
        )

    def _subject(self, node: Node, depth: int = 0) -> Node | None:
        """For a participle or relative clause, the noun it modifies, else as in `attributes`."""
        for child in self._children(node):
            if child.role in _SUBJECTS:
                if child.text in RELATIVE and node.role is Role.RELATIVE:
                    break
                return child
        if node.head < 0 or depth > 6:
            return None
        above = self.nodes[node.head]
        if node.role in (Role.RELATIVE, Role.PARTICIPLE):
            return above if above.pos in _NOMINAL else None
        if node.role in (Role.CONJUNCT, Role.COMPLEMENT, Role.CLAUSE):
            return self._subject(above, depth + 1)
        return None

    # --- Noun phrases ---------------------------------------------------------------------------

    def _noun(self, node: Node) -> Iterator[SpokenClause]:
        """ "There is a low-angle shot.", "There are other houses.", "There is a line of trees." """
        denied = any(self.shown[k] is None for k in self.objects.get(node.index, ()))
        denied = denied or node.negated or any(c.text == "no" for c in self._children(node))
        if denied or (node.lemma in PLACES and node.case):
            return
        for child in self._children(node):
            name = self._name(node)
            if child.role in (Role.ADJECTIVE, Role.COMPOUND) and child.index < node.index:
                for one in self._row(child):
                    if one.end in self.said:
                        continue
                    degree = {c.index: c.text for c in self._children(one) if c.role is Role.ADVERB}
                    yield self._there(node, {**degree, one.index: self._as_written(one), **name})
            elif child.role is Role.OF_NOUN and child.case and child.index > node.index:
                for one in self._row(child):
                    yield self._there(node, {**name, **self._phrase(one)})

    def _there(self, node: Node, words: dict[int, str]) -> SpokenClause:
        order = sorted(words)
        text = " ".join(words[i] for i in order)
        article = "" if node.plural else "an " if text[:1].lower() in "aeiou" else "a "
        be = "are" if node.plural else "is"
        span = Span(self.nodes[order[0]].start, self.nodes[order[-1]].end)
        return SpokenClause(sentence(f"there {be} {article}{text}"), span)

    def _name(self, node: Node) -> dict[int, str]:
        """The noun with its compound nouns."""
        kept = [c for c in self._children(node) if c.role in (Role.COMPOUND, Role.FLAT)]
        return {c.index: self._as_written(c) for c in (*kept, node)}

    def _phrase(self, node: Node, depth: int = 0) -> dict[int, str]:
        """A noun phrase without adjectives, with its prepositions, owner, and "of" phrase."""
        words = {i: self._as_written(self.nodes[i]) for i in node.marks}
        known = self._known(node) if node.pos == "PRON" else ""
        if known:
            return {**words, node.index: known}
        words[node.index] = self._as_written(node)
        for child in self._children(node):
            if child.role in _IN_NAME or child.role is Role.NEGATION:
                words[child.index] = self._as_written(child)
            elif child.role is Role.OWNER:
                known = self._known(child) if child.text in _PERSONAL else ""
                owner = known or " ".join(self._phrase(child).values())
                mine = child.text in _PERSONAL and not known
                words[child.index] = owner if mine or owner.endswith("'s") else f"{owner}'s"
            elif child.role is Role.OF_NOUN and child.case[:1] == ["of"] and depth < 2:
                words |= self._phrase(child, depth + 1)
        return dict(sorted(words.items()))

    def _named(self, node: Node) -> str:
        """A subject: its objects by name, with those coordinated with it."""
        return " and ".join(
            self._known(one) or " ".join(self._phrase(one).values()) for one in self._row(node)
        )

    def _known(self, node: Node) -> str:
        """The name of the object that a node refers to; "" if unknown."""
        found = [self.shown[k] for k in self.objects.get(node.index, ())]
        kept = [k for k in found if k is not None]
        if not kept or len(kept) < len(found):
            return ""
        speaker = self.speaker_at(node.start)
        return " and ".join(dict.fromkeys(speaker.the(k) for k in kept))

    # --- Words ----------------------------------------------------------------------------------

    def _children(self, node: Node) -> list[Node]:
        return [self.nodes[i] for i in node.children]

    def _row(self, node: Node) -> list[Node]:
        """A node and those coordinated with it."""
        return [node, *(c for c in self._children(node) if c.role is Role.CONJUNCT)]

    def _as_written(self, node: Node) -> str:
        """The word as in the text, without a capital due only to beginning the sentence."""
        written = self.text[node.start : node.end]
        opens = node.index == 0 or self.nodes[node.index - 1].sentence != node.sentence
        return written.lower() if opens and node.pos != "PROPN" and written != "I" else written


def _joined(row: Sequence[dict[int, str]]) -> list[dict[int, str]]:
    """Coordinated phrases with "and" before all but the first."""
    more = [{**one, min(one): f"and {one[min(one)]}"} for one in row[1:]]
    return [*row[:1], *more]


def _is_predicate(node: Node) -> bool:
    if node.role in (*_HELPING, Role.CASE, Role.NEGATION):
        return False
    return node.pos in ("VERB", "AUX") or node.copula


def shown(graph: Graph) -> list[int | None]:
    """For each object, its index in `graph.present()`; None for one that is denied."""
    count, found = 0, list[int | None]()
    for item in graph.objects:
        found.append(None if item.denied else count)
        count += not item.denied
    return found
