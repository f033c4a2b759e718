"""What one scene graph has for and against each component of another.

Objects are matched by their names. An attribute is looked up at the objects that its own matches;
a relation between those that its two ends match, in both directions. What is found agrees with the
component, excludes it, or says nothing of it; of several graphs, the one that agrees counts, else
the one that excludes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from revise_captions.graphs import words
from revise_captions.graphs.grading import links, values
from revise_captions.graphs.grading.senses import Kin, kin
from revise_captions.graphs.graph import Attribute, AttributeKind, Graph, Relation
from revise_captions.graphs.triples import is_clothing, lemmas

Vectors = npt.NDArray[np.float32]
#: Objects this alike are the same thing, at least for what is said of them.
MATCH = 0.6
#: Of matching objects, all that are this close to the best.
MARGIN = 0.05
#: How alike two names are by their senses; what WordNet does not decide is left to the encoder.
_ALIKE = {Kin.SAME: 1.0, Kin.KIND: 1.0, Kin.WIDER: 0.85}
#: What is left of the encoder's likeness of two things that are different by their senses.
_OTHER = 0.65
_EXCLUDED = 0.4
#: Names below this likeness are not compared by their senses.
_APART = 0.2
_GENDERS = (words.MALES | {"male", "he"}, words.FEMALES | {"female", "she"})

#: Values and relations this alike say the same.
LIKE_VALUES = 0.75
LIKE_RELATIONS = 0.6
#: A denied thing is another's kind, or the same.
KINDRED = 0.9

AGREES, SILENT, EXCLUDES = 1, 0, -1
Finding = tuple[int, float]


@dataclass(frozen=True, slots=True)
class Findings:
    """For each component: `verdicts` (agrees 1, says nothing 0, excludes -1), and `degrees`, how
    alike the likest claim is, from 0 to 1.
    """

    verdicts: npt.NDArray[np.int8]
    degrees: Vectors

    @classmethod
    def none(cls, source: SceneSide) -> Findings:
        """Nothing is said of anything."""
        return cls(np.zeros(source.size, np.int8), np.zeros(source.size, np.float32))


class SceneSide:
    """A graph with what is compared of it."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.names = [item.name for item in graph.objects]

    def phrases(self) -> Iterator[str]:
        """Everything that an encoder is asked about."""
        yield self.graph.text
        yield from self.names
        yield from (said.value for said in self.graph.attributes)
        yield from (edge.name for edge in self.graph.relations)

    @cached_property
    def attributes(self) -> Mapping[int, Sequence[int]]:
        """Indexes of attributes by their object's."""
        found: dict[int, list[int]] = {}
        for k, said in enumerate(self.graph.attributes):
            found.setdefault(said.object, []).append(k)
        return found

    @cached_property
    def relations(self) -> Mapping[int, Sequence[int]]:
        """Indexes of relations by an object's that is an end of them."""
        found: dict[int, list[int]] = {}
        for k, edge in enumerate(self.graph.relations):
            for end in {edge.subject, edge.target}:
                found.setdefault(end, []).append(k)
        return found

    @cached_property
    def said(self) -> Sequence[str]:
        """What is there, and what is said of it."""
        objects = self.graph.objects
        there = [item.lemma for item in objects if not item.denied]
        own = (said.value for said in self.graph.attributes if not said.denied)
        return [*there, *own]

    @property
    def size(self) -> int:
        return len(self.names) + len(self.graph.attributes) + len(self.graph.relations)


def findings(source: SceneSide, target: SceneSide, table: Mapping[str, Vectors]) -> Findings:
    """What `target` says of each component of `source`. `table`: vectors of both's phrases."""
    if not source.size or not target.names:
        return Findings.none(source)
    comparison = _Comparison(source, target, table)
    found = [
        *(comparison.object(i) for i in range(len(source.names))),
        *(comparison.attribute(said) for said in source.graph.attributes),
        *(comparison.relation(edge) for edge in source.graph.relations),
    ]
    return Findings(
        np.array([verdict for verdict, _ in found], np.int8),
        np.array([degree for _, degree in found], np.float32),
    )


def together(found: Sequence[Findings]) -> Findings:
    """Of several targets: agreement before exclusion before silence; then the likest."""
    order = np.array([1.0, 0.0, 2.0])  # silence, agreement and exclusion as 0, 1, -1 index it
    order[[0, 1, -1]] = 0.0, 2.0, 1.0
    ranks = np.stack([order[one.verdicts] for one in found])
    top = ranks.max(0)
    degrees = np.stack([one.degrees for one in found])
    verdicts = np.select([top == 2, top == 1], [AGREES, EXCLUDES], SILENT).astype(np.int8)
    return Findings(verdicts, np.where(ranks == top, degrees, 0).max(0))


