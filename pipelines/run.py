"""The main job: IN to OUT, whole or not at all, resumable at any moment.

    open the input and look at its fields ─ load the models ─ journal, window by window ─
    assemble OUT from the journal ─ tally, table and report ─ delete the journal

Everything that a user can get wrong is checked before a model is loaded.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import closing
from functools import partial
from typing import TYPE_CHECKING, Any

from revise_captions.fields import Fields
from revise_captions.images import load_image, mark_of
from revise_captions.pipelines.journal import (
    Journal,
    Mark,
    RowResult,
    refuse_early,
    window_digest,
)
from revise_captions.pipelines.models import load_tools, run_settings
from revise_captions.pipelines.options import Options, parse_shard
from revise_captions.pipelines.progress import Progress
from revise_captions.pipelines.results import check_report, show, summarise
from revise_captions.pipelines.revise import (
    LoadImage,
    Result,
    Settings,
    Tools,
    revise_window,
    windows_of,
    with_images,
)
from revise_captions.pipelines.rows import to_json
from revise_captions.pipelines.summary import Speed
from revise_captions.pipelines.writers import check_output, journal_path, write
from revise_captions.readers import Source, open_source
from revise_captions.records import Record
from revise_captions.rows import BadRow

if TYPE_CHECKING:
    from PIL.Image import Image


def run(options: Options) -> dict[str, Any]:
    """Runs the whole job and prints its table. Returns the summary that the report prints too.

    Raises `UserError` for what the user can mend, `EngineDead` where the models stopped answering;
    both leave a journal to resume from, if any work was done.
    """
    options.check()
    if options.dry_run:
        return _dry_run(options)
    refuse_early(journal_path(options.out), resume=options.resume, force=options.force)
    with closing(open_input(options)) as source:
        check_outputs(source, options)
        return _run(source, options)


def _dry_run(options: Options) -> dict[str, Any]:
    from revise_captions.pipelines.dry_run import dry_run

    journal = journal_path(options.out)
    with closing(open_input(options)) as source:
        checks = (
            lambda: refuse_early(journal, resume=options.resume, force=options.force),
            lambda: check_outputs(source, options),
        )
        return dry_run(source, options, image_loader(source, options), checks)


def check_outputs(source: Source, options: Options) -> None:
    """Raises `UserError` where OUT or the report could not be written."""
    check_output(source, options.out, force=options.force, resume=options.resume)
    if options.report is not None:
        check_report(options.report, options.out)


def _run(source: Source, options: Options) -> dict[str, Any]:
    began = time.monotonic()
    tools, settings = load_tools(options, source)
    decisive = run_settings(tools, settings, options)
    load = image_loader(source, options)
    with Journal.open(
        journal_path(options.out), decisive, resume=options.resume, force=options.force
    ) as journal:
        with Progress(source.count()) as progress:
            mark = partial(mark_of, root=options.image_root, folder=source.folder)
            process(source, journal, tools, settings, load, progress, mark)
        speed = Speed(time.monotonic() - began, progress.records, progress.sentences)
        written = write(source, journal.results(), options.out)
        summary = summarise(source, journal, tools, options, speed, decisive, load)
        journal.delete()
    show(summary, options, written)
    return summary


def open_input(options: Options) -> Source:
    """The input as a repeatable source, its fields recognised. Raises `UserError`."""
    captions = tuple(filter(None, (options.caption_field or "").split(",")))
    # The process's id keeps two runs that name the same OUT from spooling into one file.
    spool = f"{journal_path(options.out).with_suffix('')}.stdin.{os.getpid()}"
    return open_source(
        options.source,
        fields=Fields(options.image_field, captions),
        need_image=options.stage != "revise",
        shard=parse_shard(options.shard),
        limit=options.limit,
        spool=journal_path(options.out).with_name(os.path.basename(spool)),
    )


def image_loader(source: Source, options: Options) -> LoadImage:
    """Reads a record's image the way the options allow."""

    def load(record: Record) -> Image:
        return load_image(
            record.image,
            root=options.image_root,
            folder=source.folder,
            allow_urls=options.allow_urls,
        )

    return load


def process(
    source: Source,
    journal: Journal,
    tools: Tools,
    settings: Settings,
    load: LoadImage,
    progress: Progress,
    mark: Mark,
) -> None:
    """Journals every window that is not done yet."""
    todo: list[tuple[int, str]] = []

    def unfinished() -> Iterator[list[Record | BadRow]]:
        for number, window in enumerate(windows_of(source)):
            digest = window_digest(window, mark)
            if journal.done(number, digest):
                progress.skip(len(window))
                continue
            todo.append((number, digest))
            yield window

    for loaded in with_images(unfinished(), settings, load):
        number, digest = todo.pop(0)
        results = revise_window(loaded, tools, settings)
        review = settings.on_unfixable == "flag"
        rows = [row_result(result, tools.threshold, review) for result in results]
        journal.append(number, digest, rows)
        progress.advance(len(rows), sum(_sentences(result) for result in results))


def _sentences(result: Result | BadRow) -> int:
    if isinstance(result, BadRow):
        return 0
    return sum(len(revision.sentences) for revision in result.revisions.values())


def row_result(result: Result | BadRow, threshold: float, review: bool) -> RowResult | BadRow:
    """What the output row gains. With several caption fields, both keys hold objects by field."""
    if isinstance(result, BadRow):
        return result
    parts = {
        name: to_json(revision, threshold, review=review)
        for name, revision in result.revisions.items()
    }
    if len(parts) == 1:
        return RowResult(result.record.line, next(iter(parts.values())))
    keys = ("revised_caption", "revision")
    return RowResult(
        result.record.line, {key: {name: p[key] for name, p in parts.items()} for key in keys}
    )
