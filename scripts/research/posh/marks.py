"""Whether the offline judge marks what is wrong in made contrasts (`contrasts`), and only that."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from revise_captions.graphs.grading.components import Component, Part
from revise_captions.graphs.grading.judge import PRESENT, Judge
from revise_captions.graphs.graph import Graph
from revise_captions.posh.display import WEAK
from revise_captions.posh.scoring import Graded, Pair, score_captions
from revise_captions.records import Span
from scripts.research.frame.figures import ReportedFigure, share_of
from scripts.research.posh.contrasts import KINDS, REPORTING, Contrast, of_folder, unmarked


@dataclass(frozen=True, slots=True)
class Marked:
    """A contrast with the least grade of what was changed in each text, NaN where no component is
    there.
    """

    contrast: Contrast
    right: float
    wrong: float


def judged(contrasts: Sequence[Contrast], judge: Judge, pipeline: str) -> list[Marked]:
    texts = [(unmarked(one.right), unmarked(one.wrong)) for one in contrasts]
    pairs = [
        Pair(text, (one.reference,))
        for one, both in zip(contrasts, texts, strict=True)
        for text, _ in both
    ]
    scores = list(score_captions(pairs, judge, pipeline))
    found = []
    for k, (one, both) in enumerate(zip(contrasts, texts, strict=True)):
        right, wrong = (
            least(score.generation, spans)
            for score, (_, spans) in zip(scores[2 * k : 2 * k + 2], both, strict=True)
        )
        found.append(Marked(one, right, wrong))
    return found


def least(graded: Graded, spans: Sequence[tuple[int, int]]) -> float:
    """The least grade of a component that is said in one of these places; NaN for none."""
    grades = [
        grade.score
        for part, grade in zip(graded.parts, graded.grades, strict=True)
        if grade.score is not None and any(_said(part, graded.graph, span) for span in spans)
    ]
    return min(grades, default=float("nan"))


def _said(part: Component, graph: Graph, span: tuple[int, int]) -> bool:
    """Whether a component is said there; a relation not where only one of its ends is named."""
    if not _meet(part.span, span):
        return False
    if part.part is not Part.RELATION:
        return True
    edge = graph.relations[part.index]
    ends = (graph.objects[edge.subject], graph.objects[edge.target])
    named = [one for end in ends for one in (end.span, *end.mentions)]
    said = [one.span for one in graph.attributes if one.object in (edge.subject, edge.target)]
    return not any(_meet(one, span) for one in (*named, *said))


def _meet(one: Span, other: tuple[int, int]) -> bool:
    return one.start < other[1] and other[0] < one.end


def figures(data: Path, judge: Judge, pipeline: str) -> Iterator[ReportedFigure]:
    """For each kind: wrong ones below 2, right ones above 3, on the reporting half."""
    contrasts = [one for one in of_folder(data) if one.half == REPORTING]
    found = judged(contrasts, judge, pipeline)
    for kind in (*KINDS, "all"):
        mine = [one for one in found if kind in (one.contrast.kind, "all")]
        if mine:
            yield from _rows(kind, mine)


def _rows(kind: str, found: Sequence[Marked]) -> Iterator[ReportedFigure]:
    rows = (
        ("wrong component below 2", [float(one.wrong < PRESENT) for one in found], 0.85),
        ("right one above 3", [float(one.right > WEAK) for one in found], 0.95),
    )
    images = [one.contrast.image for one in found]
    note = f"reporting half, {len(found)}"
    for name, values, target in rows:
        yield share_of(f"contrasts, {kind}: {name}", values, images, target=target, note=note)
