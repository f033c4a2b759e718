"""From records to revisions, window by window: the whole flow on one screen.

Work is done in fixed windows of the input. Batches never span two windows, so what is computed
together never depends on where a run was interrupted, resumed or sharded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image

from revise_captions.errors import BadRecord, NothingJudged, Reason, own_step
from revise_captions.io.images import LoadImage
from revise_captions.io.in_place import FIELD, ORIGINAL, joined, named_fields, refuse_taken
from revise_captions.io.rows import BadRow
from revise_captions.io.source import WINDOW, Source
from revise_captions.pipelines.draft import Draft, new_draft, resumed, revision_of
from revise_captions.pipelines.job import rounds, unforeseen
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings
from revise_captions.pipelines.job.verdict import Check
from revise_captions.pipelines.options import Stage
from revise_captions.pipelines.output.batch_journal import BatchJournal
from revise_captions.pipelines.output.outcomes import captions_of, is_flagged
from revise_captions.pipelines.output.schema import from_json, to_json
from revise_captions.records import Record, Revision, Span
from revise_captions.runs.journal import Journal, RowResult
from revise_captions.runs.overlap import Behind
from revise_captions.runs.progress import Progress
from revise_captions.runs.window_images import LoadedRecord, windows_of, with_images
from revise_captions.runs.windows import unfinished_windows
from revise_captions.signature import is_digest, merged, settings_of
from revise_captions.text.markdown import sentence_spans

if TYPE_CHECKING:
    from revise_captions.pipelines.report.results import RunTally
    from revise_captions.pipelines.verify.verifier import Verifier


@dataclass(frozen=True, slots=True)
class Result:
    """One record and its revisions, by caption field.

    `verifications`: what a verifier found, as it is written to a row (`verify.as_json`).
    """

    record: Record
    revisions: Mapping[str, Revision]
    verifications: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def to_row(self) -> dict[str, Any]:
        """The record's own fields with `revised_caption` and `revision`, as the command writes
        them, but with the signature's line instead of its digest."""
        settings = [settings_of(revision.signature) for revision in self.revisions.values()]
        review = any(found.get("on-unfixable") == "flag" for found in settings)
        row = row_result(self, review)
        assert isinstance(row, RowResult)
        return {**self.record.fields, **row.revised}


def revise_records(
    rows: Iterable[Record | BadRow],
    models: LoadedModels,
    settings: RevisionSettings,
    load: LoadImage | None,
    *,
    window: int = WINDOW,
) -> Iterator[Result | BadRow]:
    """One `Result` per record, in order; what cannot be processed comes out as a `BadRow`."""
    for loaded in with_images(windows_of(rows, window), load, models.critic):
        yield from revise_window(loaded, models, settings)


def revise_window(
    loaded: Sequence[LoadedRecord | BadRow], models: LoadedModels, settings: RevisionSettings
) -> list[Result | BadRow]:
    """Takes one window through the stages, all captions of a stage together."""
    results: list[Result | BadRow] = []
    drafts: list[Draft] = []
    owners: list[tuple[int, str, str]] = []
    limit = models.limit
    for row in loaded:
        if isinstance(row, BadRow):
            results.append(row)
            continue
        record, image = row
        try:
            with own_step(Reason.UNEXPECTED_ERROR):
                if settings.in_place:
                    refuse_taken(record.fields)
                new = drafts_of(record, image, settings.stage, limit)
        except BadRecord as error:
            results.append(BadRow.of(record, record.source, error))
            continue
        for name, (made, earlier) in new.items():
            drafts.append(made)
            owners.append((len(results), name, merged(earlier, models.signature)))
        results.append(Result(record, {}))
    done: Sequence[Draft | BadRecord]
    try:
        done = rounds.run_stages(drafts, models, settings)
    except Exception as error:
        done = unforeseen.run_stages_after(error, drafts, models, settings)
    for (at, name, signature), draft in zip(owners, done, strict=True):
        results[at] = _with_revision(results[at], name, draft, signature)
    if models.verifier is not None:
        pictures = [None if isinstance(row, BadRow) else row[1] for row in loaded]
        return verified(results, pictures, models.verifier)
    return results


