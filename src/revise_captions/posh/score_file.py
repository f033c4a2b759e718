"""`captions posh`: POSH's part in a run over a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from revise_captions.command_line.printing import echo
from revise_captions.errors import BadRecord, Reason
from revise_captions.graphs.grading.judge import Judge
from revise_captions.graphs.parse import Coreference, load_pipeline
from revise_captions.metrics.protocol import MetricScore
from revise_captions.posh.corpus import CRITERIA, PairStatistics, mean, row_of, row_of_json
from revise_captions.posh.display import for_terminal, view_of
from revise_captions.posh.load import load_coreference, load_judge
from revise_captions.posh.metric import metric_score
from revise_captions.posh.options import PoshOptions
from revise_captions.posh.page import PoshPage
from revise_captions.posh.released import FILES
from revise_captions.posh.scoring import Graded, Pair, Score, score_captions, signature_of
from revise_captions.records import Record, Span
from revise_captions.runs.outputs import OutputCounts
from revise_captions.runs.score_file import (
    image_name,
    say_quarantine,
    score_file,
    texts_in,
)
from revise_captions.signature import settings_of
from revise_captions.stats.bootstrap import rounded


@dataclass(frozen=True, slots=True)
class _Item:
    group: str
    pair: Pair


@dataclass(frozen=True, slots=True)
class PoshFile:
    """POSH as a `FileMetric`."""

    job: PoshOptions
    judge: Judge
    coreference: Coreference | None

    @property
    def settings(self) -> Mapping[str, str]:
        return settings_of(signature_of(self.judge, self.job.parser, self.coreference))

    @property
    def options(self) -> Mapping[str, Any]:
        return {"reference-field": self.job.reference_field, "group-field": self.job.group_field}

    @property
    def plain(self) -> _Item:
        text = "A dog stands near the tree."
        return _Item("", Pair(text, (text,)))

    def read(self, record: Record, image: Image.Image | None) -> Sequence[_Item]:
        references = texts_in(record, self.job.reference_field)
        if not references:
            why = f"no text in the field {self.job.reference_field!r}"
            raise BadRecord(Reason.BAD_REFERENCE, why)
        generation = next(iter(record.captions.values()))
        return [_Item(image_name(record, self.job.group_field), Pair(generation, references))]

    def score(self, items: Sequence[_Item]) -> Sequence[Score]:
        pairs = (item.pair for item in items)
        return list(score_captions(pairs, self.judge, self.job.parser, self.coreference))

    def line(self, item: _Item, score: Score) -> Mapping[str, Any]:
        """One line of OUT. Spans are `[start, end)` in code points of their text."""
        row = row_of(score, item.group)
        return {
            **{name: rounded(row.value(name)) for name in CRITERIA},
            "statistics": row.as_json(),
            "generation": _graded(score.generation),
            "references": [_graded(graded) for graded in score.references],
        }

    def kept(self, item: _Item, score: Score) -> Mapping[str, Any]:
        return row_of(score, item.group).as_json()

    def view(self, item: _Item, score: Score) -> Mapping[str, Any]:
        return view_of(item.group, score)

    def terminal(self, item: _Item, score: Score, *, color: bool) -> str:
        return for_terminal(score, color=color)


def run(job: PoshOptions, judge: Judge | None = None) -> OutputCounts | None:
    """Scores the file and prints the means; see `score_file`.

    Returns:
        How many rows were written; None if `--resume` found all of them in OUT.
    """

    def load() -> PoshFile:
        load_pipeline(job.parser)  # reports what is missing before a judge is loaded
        found = judge or load_judge(
            job.judge,
            job.placement,
            encoder=job.encoder,
            rewriting=not job.no_rewriting,
            unreadable_is_absent=job.unreadable_is_absent,
            prompts=job.prompts,
        )
        return PoshFile(job, found, load_coreference(job.coreference, job.placement.device))

    reads: list[Path | str] = [job.judge, job.parser, job.coreference]
    reads += [job.encoder] if job.encoder else []
    reads += [job.prompts / name for name in FILES] if job.prompts is not None else []
    page = PoshPage(Path(job.file.inputs.source).name)
    found = score_file(job.file, load, page, looks=False, reads=reads)
    if found is None:
        return None
    for text in summary([row_of_json(row) for row in found.kept]):
        echo(text)
    say_quarantine(found.written)
    echo(found.signature)
    return found.written


def summary(rows: Sequence[PairStatistics]) -> Iterator[str]:
    """The means with their intervals, and what they leave out."""
    for criterion in CRITERIA:
        yield mean(rows, criterion).line(criterion, "pairs")
    sides = [side for row in rows for side in (row.mistakes, row.omissions)]
    unscored = sum(side.unscored for side in sides)
    asked = unscored + sum(side.scored for side in sides)
    yield f"{len(rows)} pairs, {asked} components, {unscored} of them unscored"


def is_scored_pair(row: Mapping[str, Any]) -> bool:
    """Whether a row is a line of OUT."""
    return {"overall", "statistics", "generation", "references"} <= row.keys()


def read_line(row: Mapping[str, Any]) -> MetricScore:
    """A line of OUT as a metric's result for the text, with omissions of the first reference.

    Raises:
        LookupError, TypeError, ValueError: It is not such a line.
    """
    return metric_score(
        {name: row[name] for name in CRITERIA},
        _places(row["generation"]),
        _places(row["references"][0]),
    )


def _places(components: Sequence[Mapping[str, Any]]) -> list[tuple[Span, float | None]]:
    return [(Span(*part["span"]), part["grade"]) for part in components]


def _graded(graded: Graded) -> list[dict[str, Any]]:
    return [
        {
            "part": str(part.part),
            "component": part.phrase(graded.graph),
            "span": list(part.span),
            "grade": rounded(grade.score),
            **({"unscored": grade.unscored} if grade.unscored else {}),
        }
        for part, grade in zip(graded.parts, graded.grades, strict=True)
    ]
