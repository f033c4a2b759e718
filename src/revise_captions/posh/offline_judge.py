"""A judge without a language model: similarity of components under a sentence encoder.

POSH's baseline SGEmbed (A.3.3) compares the components of two graphs as strings, wherever they
stand: "red hat" finds "red" on anybody's hat. Here the graphs' structure decides what may be
compared:

* an object matches the most similar object, its name as a phrase; a wider name ("person") matches
  what it is wider than, and two that exclude each other ("man", "woman") do not match;
* an attribute must be said of an object that its own matches, and a colour or a count be the same;
* a relation must hold between objects that its own two match, in the same direction.

So a component's evidence is local. What it says about the whole is the similarity of the texts
themselves: a claim is likelier to be described in a text about the same scene. The grade mixes
both, `GIST` parts of the second (the mean of the cosines to the best target and to the targets'
centroid), and a logistic curve makes of the mixture the probability that the component is
described: with `HALF` it is one half, and it rises by `SLOPE`. Grades run from 1 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from revise_captions.encoder import Encoder
from revise_captions.graphs import words
from revise_captions.graphs.graph import Graph, Kind
from revise_captions.graphs.triples import lemmas
from revise_captions.posh.components import components
from revise_captions.posh.judge import LEAST, MOST, Grade, Task

Vectors = npt.NDArray[np.float32]
VERSION = "2"
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

_GENDERS = (words.MALES | {"male", "he"}, words.FEMALES | {"female", "she"})


@dataclass(frozen=True, slots=True)
class _Side:
    """A graph with what is compared of it: phrases, and for each object its attributes."""

    graph: Graph
    names: list[str]
    attributes: list[str]
    relations: list[str]


class OfflineJudge:
    """`encoder`: see `load_encoder`. Every component gets a grade: nothing is unscored."""

    def __init__(self, encoder: Encoder, *, gist: float = GIST) -> None:
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

    def grade(self, tasks: Sequence[Task]) -> list[tuple[Grade, ...]]:
        """All phrases are encoded at once; then a few small matrices for each task."""
        graphs = dict.fromkeys(g for task in tasks for g in (task.source, *task.targets))
        self._sides = {graph: _side(graph) for graph in graphs}
        phrases = dict.fromkeys(
            phrase
            for side in self._sides.values()
            for phrase in (side.graph.text, *side.names, *side.attributes, *side.relations)
        )
        table = dict(zip(phrases, self.encoder(list(phrases)), strict=True))
        return [self._grade(task, table) for task in tasks]

    def _grade(self, task: Task, table: Mapping[str, Vectors]) -> tuple[Grade, ...]:
        source = self._sides[task.source]
        targets = [self._sides[target] for target in task.targets]
        found = [_evidence(source, target, table) for target in targets]
        local = np.max(found, axis=0) if found else np.zeros(len(components(task.source)))
        mixed = (1 - self.gist) * local + self.gist * _gist(source, targets, table)
        scaled = LEAST + (MOST - LEAST) / (1 + np.exp((HALF - mixed) / SLOPE))
        return tuple(Grade(round(float(value), 4)) for value in scaled)


def _gist(source: _Side, targets: Sequence[_Side], table: Mapping[str, Vectors]) -> float:
    """How much the source is about the targets' scene."""
    if not targets:
        return 0.0
    rows = _rows([target.graph.text for target in targets], table)
    own = table[source.graph.text]
    centre = rows.sum(0)
    return float((np.max(rows @ own) + centre @ own / max(np.linalg.norm(centre), 1e-9)) / 2)


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


def _evidence(source: _Side, target: _Side, table: Mapping[str, Vectors]) -> Vectors:
    """How similar the most similar thing is that each component may be compared with."""
    total = _size(source)
    if not target.names or not total:
        return np.zeros(total, dtype=np.float32)
    objects = _rows(source.names, table) @ _rows(target.names, table).T
    for i, name in enumerate(source.names):
        for j, other in enumerate(target.names):
            if _exclude(name, other):
                objects[i, j] *= CONTRADICTED
            elif _wider(name, other):
                objects[i, j] = 1.0
    best = objects.max(1)
    return np.concatenate(
        [
            best,
            _attributes(source, target, objects, table),
            _relations(source, target, objects, table),
        ]
    ).astype(np.float32)


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
) -> Vectors:
    """The best attribute of a matched object. Where nothing like it is said of one, a part of the
    similarity of the bare object; where another count or colour is, half of that one's.
    """
    found = np.zeros(len(source.attributes), dtype=np.float32)
    theirs: dict[int, list[int]] = {}
    for k, said in enumerate(target.graph.attributes):
        theirs.setdefault(said.object, []).append(k)
    for i, said in enumerate(source.graph.attributes):
        row = objects[said.object]
        own = table[source.attributes[i]]
        unsaid = UNSAID * max(float(own @ table[name]) for name in target.names)
        best = clashing = 0.0
        for j in np.flatnonzero(row >= row.max() - MARGIN):
            for k in theirs.get(int(j), ()):
                other = target.graph.attributes[k]
                alike = float(own @ table[target.attributes[k]])
                if _clash(said.value, other.value, said.kind, other.kind):
                    clashing = max(clashing, CONTRADICTED * alike)
                else:
                    best = max(best, alike)
        found[i] = max(best, clashing if clashing else unsaid)
    return found


def _clash(first: str, second: str, kind: Kind, other: Kind) -> bool:
    """Two counts, or two colours, that are not the same."""
    if kind is Kind.COUNT and other is Kind.COUNT:
        return first.isdigit() and second.isdigit() and first != second
    one, two = set(first.split()) & words.COLOURS, set(second.split()) & words.COLOURS
    return bool(one and two and not one & two)


def _relations(
    source: _Side, target: _Side, objects: Vectors, table: Mapping[str, Vectors]
) -> Vectors:
    """The best relation between matched objects, no more similar than they are."""
    found = np.zeros(len(source.relations), dtype=np.float32)
    if not target.relations or not source.relations:
        for i, edge in enumerate(source.graph.relations):
            pair = objects[edge.subject].max(), objects[edge.target].max()
            found[i] = UNSAID * min(pair)
        return found
    alike = _rows(source.relations, table) @ _rows(target.relations, table).T
    for i, edge in enumerate(source.graph.relations):
        pair = objects[edge.subject].max(), objects[edge.target].max()
        value = UNSAID * float(min(pair))
        for k, other in enumerate(target.graph.relations):
            ends = (objects[edge.subject, other.subject], objects[edge.target, other.target])
            value = max(value, min(float(alike[i, k]), (1 + float(min(ends))) / 2))
        found[i] = value
    return found
