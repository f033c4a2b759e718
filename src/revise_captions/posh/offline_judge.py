"""A judge without a language model: similarity of components under a sentence encoder.

POSH's baseline SGEmbed (A.3.3) compares the components of two graphs as strings, wherever they
stand: "red hat" finds "red" on anybody's hat. Here the graphs' structure decides what may be
compared:

* an object matches the most similar object, its name as a phrase; a wider name ("person") matches
  what it is wider than, and two that exclude each other ("man", "woman") do not match;
* an attribute must be said of an object that its own matches, be like it by itself ("tall", "high",
  whatever they are said of), and a color or a count be the same;
* a relation must hold between objects that its own two match, in the same direction.

Of several targets the one that says it clearest counts; where none does, one that contradicts it
("two dogs" against "three dogs") weighs more than one that is silent.

So a component's evidence is local. What it says about the whole is the similarity of the texts
themselves: a claim is likelier to be described in a text about the same scene. The grade mixes
both, `GIST` parts of the second (the mean of the cosines to the best target and to the targets'
centroid), and a logistic curve makes of the mixture the probability that the component is
described: with `HALF` it is one half, and it rises by `SLOPE`. Grades run from 1 to 5; what is
said of an object that is absent (below `PRESENT`) gets 1 (POSH, section 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from revise_captions.graphs import words
from revise_captions.graphs.graph import AttributeKind, Graph
from revise_captions.graphs.triples import lemmas
from revise_captions.posh.judge import LEAST, MOST, PRESENT, Grade, GradingTask
from revise_captions.text.sentence_encoder import SentenceEncoder

Vectors = npt.NDArray[np.float32]
VERSION = "3"
#: Parts of the grade that are the similarity of whole texts.
GIST = 0.6
#: The mixture at which a component is as likely described as not, and the width of the curve.
HALF = 0.5
SLOPE = 0.1
#: An object that is this much less similar than the best still counts as a match for attributes.
MARGIN = 0.1
#: What a contradiction leaves of a similarity.
CONTRADICTED = 0.5
#: What is left of the objects' similarity where nothing like the claim is said of them.
UNSAID = 0.6
#: Parts of a value's likeness that its object's likeness gives, to one of its own.
VALUE = 0.25

_GENDERS = (words.MALES | {"male", "he"}, words.FEMALES | {"female", "she"})


@dataclass(frozen=True, slots=True)
class _Side:
    """A graph with what is compared of it: phrases, and for each object its attributes."""

    graph: Graph
    names: list[str]
    attributes: list[str]
    relations: list[str]


class OfflineJudge:
    """Grades by similarity of phrases. Every component gets a grade.

    Args:
        encoder: A sentence encoder, as `posh.load_encoder` gives it.
        gist: Weight of the similarity of the whole texts beside the component's own, in [0, 1].
    """

    def __init__(self, encoder: SentenceEncoder, *, gist: float = GIST) -> None:
        self.encoder, self.gist = encoder, gist
        self._sides: dict[Graph, _Side] = {}

    @property
    def settings(self) -> Mapping[str, str]:
        own = {
            "judge": f"offline-{VERSION}",
            "gist": f"{self.gist:g}",
            "curve": f"{HALF:g}/{SLOPE:g}",
        }
        return {**self.encoder.settings, **own}

    def grade(self, tasks: Sequence[GradingTask]) -> list[tuple[Grade, ...]]:
        """All phrases are encoded at once; then a few small matrices for each task."""
        graphs = dict.fromkeys(g for task in tasks for g in (task.source, *task.targets))
        self._sides = {graph: _side(graph) for graph in graphs}
        phrases = dict.fromkeys(
            phrase for side in self._sides.values() for phrase in _phrases(side)
        )
        table = dict(zip(phrases, self.encoder(list(phrases)), strict=True))
        return [self._grade(task, table) for task in tasks]

    def _grade(self, task: GradingTask, table: Mapping[str, Vectors]) -> tuple[Grade, ...]:
        source = self._sides[task.source]
        targets = [self._sides[target] for target in task.targets]
        local = _evidence(source, targets, table)
        mixed = (1 - self.gist) * local + self.gist * _gist(source, targets, table)
        scaled = LEAST + (MOST - LEAST) / (1 + np.exp((HALF - mixed) / SLOPE))
        absent = scaled[: len(source.names)] < PRESENT
        for k, objects in enumerate(_claimed(task.source), len(source.names)):
            if absent[list(objects)].any():
                scaled[k] = LEAST
        return tuple(Grade(round(float(value), 4)) for value in scaled)


def _claimed(graph: Graph) -> Iterator[tuple[int, ...]]:
    """The objects that each attribute and each relation speaks of."""
    yield from ((said.object,) for said in graph.attributes)
    yield from ((edge.subject, edge.target) for edge in graph.relations)


def _gist(source: _Side, targets: Sequence[_Side], table: Mapping[str, Vectors]) -> float:
    """How much the source is about the targets' scene."""
    if not targets:
        return 0.0
    rows = _rows([target.graph.text for target in targets], table)
    own = table[source.graph.text]
    center = rows.sum(0)
    return float((np.max(rows @ own) + center @ own / max(np.linalg.norm(center), 1e-9)) / 2)


