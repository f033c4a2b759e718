"""What `score-dcscore` does: a file of captions in, a file of scores out, a window at a time.

A line that cannot be scored becomes a line with the reason in `error`; their number is printed. OUT
appears under its name when it is complete.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click

from revise_captions.commands import echo
from revise_captions.dcscore.scorer import CaptionScorer, CaptionTask, ScoredCaption
from revise_captions.errors import UserError
from revise_captions.io.fields import look_up
from revise_captions.io.readers import Source
from revise_captions.io.rows import BadRow
from revise_captions.io.writing import check_writable, write_json_lines, write_text
from revise_captions.pipelines.dcscore.display import for_terminal, page
from revise_captions.pipelines.dcscore.options import DcscoreOptions, load_scorer
from revise_captions.pipelines.dcscore.rows import ScoredRow, line_of, means, row_of, totals
from revise_captions.pipelines.job.inputs import image_loader, open_input
from revise_captions.pipelines.job.window_images import LoadedRecord, windows_of, with_images
from revise_captions.records import ImageRef, Record
from revise_captions.signature import signature

#: Captions on an HTML page: more would make it heavy for a browser.
ON_PAGE = 200


@dataclass(slots=True)
class DcscoreRun:
    """What a run found: a row per scored caption, what the page shows, how many lines failed."""

    rows: list[ScoredRow] = field(default_factory=list)
    shown: list[tuple[str, ScoredCaption]] = field(default_factory=list)
    failed: int = 0


def run(job: DcscoreOptions, scorer: CaptionScorer | None = None) -> DcscoreRun:
    """Scores the file and prints the means. Raises UserError before anything is written."""
    models = job.models
    reads: list[Path | str] = [job.inputs.source, models.decomposer, models.matcher, models.parser]
    check_writable(job.out, [*reads, *models.verifier], force=job.force)
    if job.html is not None:
        check_writable(job.html, [*reads, *models.verifier], force=job.force)
        if job.html.resolve() == job.out.resolve():
            raise UserError(f"--html {job.html} is OUT", hint="name another file")
    scorer = scorer or load_scorer(models)
    named = signature(scorer.settings)
    found = DcscoreRun()
    with closing(open_input(job.inputs, str(job.out), need_image=models.looks)) as source:
        lines = _lines(job, source, scorer, named, found)
        write_json_lines(job.out, lines)
    if job.html is not None:
        write_text(job.html, page(found.shown, found.rows, named, found.failed))
    for text in summary(found.rows, found.failed, looks=models.looks):
        echo(text)
    echo(named)
    return found


def _lines(
    job: DcscoreOptions, source: Source, scorer: CaptionScorer, named: str, found: DcscoreRun
) -> Iterator[dict[str, Any]]:
    """A line for each of the source's, in order."""
    load = image_loader(source, job.inputs) if job.models.looks else None
    for window in with_images(windows_of(source), load):
        read = [_read(job, row) for row in window]
        scores = iter(scorer.score([item.task for item in read if isinstance(item, _Caption)]))
        for item in read:
            if isinstance(item, _Failed):
                found.failed += 1
                yield {"line": item.line, "error": item.why}
                continue
            scored = next(scores)
            found.rows.append(row_of(item.group, scored))
            if job.html is not None and len(found.shown) < ON_PAGE:
                found.shown.append((item.name, scored))
            if len(found.rows) <= job.show:
                click.echo(for_terminal(scored, color=sys.stdout.isatty()) + "\n")
            yield line_of(item.line, scored, named)
        echo(f"{len(found.rows)} captions scored", err=True)


@dataclass(frozen=True, slots=True)
class _Caption:
    line: int
    group: str
    name: str
    task: CaptionTask


@dataclass(frozen=True, slots=True)
class _Failed:
    line: int
    why: str


def _read(job: DcscoreOptions, row: LoadedRecord | BadRow) -> _Caption | _Failed:
    if isinstance(row, BadRow):
        return _Failed(row.line, f"{row.reason}: {row.detail}")
    record, image = row
    texts, units = _texts(record, job.reference_field), _units(record, job.units_field)
    if isinstance(texts, str) or isinstance(units, str):
        return _Failed(record.line, texts if isinstance(texts, str) else str(units))
    if not texts and units is None and not job.models.looks:
        why = f"no text in {job.reference_field!r}, no units in {job.units_field!r}"
        return _Failed(record.line, f"{why}: without a verifier a caption needs a reference")
    caption = next(iter(record.captions.values()))
    group = look_up(record.fields, job.group_field) if job.group_field else _image(record.image)
    name = f"line {record.line}" if group is None else str(group)
    return _Caption(record.line, name, name, CaptionTask(caption, image, texts, units))


def _image(image: ImageRef) -> str | None:
    return image.path or image.url


def _texts(record: Record, name: str) -> tuple[str, ...] | str:
    """The references in a row: one text or a list of them. A bare text says what is wrong."""
    value = look_up(record.fields, name)
    if value is None:
        return ()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        return f"the field {name!r} holds neither a text nor a list of texts"
    return tuple(item for item in items if item.strip())


def _units(record: Record, name: str) -> tuple[str, ...] | str | None:
    value = look_up(record.fields, name)
    if value is None:
        return None
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        return f"the field {name!r} holds no list of texts"
    return tuple(item for item in value if item.strip())


def summary(rows: list[ScoredRow], failed: int, *, looks: bool) -> Iterator[str]:
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
    if failed:
        yield f"{failed} lines of IN could not be scored: see `error` in OUT"