def _with_revision(
    result: Result | BadRow, name: str, draft: Draft | BadRecord, signature: str
) -> Result | BadRow:
    if isinstance(result, BadRow):  # another caption of the record cannot be handled
        return result
    try:
        if isinstance(draft, BadRecord):
            raise draft
        with own_step(Reason.UNEXPECTED_ERROR):
            revision = revision_of(draft, signature)
    except BadRecord as error:
        return BadRow.of(result.record, result.record.source, error)
    return replace(result, revisions={**result.revisions, name: revision})


def verified(
    results: Sequence[Result | BadRow],
    pictures: Sequence[Image.Image | None],
    verifier: Verifier,
) -> list[Result | BadRow]:
    """Adds the verifications; the captions of a window are verified together."""
    cases = [
        verifier.case(result.record, revision, picture)
        for result, picture in zip(results, pictures, strict=True)
        if isinstance(result, Result)
        for revision in result.revisions.values()
    ]
    found = iter(unforeseen.verify(verifier, cases))
    return [
        result
        if isinstance(result, BadRow)
        else replace(result, verifications={name: next(found) for name in result.revisions})
        for result in results
    ]


def drafts_of(
    record: Record, image: Image.Image | None, stage: Stage, threshold: float | None = None
) -> dict[str, tuple[Draft, str]]:
    """A draft per caption of a record, and the signature of the previous stage.

    `threshold`: flags sentences in place of the threshold that they were judged with.

    Stage `all` starts afresh, whatever an earlier run left in the record; the others continue where
    the previous stage stopped. `critique` judges a record's labeled `sentences` as they are. Raises
    `BadRecord(BAD_REVISION)` where there is nothing to revise.
    """
    stored = None if stage == "all" else record.fields.get("revision")
    if stored is None and stage == "revise":
        raise BadRecord(Reason.BAD_REVISION, "no `revision`: run --stage critique first")
    drafts = {}
    for name, caption in record.captions.items():
        if stored is None:
            spans = _given(record, caption) if stage == "critique" else ()
            drafts[name] = (
                new_draft(image, caption, spans or sentence_spans(caption), threshold or 0.5),
                "",
            )
            continue
        row = {key: record.fields.get(key) for key in _ADDED}
        if len(record.captions) > 1:
            row = {key: _of_field(value, name) for key, value in row.items()}
        revision = from_json(caption, row)
        if is_digest(revision.signature):
            detail = f"no settings are recorded for the signature {revision.signature}"
            raise BadRecord(Reason.BAD_REVISION, detail)
        if threshold is not None:
            revision = replace(revision, threshold=threshold)
        drafts[name] = (resumed(image, revision), revision.signature)
    return drafts


def _given(record: Record, caption: str) -> tuple[Span, ...]:
    """The spans of a record's labeled sentences, as `captions benchmarks export` writes them."""
    told = record.fields.get("sentences")
    if len(record.captions) > 1 or not isinstance(told, list):
        return ()
    ends = [(one.get("start"), one.get("end")) for one in told if isinstance(one, Mapping)]
    found = [Span(start, end) for start, end in ends if type(start) is type(end) is int]
    if len(found) < len(told):
        return ()  # the row's `sentences` are something else
    borders = [0, *(border for span in found for border in (span.start, span.end)), len(caption)]
    if borders != sorted(borders) or any(not span.of(caption).strip() for span in found):
        raise BadRecord(
            Reason.BAD_REVISION, "the `sentences` do not follow each other within the caption"
        )
    return tuple(found)


_ADDED = ("revised_caption", "revision")


def _of_field(value: object, name: str) -> object:
    return value.get(name) if isinstance(value, Mapping) else None


def stored_signature(row: Mapping[str, object]) -> str:
    """The signature that an earlier stage gave a row; "" where there was none."""
    stored = row.get("revision")
    for part in [stored, *(stored.values() if isinstance(stored, Mapping) else ())]:
        found = _of_field(part, "signature")
        if isinstance(found, str):
            return found
    return ""


