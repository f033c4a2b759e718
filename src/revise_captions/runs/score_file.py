"""A metric over a file of captions: IN to OUT, all or nothing, resumable at any moment.

    open the input ─ load the metric ─ score and journal, window by window ─
    write OUT and the page from the journal ─ delete the journal

All metrics' commands run through here. A row that cannot be scored goes to the quarantine with a
reason, including one on which the metric raises by itself.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

import click
from PIL import Image

from revise_captions.command_line.printing import echo
from revise_captions.errors import BadRecord, Reason, UserError, described
from revise_captions.io.fields import look_up
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Source
from revise_captions.io.writing import check_writable, real_path, write_text
from revise_captions.isolation import Raised, isolated
from revise_captions.records import Record
from revise_captions.runs.begin import is_complete, open_journal, refuse_unfinished
from revise_captions.runs.inputs import InputOptions, image_loader, input_settings, open_input
from revise_captions.runs.journal import Journal, RowResult
from revise_captions.runs.outputs import OutputCounts, check_place, write_rows
from revise_captions.runs.progress import Progress, shown
from revise_captions.runs.window_images import LoadedRecord
from revise_captions.runs.windows import unfinished_windows
from revise_captions.signature import signature

Item = TypeVar("Item")
Score = TypeVar("Score")


@dataclass(frozen=True, slots=True)
class ScoreOptions:
    """The options of every metric's command.

    Attributes:
        inputs: What is read.
        out: The file of scores.
        html: A page to write; None for none.
        show: How many captions to print with their marks.
        resume: Whether to continue an unfinished run.
        force: Whether OUT and the page may be replaced.
    """

    inputs: InputOptions
    out: str
    html: Path | None = None
    show: int = 0
    resume: bool = False
    force: bool = False


class FileMetric(Protocol[Item, Score]):
    """What a metric provides to a run.

    Attributes:
        settings: Everything that determines a score, by name: the signature.
        options: What else determines a line, such as names of fields.
        plain: An item that can always be scored, to tell a bad caption from a dead model.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    @property
    def options(self) -> Mapping[str, Any]: ...

    @property
    def plain(self) -> Item: ...

    def read(self, record: Record, image: Image.Image | None) -> Sequence[Item]:
        """A record's items to score, at least one. Raises `BadRecord` if there are none."""
        ...

    def score(self, items: Sequence[Item]) -> Sequence[Score]:
        """One score per item, in order."""
        ...

    def line(self, item: Item, score: Score) -> Mapping[str, Any]:
        """A line of OUT without `id`, `line` and `signature`, ready for JSON."""
        ...

    def kept(self, item: Item, score: Score) -> Mapping[str, Any]:
        """What the summary needs, ready for JSON."""
        ...

    def view(self, item: Item, score: Score) -> Mapping[str, Any]:
        """What the page shows, ready for JSON."""
        ...

    def terminal(self, item: Item, score: Score, *, color: bool) -> str:
        """The item with its marks."""
        ...


@dataclass(slots=True)
class FileScores:
    """What a run found.

    Attributes:
        signature: What determined the scores.
        written: How many rows were written and quarantined.
        kept: What the metric keeps of each item for its summary, in order.
    """

    signature: str
    written: OutputCounts = field(default_factory=lambda: OutputCounts(0, 0, None))
    kept: list[Mapping[str, Any]] = field(default_factory=list)


class ScorePage(Protocol):
    """A page of scores, made from views in the input's order.

    Attributes:
        mark: What every such page has in its head, by which it is recognized.
    """

    @property
    def mark(self) -> str: ...

    def add(self, view: Mapping[str, Any]) -> None:
        """Takes what `FileMetric.view` made of an item."""
        ...

    def render(self, found: FileScores) -> str:
        """The page, after all views were added."""
        ...


def score_file(
    options: ScoreOptions,
    load: Callable[[], FileMetric[Any, Any]],
    page: ScorePage | None = None,
    *,
    looks: bool,
    reads: Sequence[Path | str] = (),
) -> FileScores | None:
    """Scores a file.

    Args:
        options: What is read and written.
        load: Loads the metric, after everything else that can go wrong has been checked.
        page: Makes the page `options.html`.
        looks: Whether images are looked at.
        reads: What is read besides the input.

    Returns:
        None if `--resume` found all rows in OUT.

    Raises:
        UserError: Something that the user can fix.
        EngineDead: A model stopped answering; the journal makes the run resumable.
    """
    refuse_unfinished(options)
    _check_page(options, page, reads)
    with closing(open_input(options.inputs, options.out, need_image=looks)) as source:
        if is_complete(source, options, lambda row: str(row.get("signature", ""))):
            return None
        check_place(source, options.out, force=options.force, resume=options.resume, reads=reads)
        metric = load()
        found = FileScores(signature(metric.settings))
        decisive = {
            **metric.settings,
            **metric.options,
            "html": options.html is not None,
            **input_settings(options.inputs),
        }
        with open_journal(options, decisive) as journal:
            with Progress(source.count(), "rows") as progress:
                _Run(options, metric, found.signature).windows(source, journal, progress, looks)

            def lines(_: Row, result: RowResult) -> Iterator[Mapping[str, Any]]:
                found.kept += result.revised["kept"]
                if page is not None:
                    for view in result.revised["views"]:
                        page.add(view)
                yield from result.revised["lines"]

            results = shown(journal.results(), "writing", progress.total)
            found.written = write_rows(source, results, options.out, lines)
            if options.html is not None and page is not None:
                write_text(options.html, page.render(found))
            journal.delete()
    return found


