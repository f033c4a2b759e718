"""A judge without a language model: scene graphs compared by their structure.

POSH's baseline SGEmbed (A.3.3) compares the components of two graphs as strings, wherever they
stand: "red hat" finds "red" on anybody's hat. Here a component's own evidence decides its grade
(`findings`): an object is looked up by its name and by what is a kind of it, an attribute at
its object, a relation between its two ends in their direction. What is found

* agrees: the grade is from 2.5 to 5 for an object, above 3 for what is said of objects;
* says nothing of it: from 1 to 2.5;
* excludes it ("dog bites man", "right of", "three", "plastic", "not riding" against "man bites
  dog", "left of", "two", "glass", "riding"): below 2.

Where in its band a grade is, the likeness of the names and that of the whole texts decide: what is
said of the same scene is likelier to be said of the same thing. The texts have `GIST` parts of it
(the mean of the cosines to the best target and to the targets' centroid), and a logistic curve
spreads the mixture over the band, steepest at `HALF`, with the width `SLOPE`.

What is said of an object that the other text denies gets 1, as what is said of an absent one does
in POSH (section 5). A denial ("no people") is right where the other text denies it too, wrong where
that affirms it, and else unscored.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from revise_captions.graphs.grading.components import components
from revise_captions.graphs.grading.findings import (
    AGREES,
    EXCLUDES,
    SILENT,
    Findings,
    SceneSide,
    findings,
    together,
)
from revise_captions.graphs.grading.judge import LEAST, MOST, Grade, GradingTask
from revise_captions.graphs.graph import Graph
from revise_captions.text.sentence_encoder import SentenceEncoder

Vectors = npt.NDArray[np.float32]
VERSION = "7"
#: Parts of a grade's place in its band that are the similarity of whole texts.
GIST = 0.9
#: The mixture in the middle of a band, for what agrees and for all else, and the curve's width.
HALF = 0.45
HALF_UNSAID = 0.35
SLOPE = 0.1
#: The least and the highest grade of what agrees, is silent, excludes.
_BANDS = {AGREES: (2.5, MOST), SILENT: (LEAST, 2.5), EXCLUDES: (LEAST, 1.9)}
#: The least grade of an attribute or relation that agrees: structure alone keeps it from a mark.
_SAID = 3.05
UNKNOWN = "denied, and the other text does not say"


class OfflineJudge:
    """Grades by structure and by similarity of names.

    Every component gets a grade but what is denied here and not mentioned there.

    Args:
        encoder: A sentence encoder, as `posh.load_encoder` gives it.
        gist: Weight of the similarity of the whole texts beside that of the names, in [0, 1].
    """

    def __init__(self, encoder: SentenceEncoder, *, gist: float = GIST) -> None:
        self.encoder, self.gist = encoder, gist

    @property
    def settings(self) -> Mapping[str, str]:
        own = {
            "judge": f"offline-{VERSION}",
            "gist": f"{self.gist:g}",
            "curve": f"{HALF:g}/{HALF_UNSAID:g}/{SLOPE:g}",
        }
        return {**self.encoder.settings, **own}

    def grade(self, tasks: Sequence[GradingTask]) -> list[tuple[Grade, ...]]:
        """All phrases are encoded at once; then every task by itself."""
        graphs = dict.fromkeys(g for task in tasks for g in (task.source, *task.targets))
        sides = {graph: SceneSide(graph) for graph in graphs}
        phrases = dict.fromkeys(p for side in sides.values() for p in side.phrases())
        table = dict(zip(phrases, self.encoder(list(phrases)), strict=True))
        return [
            self._grade(sides[task.source], [sides[target] for target in task.targets], table)
            for task in tasks
        ]

    def _grade(
        self, source: SceneSide, targets: Sequence[SceneSide], table: Mapping[str, Vectors]
    ) -> tuple[Grade, ...]:
        found = together(
            [findings(source, target, table) for target in targets] or [Findings.none(source)]
        )
        about = _gist(source, targets, table)
        mixed = (1 - self.gist) * found.degrees + self.gist * about
        half = np.where(found.verdicts == AGREES, HALF, HALF_UNSAID)
        shares = 1 / (1 + np.exp((half - mixed) / SLOPE))
        scores = np.zeros(source.size)
        claimed = np.arange(source.size) >= len(source.names)
        for verdict, (least, most) in _BANDS.items():
            low = np.where(claimed & (verdict == AGREES), _SAID, least)
            scores = np.where(found.verdicts == verdict, low + (most - low) * shares, scores)
        excluded = found.verdicts[: len(source.names)] == EXCLUDES
        grades = []
        for k, part in enumerate(components(source.graph)):
            if part.denied and found.verdicts[k] == SILENT:
                grades.append(Grade(None, UNKNOWN))
                continue
            lost = not part.denied and excluded[list(_claimed(source.graph, k))].any()
            grades.append(Grade(LEAST if lost else round(float(scores[k]), 4)))
        return tuple(grades)


def _claimed(graph: Graph, index: int) -> Iterator[int]:
    """The objects that the attribute or relation with this place among components speaks of."""
    index -= len(graph.objects)
    if 0 <= index < len(graph.attributes):
        yield graph.attributes[index].object
    elif index >= 0:
        edge = graph.relations[index - len(graph.attributes)]
        yield from (edge.subject, edge.target)


def _gist(source: SceneSide, targets: Sequence[SceneSide], table: Mapping[str, Vectors]) -> float:
    """How much the source is about the targets' scene."""
    if not targets:
        return 0.0
    rows = np.stack([table[target.graph.text] for target in targets])
    own = table[source.graph.text]
    center = rows.sum(0)
    return float((np.max(rows @ own) + center @ own / max(np.linalg.norm(center), 1e-9)) / 2)
