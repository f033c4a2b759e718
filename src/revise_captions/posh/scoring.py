"""From a caption to its score: the whole path, each step of which has its own module.

    graph        what the caption says is there            graphs.parse
    components   its objects, attributes, relations        graphs.grading.components
    grades       1 to 5: is it in the other text?          graphs.grading.judge, any judge
    mistakes     mean grade of the generation's / 5        precision: 1 is no mistake
    omissions    mean grade of the reference's / 5         recall: 1 is no omission
    overall      their harmonic mean

(POSH, section 3; the means are over all components, as in the authors' published code: the paper's
formula has only objects, and it gives none for overall.) A component that the judge could not grade
enters neither sum nor count, and is reported as unscored. A text without graded components has no
score on that side, and hence none overall.

With several references, a mistake is what none of them describes, and omissions are over the
components of all of them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice

from revise_captions.graphs.grading.components import Component, components
from revise_captions.graphs.grading.judge import LEAST, MOST, PRESENT, Grade, GradingTask, Judge
from revise_captions.graphs.graph import Graph
from revise_captions.graphs.parse import BUNDLED, Coreference, parse, settings
from revise_captions.signature import signature

_WINDOW = 64  # pairs processed at a time


@dataclass(frozen=True, slots=True)
class Pair:
    """A generation and what it should have said.

    Attributes:
        generation: The caption to score.
        references: One or more reference captions.
    """

    generation: str
    references: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Graded:
    """A text's scene graph with grades.

    Attributes:
        graph: The scene graph.
        parts: Its components: objects, attributes, relations.
        grades: One per component.
    """

    graph: Graph
    parts: tuple[Component, ...]
    grades: tuple[Grade, ...]

    @property
    def total(self) -> float:
        """Sum of the grades."""
        return sum(grade.score for grade in self.grades if grade.score is not None)

    @property
    def scored(self) -> int:
        """Number of components that were graded."""
        return sum(grade.score is not None for grade in self.grades)


@dataclass(frozen=True, slots=True)
class Side:
    """Sufficient statistics of one side of a pair.

    Attributes:
        total: Sum of the grades, each from 1 to 5.
        scored: How many were graded.
        unscored: How many were not.
    """

    total: float
    scored: int
    unscored: int

    @property
    def score(self) -> float | None:
        """The mean grade, divided by 5; None if nothing was graded."""
        return self.total / self.scored / MOST if self.scored else None


@dataclass(frozen=True, slots=True)
class Score:
    """A pair's score with everything it came from (POSH, section 3).

    Attributes:
        generation: Its components, graded in the references.
        references: Their components, graded in the generation.
    """

    generation: Graded
    references: tuple[Graded, ...]

    @property
    def mistakes(self) -> Side:
        """Precision: 1 is no mistake."""
        return side([self.generation])

    @property
    def omissions(self) -> Side:
        """Recall: 1 is no omission."""
        return side(self.references)

    @property
    def overall(self) -> float | None:
        """Harmonic mean of the two; None if either is missing."""
        return harmonic(self.mistakes.score, self.omissions.score)


def side(texts: Sequence[Graded]) -> Side:
    scored = sum(text.scored for text in texts)
    asked = sum(len(text.parts) for text in texts)
    return Side(sum(text.total for text in texts), scored, asked - scored)


def harmonic(first: float | None, second: float | None) -> float | None:
    """2ab/(a+b); None if either is missing."""
    if first is None or second is None:
        return None
    return 2 * first * second / (first + second)


def score_captions(
    pairs: Iterable[Pair],
    judge: Judge,
    pipeline: str = BUNDLED,
    coreference: Coreference | None = None,
) -> Iterator[Score]:
    """Scores generations against their references.

    Args:
        pairs: Any iterable; it is read a window at a time.
        judge: Grades components.
        pipeline: The spaCy pipeline that parses texts: `bundled` or another.
        coreference: A resolver that runs before the rules, such as
            `graphs.maverick.Maverick`.

    Yields:
        One score per pair, in order.
    """
    pairs = iter(pairs)
    while window := list(islice(pairs, _WINDOW)):
        texts = dict.fromkeys(t for pair in window for t in (pair.generation, *pair.references))
        graphs = dict(zip(texts, parse(texts, pipeline, coreference=coreference), strict=True))
        tasks = [task for pair in window for task in _tasks(pair, graphs)]
        grades = iter(zip(tasks, judge.grade(tasks), strict=True))
        for pair in window:
            sides = [_graded(*next(grades)) for _ in range(1 + len(pair.references))]
            yield Score(sides[0], tuple(sides[1:]))


def score(generation: str, *references: str) -> Score:
    """Scores one text against its references with the offline judge, which is loaded once.

    Raises:
        UserError: spaCy or the sentence encoder is not installed (extra `posh`).
    """
    (found,) = score_captions([Pair(generation, references)], _offline_judge())
    return found


@lru_cache(maxsize=1)
def _offline_judge() -> Judge:
    from revise_captions.graphs.grading.offline_judge import OfflineJudge
    from revise_captions.graphs.parse import load_pipeline
    from revise_captions.text.sentence_encoder import load_encoder

    load_pipeline()  # reports what is missing before looking for an encoder
    return OfflineJudge(load_encoder())


def _tasks(pair: Pair, graphs: Mapping[str, Graph]) -> Iterator[GradingTask]:
    generation = graphs[pair.generation]
    references = tuple(graphs[text] for text in pair.references)
    yield GradingTask(generation, references, precision=True)
    for reference in references:
        yield GradingTask(reference, (generation,), precision=False)


def _graded(task: GradingTask, grades: tuple[Grade, ...]) -> Graded:
    return Graded(task.source, tuple(components(task.source)), grades)


def signature_of(
    judge: Judge, pipeline: str = BUNDLED, coreference: Coreference | None = None
) -> str:
    """Everything that determines a score, on one line.

    Args:
        judge: As for `score_captions`.
        pipeline: As for `score_captions`.
        coreference: As for `score_captions`.

    Returns:
        `name:value` pairs, separated by `|`.
    """
    resolver = coreference.settings if coreference is not None else {}
    own = {"metric": "posh", "present": f"{PRESENT:g}", "absent": f"{LEAST:g}"}
    return signature({**settings(pipeline), **resolver, **judge.settings, **own})
