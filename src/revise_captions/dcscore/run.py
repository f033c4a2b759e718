"""`captions dcscore`: DCScore's part in a run over a file."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from PIL import Image

from revise_captions.command_line.printing import echo
from revise_captions.dcscore.display import UnitPage, for_terminal, view_of
from revise_captions.dcscore.load import load_scorer
from revise_captions.dcscore.options import DcscoreOptions
from revise_captions.dcscore.released import FILE, ReleasedScorer
from revise_captions.dcscore.rows import ScoredRow, line_of, means, row_of, scored_row, totals
from revise_captions.dcscore.scorer import CaptionScorer, CaptionTask, ScoredCaption
from revise_captions.errors import BadRecord, Reason
from revise_captions.io.fields import look_up
from revise_captions.records import Record
from revise_captions.runs.outputs import OutputCounts
from revise_captions.runs.score_file import (
    image_name,
    say_quarantine,
    score_file,
    texts_in,
)


@dataclass(frozen=True, slots=True)
class _Caption:
    group: str
    task: CaptionTask


@dataclass(frozen=True, slots=True)
class UnitFile:
    """DCScore as a `FileMetric`."""

    job: DcscoreOptions
    scorer: CaptionScorer | ReleasedScorer

    @property
    def settings(self) -> Mapping[str, str]:
        return self.scorer.settings

    @property
    def options(self) -> Mapping[str, Any]:
        names = ("reference_field", "units_field", "group_field")
        return {name.replace("_", "-"): getattr(self.job, name) for name in names}

    @property
    def plain(self) -> _Caption:
        image = Image.new("RGB", (64, 64)) if self.job.models.looks else None
        return _Caption("", CaptionTask("A dog.", image, ("A dog.",)))

    def read(self, record: Record, image: Image.Image | None) -> Sequence[_Caption]:
        job = self.job
        texts, units = texts_in(record, job.reference_field), _units(record, job.units_field)
        if not texts and units is None and not job.models.looks:
            why = f"no text in {job.reference_field!r}, no units in {job.units_field!r}"
            why = f"{why}: without a verifier a caption needs a reference"
            raise BadRecord(Reason.BAD_REFERENCE, why)
        caption = next(iter(record.captions.values()))
        task = CaptionTask(caption, image, texts, units)
        return [_Caption(image_name(record, job.group_field), task)]

    def score(self, items: Sequence[_Caption]) -> Sequence[ScoredCaption]:
        return self.scorer.score([item.task for item in items])

    def line(self, item: _Caption, score: ScoredCaption) -> Mapping[str, Any]:
        return line_of(score)

    def kept(self, item: _Caption, score: ScoredCaption) -> Mapping[str, Any]:
        return asdict(row_of(item.group, score))

    def view(self, item: _Caption, score: ScoredCaption) -> Mapping[str, Any]:
        return view_of(item.group, score)

    def terminal(self, item: _Caption, score: ScoredCaption, *, color: bool) -> str:
        return for_terminal(score, color=color)


def run(
    job: DcscoreOptions, scorer: CaptionScorer | ReleasedScorer | None = None
) -> OutputCounts | None:
    """Scores the file and prints the means; see `score_file`.

    Returns:
        How many rows were written; None if `--resume` found all of them in OUT.
    """
    models = job.models
    models.check()
    found = score_file(
        job.file,
        lambda: UnitFile(job, scorer or load_scorer(models)),
        UnitPage(),
        looks=models.looks,
        reads=[
            models.decomposer,
            models.matcher,
            models.parser,
            *models.verifier,
            *([] if models.prompts is None else [models.prompts / FILE]),
        ],
    )
    if found is None:
        return None
    for text in summary(list(map(scored_row, found.kept)), looks=models.looks):
        echo(text)
    say_quarantine(found.written)
    echo(found.signature)
    return found.written


def _units(record: Record, name: str) -> tuple[str, ...] | None:
    value = look_up(record.fields, name)
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise BadRecord(Reason.BAD_REFERENCE, f"the field {name!r} holds no list of texts")
    return tuple(item for item in value if item.strip())


def summary(rows: Sequence[ScoredRow], *, looks: bool) -> Iterator[str]:
    """The means with their intervals, and what they leave out."""
    for name, found in means(rows).items():
        yield found.line(name, "captions")
    counts = totals(rows)
    yield (
        f"{len(rows)} captions, {counts.units + counts.unscored} units, {counts.unscored} of them "
        f"without a verdict, {counts.unmatched} without a match; {counts.denied} matched units "
        f"denied by the verifier"
    )
    known = [row.agreement for row in rows if row.agreement is not None]
    if known:
        yield f"the verifiers agree on {100 * sum(known) / len(known):.1f} % of the units"
    if not looks:
        yield (
            "reference-only: no image was looked at; a unit counts as true where the reference "
            "says it"
        )
