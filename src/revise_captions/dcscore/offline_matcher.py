"""A matcher without a language model: POSH's offline judge, and a sentence encoder.

The judge grades each component of a unit ("dog", "brown dog") in the reference, where an attribute
counts only on the object it describes, and contradictory colors, counts and sexes do not match. A
unit is in the reference if its worst component is present there; it matches the most similar unit
of the reference, and those that say nothing beyond it. A unit without components (a denial, "it is
dark") must have a similarity of `ALIKE` to a unit of the reference, and agree with it in what is
denied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from revise_captions.dcscore.content import content_words, denies
from revise_captions.dcscore.units import InformationUnit, MatchTask, UnitMatch
from revise_captions.graphs.grading.judge import GradingTask
from revise_captions.graphs.grading.offline_judge import OfflineJudge
from revise_captions.graphs.graph import Graph
from revise_captions.graphs.parse import BUNDLED, parse, settings
from revise_captions.text.sentence_encoder import SentenceEncoder

VERSION = "1"
#: A component with at least this grade (1 to 5) is in the reference.
FOUND = 3.0
#: Cosine from which two units without components count as saying the same.
ALIKE = 0.8
NO_REFERENCE = "the reference has no units"


class OfflineMatcher:
    """Matches units by POSH's offline judge.

    Args:
        encoder: A sentence encoder from `text.sentence_encoder.load_encoder`.
        pipeline: The spaCy pipeline that parses units and references.
        found: Grade from which a component counts as present.
    """

    def __init__(
        self, encoder: SentenceEncoder, pipeline: str = BUNDLED, *, found: float = FOUND
    ) -> None:
        # The gist of whole texts says nothing about a unit of a few words.
        self.judge = OfflineJudge(encoder, gist=0.0)
        self.encoder, self.pipeline, self.found = encoder, pipeline, found

    @property
    def settings(self) -> Mapping[str, str]:
        own = {"matcher": f"offline-{VERSION}", "found": f"{self.found:g}", "alike": f"{ALIKE:g}"}
        return {**settings(self.pipeline), **self.judge.settings, **own}

    def match(self, tasks: Sequence[MatchTask]) -> list[tuple[UnitMatch, ...]]:
        """One match per unit, always with an answer if the reference has units."""
        graphs = self._graphs(tasks)
        asked = [
            GradingTask(graphs[unit.text], (graphs[task.reference.text],), precision=True)
            for task in tasks
            for unit in task.caption.units
        ]
        grades = iter(self.judge.grade(asked))
        return [tuple(self._matches(task, grades)) for task in tasks]

    def _graphs(self, tasks: Sequence[MatchTask]) -> Mapping[str, Graph]:
        texts = dict.fromkeys(
            text
            for task in tasks
            for text in (task.reference.text, *(unit.text for unit in task.caption.units))
        )
        parsed = parse(texts, self.pipeline)
        return {text: graph.present() for text, graph in zip(texts, parsed, strict=True)}

    def _matches(self, task: MatchTask, grades: Iterator[Sequence[object]]) -> Iterator[UnitMatch]:
        units, own = task.caption.units, task.reference.units
        if not own:
            for _ in units:
                next(grades)
                yield UnitMatch(unscored=NO_REFERENCE)
            return
        alike = self._cosines(units, own)
        for unit, row in zip(units, alike, strict=True):
            scores = [grade.score for grade in next(grades)]  # type: ignore[attr-defined]
            yield UnitMatch(self._references(unit, scores, own, row))

    def _references(
        self,
        unit: InformationUnit,
        scores: Sequence[float],
        own: Sequence[InformationUnit],
        alike: npt.NDArray[np.float32],
    ) -> tuple[int, ...]:
        best = int(alike.argmax())
        agrees = denies(unit.text) == denies(own[best].text)
        if not scores or denies(unit.text):
            return (best,) if agrees and alike[best] >= ALIKE else ()
        if min(scores) < self.found:
            return ()
        words = content_words(unit.text)
        said = [k for k, one in enumerate(own) if content_words(one.text) <= words]
        kept = [k for k in said if not denies(own[k].text)]
        return tuple(dict.fromkeys([*([best] if agrees else []), *kept]))

    def _cosines(
        self, units: Sequence[InformationUnit], own: Sequence[InformationUnit]
    ) -> npt.NDArray[np.float32]:
        first = self.encoder([unit.text for unit in units])
        return first @ self.encoder([unit.text for unit in own]).T