class _Comparison:
    """One graph in another."""

    def __init__(self, source: SceneSide, target: SceneSide, table: Mapping[str, Vectors]) -> None:
        self.source, self.target, self.table = source, target, table
        self.alike = self._alike()
        there = np.array([not item.denied for item in target.graph.objects])
        self.present = np.where(there, self.alike, 0.0)
        best = self.present.max(1)
        near = self.present >= np.maximum(best - MARGIN, MATCH)[:, None]
        self.matches = [np.flatnonzero(row).tolist() for row in near]
        self.matches = [self._fitting(i, found) for i, found in enumerate(self.matches)]
        self.denied = [np.flatnonzero(row).tolist() for row in ~there & (self.alike >= KINDRED)]

    def _alike(self) -> Vectors:
        names, others = self.source.names, self.target.names
        found = _rows(names, self.table) @ _rows(others, self.table).T
        for i, j in np.argwhere(found > _APART):
            found[i, j] = likeness(names[i], others[j], float(found[i, j]))
        return found

    def _fitting(self, index: int, matches: list[int]) -> list[int]:
        """Of several things of one name, those of which most of the same is said."""
        if len(matches) < 2:
            return matches
        scores = [self._agreement(index, j) for j in matches]
        return [j for j, score in zip(matches, scores, strict=True) if score == max(scores)]

    def _agreement(self, index: int, other: int) -> int:
        """How many claims of an object hold of one of the target's, less those that do not."""
        graph = self.source.graph
        found = 0
        said = list(self._said_of([other]))
        for k in self.source.attributes.get(index, ()):
            mine = graph.attributes[k]
            if mine.kind is AttributeKind.COUNT:
                found += self._count(mine, [other])[0]
            elif not mine.denied:
                found += self._value(mine, said)[0]
        for k in self.source.relations.get(index, ()):
            edge = graph.relations[k]
            start = edge.subject == index
            end = edge.target if start else edge.subject
            for m in self.target.relations.get(other, ()):
                theirs = self.target.graph.relations[m]
                same_end = (theirs.subject == other) == start
                if same_end and self.present[end, _other(theirs, other)] >= MATCH:
                    found += links.verdict(edge.name, theirs.name) is True
        return found

    def object(self, index: int) -> Finding:
        degree = float(self.present[index].max())
        denials = [j for j in self.denied[index] if self._qualified(index, j)]
        if self.source.graph.objects[index].denied:
            if denials:
                return AGREES, 1.0
            theirs = [j for j in self.matches[index] if self.alike[index, j] >= KINDRED]
            wrong = any(self._qualified(j, index, turned=True) for j in theirs)
            return (EXCLUDES if wrong else SILENT), degree
        if degree >= MATCH:
            return AGREES, degree
        other = values.is_another_material(self.source.names[index], self.target.said)
        return (EXCLUDES if denials or other else SILENT), degree

    def _qualified(self, index: int, denied: int, *, turned: bool = False) -> bool:
        """Whether what qualifies a denied object ("no red cars", "no cars on the street") is said
        of an object, so that the denial is about it.

        Args:
            index: The object, of the source.
            denied: The denied one, of the target.
            turned: They are of the target and of the source.
        """
        mine, theirs = (self.target, self.source) if turned else (self.source, self.target)
        own = [mine.graph.attributes[k].value for k in mine.attributes.get(index, ())]
        for k in theirs.attributes.get(denied, ()):
            if not any(values.verdict(value, theirs.graph.attributes[k].value) for value in own):
                return False
        alike = self.alike.T if turned else self.alike
        near = [_other(mine.graph.relations[k], index) for k in mine.relations.get(index, ())]
        for k in theirs.relations.get(denied, ()):
            end = _other(theirs.graph.relations[k], denied)
            if not any(alike[i, end] >= MATCH for i in near):
                return False
        return True

    def attribute(self, mine: Attribute) -> Finding:
        matches = self.matches[mine.object]
        if mine.kind is AttributeKind.COUNT:
            return self._count(mine, matches)
        said = list(self._said_of(matches))
        verdict, degree = self._value(mine, said)
        if mine.denied or self.source.graph.objects[mine.object].denied:
            return -verdict, degree
        if verdict == SILENT and self._elsewhere(mine, matches):
            return EXCLUDES, degree
        return verdict, degree

    def _value(self, mine: Attribute, said: Sequence[tuple[str, bool]]) -> Finding:
        """Whether the value is among what is said (with what is denied) of its object."""
        own = self.table[mine.value]
        others = [
            other.value
            for k in self.source.attributes[mine.object]
            if (other := self.source.graph.attributes[k]) is not mine
        ]
        best, excluded = 0.0, False
        for value, denied in said:
            agrees = values.verdict(mine.value, value)
            if denied:
                excluded |= agrees is True
            elif agrees:
                return AGREES, 1.0
            elif agrees is None:
                best = max(best, float(own @ self.table[value]))
            elif not any(values.verdict(other, value) for other in others):
                excluded = True
        if best >= LIKE_VALUES:
            return AGREES, best
        return (EXCLUDES if excluded else SILENT), best

    def _said_of(self, matches: Sequence[int]) -> Iterator[tuple[str, bool]]:
        """Values of objects of the target, and what else it says of them in a word; each with
        whether it is denied.
        """
        graph = self.target.graph
        for j in matches:
            for k in self.target.attributes.get(j, ()):
                yield graph.attributes[k].value, graph.attributes[k].denied
            for k in self.target.relations.get(j, ()):
                edge = graph.relations[k]
                if edge.subject == j:
                    yield edge.name, edge.denied
                    if not edge.denied:
                        yield self.target.names[edge.target], False

    def _elsewhere(self, mine: Attribute, matches: Sequence[int]) -> bool:
        """Whether the same is said of something else in the graph, and not of this."""
        if not matches:
            return False
        lemma = lemmas(mine.value)
        return any(
            lemmas(said.value) == lemma and said.object not in matches
            for said in self.target.graph.attributes
        )

    def _count(self, mine: Attribute, matches: Sequence[int]) -> Finding:
        graph = self.target.graph
        told = [
            graph.attributes[k].value
            for j in matches
            for k in self.target.attributes.get(j, ())
            if graph.attributes[k].kind is AttributeKind.COUNT
        ]
        verdicts = [values.counts_agree(mine.value, value) for value in told]
        if True in verdicts:
            return AGREES, 1.0
        number = values.number(mine.value)
        single = [j for j in matches if not graph.objects[j].plural]
        if not told and matches and number is not None and len(single) == len(matches):
            return (AGREES, 1.0) if len(single) == number else (EXCLUDES, 0.0)
        return (EXCLUDES, 0.0) if False in verdicts else (SILENT, 0.3)

    def relation(self, mine: Relation) -> Finding:
        graph = self.source.graph
        name = _name(graph, mine)
        starts, ends = set(self.matches[mine.subject]), set(self.matches[mine.target])
        best, found = 0.0, SILENT
        for other in self.target.graph.relations:
            straight = other.subject in starts and other.target in ends
            if not straight and not (other.subject in ends and other.target in starts):
                continue
            theirs = _name(self.target.graph, other)
            agrees = links.verdict(name, theirs, turned=not straight)
            if agrees and not other.denied:
                best, found = 1.0, AGREES
                break
            if agrees is False or (agrees and other.denied):
                found = EXCLUDES
            elif straight and not other.denied:
                best = max(best, float(self.table[mine.name] @ self.table[other.name]))
        if found == SILENT and best >= LIKE_RELATIONS:
            found = AGREES
        off = mine.denied or any(graph.objects[k].denied for k in (mine.subject, mine.target))
        return (-found if off else found), best


def _name(graph: Graph, edge: Relation) -> str:
    """The relation's name; whoever is in clothes wears them."""
    worn = edge.name in ("in", "with", "have", "dress in", "clothe in")
    return "wear" if worn and is_clothing(graph, edge.target) else edge.name


def likeness(first: str, second: str, cosine: float) -> float:
    """How likely the second name is one for the first's thing, from 0 to 1."""
    if _exclude(first, second):
        return _EXCLUDED * cosine
    found = kin(first, second)
    if found in _ALIKE:
        return _ALIKE[found]
    return _OTHER * cosine if found is Kin.OTHER else cosine


def _exclude(first: str, second: str) -> bool:
    one, other = set(first.split()), set(second.split())
    male, female = _GENDERS
    return bool((one & male and other & female) or (one & female and other & male))


def _other(edge: Relation, index: int) -> int:
    """The other end."""
    return edge.target if edge.subject == index else edge.subject


def _rows(phrases: Sequence[str], table: Mapping[str, Vectors]) -> Vectors:
    return np.stack([table[phrase] for phrase in phrases])
