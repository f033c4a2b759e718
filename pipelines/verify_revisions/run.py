"""`captions verify`: adds verifications to a revised file.

The rows' revisions stay as they are and gain `verification`. Windows, journal, writers, table and
report are the main job's, so the command streams, keeps the order, and continues after a crash with
`--resume`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any

from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.in_place import ORIGINAL, named_fields
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Source
from revise_captions.layouts.style import style_of
from revise_captions.pipelines.job.models import FIRST_ROWS, load_critic_of
from revise_captions.pipelines.job.rounds import LoadedModels
from revise_captions.pipelines.job.run import check_outputs, finish
from revise_captions.pipelines.job.window import (
    Result,
    WindowKeeper,
    outcomes_of,
    sentences_of,
    stored_signature,
    verified,
)
from revise_captions.pipelines.options import JobOptions
from revise_captions.pipelines.output.outcomes import captions_of
from revise_captions.pipelines.output.schema import from_json
from revise_captions.pipelines.verify.load import check_references, load_verifier
from revise_captions.pipelines.verify.names import checks_of
from revise_captions.records import Record
from revise_captions.runs.begin import is_complete, open_journal, refuse_unfinished
from revise_captions.runs.inputs import image_loader, input_settings, open_input
from revise_captions.runs.journal import Journal, RowResult
from revise_captions.runs.options import InputOptions
from revise_captions.runs.progress import Progress
from revise_captions.runs.window_images import LoadedRecord
from revise_captions.runs.windows import unfinished_windows
from revise_captions.signature import settings_of

if TYPE_CHECKING:
    from revise_captions.pipelines.verify.verifier import Verifier


def verify_file(job: JobOptions) -> dict[str, Any]:
    """Verifies a whole file and prints its table.

    Returns:
        The summary that the report prints, too; {} where `--resume` finds nothing left to do.

    Raises:
        UserError: Something that the user can mend.
        EngineDead: A model stopped answering.
    """
    job.check()
    checks = checks_of(job.verify.verify)
    if not checks:
        raise UserError(
            "no check to make", hint="choose checks with --verify, such as --verify text"
        )
    refuse_unfinished(job.run)
    with_critic = "critic" in checks
    with closing(open_input(job.inputs, job.run.out, need_image=with_critic)) as source:
        if is_complete(source, job.run, stored_verification):
            return {}
        style = style_of(source)
        job = replace(job, run=replace(job.run, write=style.write, evidence=style.evidence))
        check_outputs(source, job)
        check_references(source, job.verify.reference_field)
        signature = _signature_in(source)
        critic = load_critic_of(job.models) if with_critic else None
        verifier = load_verifier(job.verify, job.models.placement, critic)
        assert verifier is not None
        models = LoadedModels(None, None, signature, verifier)
        decisive = {
            "verification": verifier.signature,
            "reference-field": job.verify.reference_field,
            "batch-size": job.models.batch_size,
            **input_settings(job.inputs),
        }
        with open_journal(job.run, decisive) as journal:
            with Progress(source.count()) as progress:
                _journal_windows(source, job.inputs, verifier, journal, progress)
            return finish(source, job, models, decisive, journal, progress)


def stored_verification(row: Mapping[str, object]) -> str:
    """What an earlier run signed a row's verification with; "" where there was none."""
    stored = row.get("revision")
    parts = [stored, *stored.values()] if isinstance(stored, Mapping) else []
    verifications = (part.get("verification") for part in parts if isinstance(part, Mapping))
    return next(filter(None, (stored_signature({"revision": v}) for v in verifications)), "")


def _signature_in(source: Source) -> str:
    """The revisions' signature, from the first rows."""
    rows = (row.data for row in source.rows() if isinstance(row, Row))
    found = next(filter(None, map(stored_signature, islice(rows, FIRST_ROWS))), "")
    if "critic" not in settings_of(found):
        raise UserError(
            f"{source.name}: there is no `revision` in the first {FIRST_ROWS} rows",
            hint="expected the output of revise-captions",
        )
    return found


def _journal_windows(
    source: Source,
    inputs: InputOptions,
    verifier: Verifier,
    journal: Journal,
    progress: Progress,
) -> None:
    """Journals every window that is not done yet."""
    load = image_loader(source, inputs) if verifier.critic is not None else None

    def keep(number: int, digest: str, rows: Sequence[RowResult | BadRow]) -> None:
        journal.append(number, digest, rows)
        progress.advance(len(rows), sentences_of(rows), outcomes_of(rows))

    with WindowKeeper(journal, progress) as keeper:
        for number, digest, loaded in unfinished_windows(
            source, inputs.image_root, journal, load, progress
        ):
            with keeper.computing(number, digest):
                rows = verified_rows(loaded, verifier)
            keeper.keep(partial(keep, number, digest, rows))


def verified_rows(
    loaded: list[LoadedRecord | BadRow], verifier: Verifier
) -> list[RowResult | BadRow]:
    """A window's rows with what the verifier found; a row without a revision goes to quarantine."""
    results: list[Result | BadRow] = []
    for row in loaded:
        try:
            results.append(row if isinstance(row, BadRow) else _stored(row[0]))
        except BadRecord as error:
            assert not isinstance(row, BadRow)
            results.append(BadRow.of(row[0], row[0].source, error))
    pictures = [None if isinstance(row, BadRow) else row[1] for row in loaded]
    return [
        item if isinstance(item, BadRow) else _with_verification(item)
        for item in verified(results, pictures, verifier)
    ]


def _stored(record: Record) -> Result:
    """The revisions in a row. Raises `BadRecord(BAD_REVISION)` if they do not fit its captions."""
    row = {key: record.fields.get(key) for key in ("revised_caption", "revision")}
    if not isinstance(row["revision"], Mapping):
        raise BadRecord(Reason.BAD_REVISION, "no `revision`: run revise-captions first")
    try:
        parts = captions_of(row)
        names = {field: field for field, _, _ in parts} or {}
        if "" in names:
            names = {"": next(iter(record.captions))}
        return Result(
            record,
            {
                names[field]: from_json(
                    record.captions[names[field]],
                    {"revised_caption": revised, "revision": part},
                    whole=True,
                )
                for field, revised, part in parts
            },
        )
    except (KeyError, TypeError, AttributeError) as error:
        detail = f"`revision` is not of this row's captions: {error!r}"
        raise BadRecord(Reason.BAD_REVISION, detail) from error


def _with_verification(result: Result) -> RowResult:
    """The row's own revision with its verification."""
    fields = result.record.fields
    keys = ("revised_caption", "revision", *([ORIGINAL] if named_fields(fields) else []))
    row = {key: fields[key] for key in keys}
    single = isinstance(row["revision"].get("sentences"), list)
    if single:
        found = next(iter(result.verifications.values()))
        row["revision"] = {**row["revision"], "verification": found}
    else:
        row["revision"] = {
            name: {**part, "verification": result.verifications[name]}
            for name, part in row["revision"].items()
        }
    return RowResult(result.record.line, row)