def journal_windows(
    source: Source,
    image_root: Path | None,
    load: LoadImage | None,
    models: LoadedModels,
    settings: RevisionSettings,
    journal: Journal,
    progress: Progress,
    tallied: RunTally | None,
    check: Check = lambda rows: None,
) -> None:
    """Revises and journals, in this process, every window that the journal does not hold yet.

    While the models work on a window, the next is read and the previous one journaled.

    Args:
        source: The input.
        image_root: What relative image paths are relative to.
        load: Reads a record's image; None where no image is looked at.
        models: What judges and rewrites.
        settings: How.
        journal: Holds what is finished.
        progress: Advanced by each window.
        tallied: Counts the windows' results as they come.
        check: May end the run at its first window, so that window is waited for.
    """

    def keep(
        number: int,
        digest: str,
        asked: Sequence[Record | BadRow],
        results: Sequence[Result | BadRow],
    ) -> None:
        rows = journaled(results, settings)
        if not len(journal):
            check(rows)
        journal.append(number, digest, rows)
        if tallied is not None:
            tallied.add_window(asked, rows)
        progress.advance(len(rows), sentences_of(rows), outcomes_of(rows))

    with WindowKeeper(journal, progress) as keeper:
        for number, digest, loaded in unfinished_windows(
            source, image_root, journal, load, progress, models.critic
        ):
            with keeper.computing(number, digest):
                results = revise_window(loaded, models, settings)
            asked = [row if isinstance(row, BadRow) else row[0] for row in loaded]
            keeper.keep(partial(keep, number, digest, asked, results))


class WindowKeeper:
    """A context manager whose thread journals each window while the next one is computed.

    A run's first window is waited for. Batches of the current window are kept beside the journal.
    """

    def __init__(self, journal: Journal, progress: Progress) -> None:
        self._first = not len(journal)
        self._behind = Behind()
        self._batches = BatchJournal(
            *(journal.path, journal.run_key, progress.batch, self._behind.settled),
            resumed=journal.resumed,
        )

    def computing(self, number: int, digest: str) -> AbstractContextManager[None]:
        """A context to compute the window in."""
        return self._batches.window(number, digest)

    def keep(self, work: Callable[[], None]) -> None:
        """Has `work` journal the window in the thread. Raises an error of the previous window's."""

        def kept() -> None:
            try:
                work()
            except NothingJudged:
                self._batches.clear()  # as the journal is deleted too
                raise
            self._batches.clear()

        self._behind.do(kept)
        if self._first:
            self._behind.wait()
            self._first = False

    def __enter__(self) -> WindowKeeper:
        return self

    def __exit__(self, *error: Any) -> None:
        self._behind.__exit__(*error)


def journaled(
    results: Sequence[Result | BadRow], settings: RevisionSettings
) -> list[RowResult | BadRow]:
    """A window's results in the journal's form."""
    review = settings.on_unfixable == "flag"
    return [row_result(result, review, in_place=settings.in_place) for result in results]


def row_result(
    result: Result | BadRow, review: bool, *, in_place: bool = False
) -> RowResult | BadRow:
    """What the output row gains. With several caption fields, its keys hold objects by field.

    `in_place`: the corrected captions will replace the originals, which are then kept beside
    them, also for a row that an earlier run has written that way.
    """
    if isinstance(result, BadRow):
        return result
    parts = {name: to_json(revision, review=review) for name, revision in result.revisions.items()}
    for name, found in result.verifications.items():
        parts[name]["revision"]["verification"] = found
    if in_place or named_fields(result.record.fields):
        for name, revision in result.revisions.items():
            parts[name]["revision"][FIELD] = name
            parts[name][ORIGINAL] = revision.caption
    keys = next(iter(parts.values()))
    added = {key: joined({name: part[key] for name, part in parts.items()}) for key in keys}
    return RowResult(result.record.line, added)


def outcomes_of(rows: Sequence[RowResult | BadRow]) -> dict[str, int]:
    """A window's counts, shown while the run goes on."""
    counts = dict.fromkeys(("flagged", "rewritten", "unscored", "quarantined"), 0)
    for row in rows:
        if isinstance(row, BadRow):
            counts["quarantined"] += 1
            continue
        for _, _, revision in captions_of(row.revised):
            for sentence in revision["sentences"]:
                counts["flagged"] += is_flagged(sentence, revision["threshold"])
                counts["rewritten"] += bool(sentence["accepted"])
                counts["unscored"] += sentence["label"] == "unscored"
    return counts


def sentences_of(rows: Sequence[RowResult | BadRow]) -> int:
    """How many sentences a window had, for the rate shown."""
    total = 0
    for row in rows:
        if isinstance(row, RowResult):
            revision = row.revised["revision"]
            parts = [revision] if "signature" in revision else revision.values()
            total += sum(len(part["sentences"]) for part in parts)
    return total
