"""This machine, this process: windows in turn, images read ahead, each window journalled."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from revise_captions.critic.protocol import Critic
from revise_captions.io.images import mark_of
from revise_captions.io.readers import Source
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.job.inputs import image_loader
from revise_captions.pipelines.job.progress import Progress
from revise_captions.pipelines.job.window import (
    Loaded,
    Result,
    RevisionSettings,
    Tools,
    revise_window,
    windows_of,
    with_images,
)
from revise_captions.pipelines.options import Options
from revise_captions.pipelines.output.journal import Journal, RowResult, window_digest
from revise_captions.pipelines.output.schema import to_json
from revise_captions.records import Record


def process(
    source: Source,
    options: Options,
    journal: Journal,
    tools: Tools,
    settings: RevisionSettings,
    progress: Progress,
) -> None:
    """Journals every window that is not done yet."""
    for number, digest, loaded in unfinished_windows(
        source, options, journal, settings, progress, tools.critic
    ):
        rows = journalled(revise_window(loaded, tools, settings), tools, settings)
        journal.append(number, digest, rows)
        progress.advance(len(rows), sentences_of(rows))


def unfinished_windows(
    source: Source,
    options: Options,
    journal: Journal,
    settings: RevisionSettings,
    progress: Progress,
    critic: Critic | None = None,
) -> Iterator[tuple[int, str, list[Loaded | BadRow]]]:
    """(number, digest, rows with their images, read ahead) of what the journal has not; what it
    has is skipped.
    """
    mark = partial(mark_of, root=options.image_root, folder=source.folder)
    todo: list[tuple[int, str]] = []

    def unfinished() -> Iterator[list[Record | BadRow]]:
        for number, window in enumerate(windows_of(source)):
            digest = window_digest(window, mark)
            if journal.done(number, digest):
                progress.skip(len(window))
                continue
            todo.append((number, digest))
            yield window

    load = image_loader(source, options)
    for loaded in with_images(unfinished(), settings, load, critic):
        yield *todo.pop(0), loaded


def journalled(
    results: Sequence[Result | BadRow], tools: Tools, settings: RevisionSettings
) -> list[RowResult | BadRow]:
    """A window's results as the journal keeps them."""
    review = settings.on_unfixable == "flag"
    return [row_result(result, tools.threshold, review) for result in results]


def row_result(result: Result | BadRow, threshold: float, review: bool) -> RowResult | BadRow:
    """What the output row gains. With several caption fields, both keys hold objects by field."""
    if isinstance(result, BadRow):
        return result
    parts = {
        name: to_json(revision, threshold, review=review)
        for name, revision in result.revisions.items()
    }
    for name, found in result.verifications.items():
        parts[name]["revision"]["verification"] = found
    if len(parts) == 1:
        return RowResult(result.record.line, next(iter(parts.values())))
    keys = ("revised_caption", "revision")
    return RowResult(
        result.record.line, {key: {name: p[key] for name, p in parts.items()} for key in keys}
    )


def sentences_of(rows: Sequence[RowResult | BadRow]) -> int:
    """How many sentences a window had, for the rate that is shown."""
    total = 0
    for row in rows:
        if isinstance(row, RowResult):
            revision = row.revised["revision"]
            parts = [revision] if "signature" in revision else revision.values()
            total += sum(len(part["sentences"]) for part in parts)
    return total
