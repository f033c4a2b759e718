"""`score-dcscore`: windows, journal and quarantine of the main job, a line per caption."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import click

from revise_captions.commands import echo
from revise_captions.dcscore.scorer import CaptionScorer, CaptionTask, ScoredCaption
from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.fields import look_up
from revise_captions.io.readers import Source
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.writing import check_writable, write_text
from revise_captions.pipelines.dcscore.display import TITLE, for_terminal, page, view_of
from revise_captions.pipelines.dcscore.options import DcscoreOptions, load_scorer
from revise_captions.pipelines.dcscore.rows import (
    ScoredRow,
    line_of,
    means,
    row_of,
    scored_row,
    totals,
)
from revise_captions.pipelines.output.writers import check_output
from revise_captions.records import ImageRef, Record
from revise_captions.runs.begin import is_complete, open_journal, refuse_unfinished
from revise_captions.runs.inputs import image_loader, input_settings, open_input
from revise_captions.runs.journal import Journal, RowResult
from revise_captions.runs.outputs import OutputCounts, write_rows
from revise_captions.runs.progress import Progress, shown
from revise_captions.runs.window_images import LoadedRecord
from revise_captions.runs.windows import unfinished_windows
from revise_captions.signature import signature

#: Captions on an HTML page: more would make it heavy for a browser.
ON_PAGE = 200


def run(job: DcscoreOptions, scorer: CaptionScorer | None = None) -> OutputCounts | None:
    """Scores the file and prints the means.

    Returns:
        How many rows were written; None where `--resume` found all of them in OUT.

    Raises:
        UserError: Something that the user can mend.
        EngineDead: A model stopped answering; the journal makes the run resumable.
    """
    models = job.models
    models.check()
    refuse_unfinished(job.run)
    reads: list[Path | str] = [models.decomposer, models.matcher, models.parser, *models.verifier]
    _check_page(job, reads)
    with closing(open_input(job.inputs, str(job.out), need_image=models.looks)) as source:
        if is_complete(source, job.run, lambda row: str(row.get("signature", ""))):
            return None
        check_output(source, str(job.out), force=job.force, resume=job.resume, reads=reads)
        scorer = scorer or load_scorer(models)
        named = signature(scorer.settings)
        rows: list[ScoredRow] = []
        views: list[Mapping[str, Any]] = []
        with open_journal(job.run, _decisive(job, scorer)) as journal:
            with Progress(source.count()) as progress:
                _journal_windows(job, source, scorer, named, journal, progress)

            def lines(_: Row, result: RowResult) -> Iterator[Mapping[str, Any]]:
                rows.append(scored_row(result.revised))
                if result.revised["view"] is not None and len(views) < ON_PAGE:
                    views.append(result.revised["view"])
                yield result.revised["line"]

            results = shown(journal.results(), "writing", progress.total)
            written = write_rows(source, results, str(job.out), lines)
            if job.html is not None:
                write_text(job.html, page(views, rows, named, written.quarantined))
            journal.delete()
    for text in summary(rows, written, looks=models.looks):
        echo(text)
    echo(named)
    return written


def _check_page(job: DcscoreOptions, reads: Sequence[Path | str]) -> None:
    if job.html is None:
        return
    reads = [job.inputs.source, *reads]
    check_writable(job.html, reads, force=job.force, ours=lambda head: TITLE.encode() in head)
    if job.html.resolve() == job.out.resolve():
        raise UserError(f"--html {job.html} is OUT", hint="name another file")


def _decisive(job: DcscoreOptions, scorer: CaptionScorer) -> Mapping[str, Any]:
    """Everything that decides a line."""
    return {
        **scorer.settings,
        "reference-field": job.reference_field,
        "units-field": job.units_field,
        "group-field": job.group_field,
        "html": job.html is not None,
        **input_settings(job.inputs),
    }


def _journal_windows(
    job: DcscoreOptions,
    source: Source,
    scorer: CaptionScorer,
    named: str,
    journal: Journal,
    progress: Progress,
) -> None:
    """Journals every window that is not done yet."""
    load = image_loader(source, job.inputs) if job.models.looks else None
    to_show = job.show
    for number, digest, loaded in unfinished_windows(
        source, job.inputs.image_root, journal, load, progress
    ):
        read = [_read(job, row) for row in loaded]
        asked = [item for item in read if isinstance(item, _Caption)]
        scores = scorer.score([item.task for item in asked])
        for scored in scores[:to_show]:
            click.echo(for_terminal(scored, color=sys.stdout.isatty()) + "\n")
        to_show -= min(to_show, len(scores))
        seen = job.html is not None and number < ON_PAGE  # a window has at least one row
        made = iter(zip(asked, scores, strict=True))
        journal.append(
            number,
            digest,
            [item if isinstance(item, BadRow) else _result(*next(made), named, seen)
             for item in read],
        )  # fmt: skip
        progress.advance(len(read), sum(len(scored.caption.sentences) for scored in scores))


@dataclass(frozen=True, slots=True)
class _Caption:
    line: int
    group: str
    task: CaptionTask


def _result(item: _Caption, scored: ScoredCaption, named: str, seen: bool) -> RowResult:
    """A caption's line, and what means and page need of it, as the journal keeps them."""
    return RowResult(
        item.line,
        {
            "line": line_of(item.line, scored, named),
            "row": asdict(row_of(item.group, scored)),
            "view": view_of(item.group, scored) if seen else None,
        },
    )


def _read(job: DcscoreOptions, row: LoadedRecord | BadRow) -> _Caption | BadRow:
    if isinstance(row, BadRow):
        return row
    record, image = row
    try:
        texts, units = _texts(record, job.reference_field), _units(record, job.units_field)
    except BadRecord as error:
        return BadRow.of(record, record.source, error)
    if not texts and units is None and not job.models.looks:
        why = f"no text in {job.reference_field!r}, no units in {job.units_field!r}"
        why = f"{why}: without a verifier a caption needs a reference"
        return BadRow.of(record, record.source, BadRecord(Reason.BAD_REFERENCE, why))
    caption = next(iter(record.captions.values()))
    group = look_up(record.fields, job.group_field) if job.group_field else _image(record.image)
    name = f"line {record.line}" if group is None else str(group)
    return _Caption(record.line, name, CaptionTask(caption, image, texts, units))


def _image(image: ImageRef) -> str | None:
    return image.path or image.url


def _texts(record: Record, name: str) -> tuple[str, ...]:
    """The references in a row: one text or a list of them. Raises `BadRecord`."""
    value = look_up(record.fields, name)
    if value is None:
        return ()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        what = f"the field {name!r} holds neither a text nor a list of texts"
        raise BadRecord(Reason.BAD_REFERENCE, what)
    return tuple(item for item in items if item.strip())


def _units(record: Record, name: str) -> tuple[str, ...] | None:
    value = look_up(record.fields, name)
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise BadRecord(Reason.BAD_REFERENCE, f"the field {name!r} holds no list of texts")
    return tuple(item for item in value if item.strip())


def summary(rows: list[ScoredRow], written: OutputCounts, *, looks: bool) -> Iterator[str]:
    """The means with their intervals, and what is in none of them."""
    for name, found in means(rows).items():
        if found.value is None:
            yield f"{name:<16}no caption could be scored"
            continue
        spread = "" if found.low is None else f"  [{found.low:.4f}, {found.high:.4f}]"
        left = f"  ({found.unscored} captions unscored)" if found.unscored else ""
        yield f"{name:<16}{found.value:.4f}{spread}{left}"
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
    if written.quarantined:
        yield f"{written.quarantined:,} rows could not be scored: see {written.quarantine}"