def _check_page(options: ScoreOptions, page: ScorePage | None, reads: Sequence[Path | str]) -> None:
    if options.html is None or page is None:
        return
    inputs, mark = [options.inputs.source, *reads], page.mark.encode()
    check_writable(options.html, inputs, force=options.force, ours=lambda head: mark in head)
    if real_path(options.html) == real_path(options.out):
        raise UserError(f"--html {options.html} is OUT", hint="name another file")


@dataclass(slots=True)
class _Run(Generic[Item, Score]):
    options: ScoreOptions
    metric: FileMetric[Item, Score]
    signature: str
    printed: int = 0

    def windows(self, source: Source, journal: Journal, progress: Progress, looks: bool) -> None:
        """Scores and journals every unfinished window."""
        load = image_loader(source, self.options.inputs) if looks else None
        root = self.options.inputs.image_root
        for number, digest, loaded in unfinished_windows(source, root, journal, load, progress):
            journal.append(number, digest, self.window(loaded))
            progress.advance(len(loaded), 0)

    def window(self, loaded: Sequence[LoadedRecord | BadRow]) -> list[RowResult | BadRow]:
        read = [row if isinstance(row, BadRow) else self._read(*row) for row in loaded]
        asked = [item for items in read if not isinstance(items, BadRow) for item in items]
        scores = iter(
            isolated(asked, self.metric.score, lambda: self.metric.score([self.metric.plain]))
        )
        results: list[RowResult | BadRow] = []
        for row, items in zip(loaded, read, strict=True):
            if isinstance(row, BadRow) or isinstance(items, BadRow):
                results.append(items if isinstance(items, BadRow) else row)  # type: ignore[arg-type]
                continue
            results.append(self._result(row[0], items, [next(scores) for _ in items]))
        return results

    def _read(self, record: Record, image: Image.Image | None) -> Sequence[Item] | BadRow:
        try:
            return self.metric.read(record, image)
        except BadRecord as error:
            return BadRow.of(record, record.source, error)

    def _result(
        self, record: Record, items: Sequence[Item], scores: Sequence[Score | Raised]
    ) -> RowResult | BadRow:
        pairs: list[tuple[Item, Score]] = []
        for item, score in zip(items, scores, strict=True):
            if isinstance(score, Raised):
                error = BadRecord(Reason.UNEXPECTED_ERROR, described(score.error))
                return BadRow.of(record, record.source, error)
            pairs.append((item, score))
        self._show(pairs)
        metric, seen = self.metric, self.options.html is not None
        named = {"id": record.fields["id"]} if "id" in record.fields else {}
        named["line"] = record.line
        return RowResult(
            record.line,
            {
                "lines": [
                    {**named, **metric.line(*pair), "signature": self.signature} for pair in pairs
                ],
                "kept": [metric.kept(*pair) for pair in pairs],
                "views": [metric.view(*pair) for pair in pairs] if seen else [],
            },
        )

    def _show(self, pairs: Sequence[tuple[Item, Score]]) -> None:
        for pair in pairs[: self.options.show - self.printed]:
            text = self.metric.terminal(*pair, color=sys.stdout.isatty())
            click.echo(text + "\n")
            self.printed += 1


def texts_in(record: Record, name: str) -> tuple[str, ...]:
    """The texts of a field that holds one text or a list of them, without empty ones.

    Raises:
        BadRecord: It holds something else.
    """
    value = look_up(record.fields, name)
    if value is None:
        return ()
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not all(isinstance(item, str) for item in items):
        what = f"the field {name!r} holds neither a text nor a list of texts"
        raise BadRecord(Reason.BAD_REFERENCE, what)
    return tuple(item for item in items if item.strip())


def image_name(record: Record, group_field: str = "") -> str:
    """A name for a record's image, the unit of intervals: from a field, its path, or its line."""
    image = record.image
    name = look_up(record.fields, group_field) if group_field else image.path or image.url
    return f"line {record.line}" if name is None else str(name)


def say_quarantine(written: OutputCounts) -> None:
    """Reports how many rows could not be scored, and where they are."""
    if written.quarantined:
        echo(f"{written.quarantined:,} rows could not be scored: see {written.quarantine}")