def _phrases(side: _Side) -> Iterator[str]:
    """Everything that is compared of a graph."""
    yield side.graph.text
    yield from (*side.names, *side.attributes, *side.relations)
    yield from (said.value for said in side.graph.attributes)


def _size(side: _Side) -> int:
    return len(side.names) + len(side.attributes) + len(side.relations)


def _side(graph: Graph) -> _Side:
    names = [item.name for item in graph.objects]
    return _Side(
        graph,
        names,
        [f"{said.value} {names[said.object]}" for said in graph.attributes],
        [f"{names[e.subject]} {e.name} {names[e.target]}" for e in graph.relations],
    )


def _rows(phrases: Sequence[str], table: Mapping[str, Vectors]) -> Vectors:
    return np.stack([table[phrase] for phrase in phrases])


@dataclass(frozen=True, slots=True)
class _Found:
    """For each component: how alike the likest claim is, how alike one that contradicts it (0 for
    none), and what is left where nothing like it is said.
    """

    said: Vectors
    against: Vectors
    unsaid: Vectors


def _evidence(source: _Side, targets: Sequence[_Side], table: Mapping[str, Vectors]) -> Vectors:
    """How alike the likest thing is that each component may be compared with, in any target."""
    told = [target for target in targets if target.names]
    if not told or not _size(source):
        return np.zeros(_size(source), dtype=np.float32)
    found = [_in_target(source, target, table) for target in told]
    said, against, unsaid = (
        np.max([getattr(one, name) for one in found], axis=0) for name in _Found.__slots__
    )
    return np.maximum(said, np.where(against > 0, against, unsaid))


def _in_target(source: _Side, target: _Side, table: Mapping[str, Vectors]) -> _Found:
    objects = _rows(source.names, table) @ _rows(target.names, table).T
    for i, name in enumerate(source.names):
        for j, other in enumerate(target.names):
            if _exclude(name, other):
                objects[i, j] *= CONTRADICTED
            elif _wider(name, other):
                objects[i, j] = 1.0
    nothing = np.zeros(len(source.names), dtype=np.float32)
    parts = [
        _Found(objects.max(1), nothing, nothing),
        _attributes(source, target, objects, table),
        _relations(source, target, objects, table),
    ]
    said, against, unsaid = (
        np.concatenate([getattr(part, name) for part in parts]) for name in _Found.__slots__
    )
    return _Found(said, against, unsaid)


@cache
def _exclude(first: str, second: str) -> bool:
    one, other = set(first.split()), set(second.split())
    male, female = _GENDERS
    return bool((one & male and other & female) or (one & female and other & male))


@cache
def _wider(first: str, second: str) -> bool:
    """Whether the second thing is one of the first's kind: a man is a person, all are things."""
    one, other = (lemmas(name).rpartition(" ")[2] for name in (first, second))
    return first in _ANYTHING or other in words.WIDER.get(one, ())


_ANYTHING = words.listed("something thing things object objects item items")


def _attributes(
    source: _Side, target: _Side, objects: Vectors, table: Mapping[str, Vectors]
) -> _Found:
    """Against the attributes of matched objects; unsaid is a part of the bare objects' likeness."""
    said, against, unsaid = np.zeros((3, len(source.attributes)), dtype=np.float32)
    theirs: dict[int, list[int]] = {}
    for k, other in enumerate(target.graph.attributes):
        theirs.setdefault(other.object, []).append(k)
    for i, mine in enumerate(source.graph.attributes):
        row, own = objects[mine.object], table[source.attributes[i]]
        unsaid[i] = UNSAID * max(float(own @ table[name]) for name in target.names)
        for j in np.flatnonzero(row >= row.max() - MARGIN):
            for k in theirs.get(int(j), ()):
                other = target.graph.attributes[k]
                value = (VALUE + float(table[mine.value] @ table[other.value])) / (VALUE + 1)
                alike = min(float(own @ table[target.attributes[k]]), value)
                if _clash(mine.value, other.value, mine.kind, other.kind):
                    against[i] = max(against[i], CONTRADICTED * alike)
                else:
                    said[i] = max(said[i], alike)
    return _Found(said, against, unsaid)


def _clash(first: str, second: str, kind: AttributeKind, other: AttributeKind) -> bool:
    """Two counts, or two colors, that are not the same."""
    if kind is AttributeKind.COUNT and other is AttributeKind.COUNT:
        return first.isdigit() and second.isdigit() and first != second
    one, two = set(first.split()) & words.COLORS, set(second.split()) & words.COLORS
    return bool(one and two and not one & two)


def _relations(
    source: _Side, target: _Side, objects: Vectors, table: Mapping[str, Vectors]
) -> _Found:
    """The best relation between matched objects, hardly more alike than they are."""
    said, against, unsaid = np.zeros((3, len(source.relations)), dtype=np.float32)
    for i, edge in enumerate(source.graph.relations):
        unsaid[i] = UNSAID * min(objects[edge.subject].max(), objects[edge.target].max())
        for k, other in enumerate(target.graph.relations):
            alike = float(table[source.relations[i]] @ table[target.relations[k]])
            ends = min(objects[edge.subject, other.subject], objects[edge.target, other.target])
            said[i] = max(said[i], min(alike, (1 + float(ends)) / 2))
    return _Found(said, against, unsaid)
