"""Computes a table: from the user's data, or from the sample that is shipped."""

from __future__ import annotations

from pathlib import Path

from revise_captions.errors import UserError
from revise_captions.io.writing import check_writable, write_json
from revise_captions.pipelines.reproduce.catalog import table as table_of
from revise_captions.pipelines.reproduce.display import as_text, signature_of
from revise_captions.pipelines.reproduce.options import ReproduceOptions
from revise_captions.pipelines.reproduce.table import RELEASED, Asked, PaperTable

SAMPLES = Path(__file__).parent / "samples"


def reproduce(options: ReproduceOptions) -> str:
    """Computes a table and returns what is printed of it; writes it to `options.out`, if given.

    Raises:
        UserError: There is no such table, it is not asked for rightly, or data cannot be read.
    """
    table = table_of(options.table or "")
    asked = _asked(table, options)
    if options.out is not None:
        reads: list[Path | str] = [asked.data, *asked.files, *asked.models.values()]
        check_writable(options.out, reads, force=None, ours=lambda head: b'{"table": ' in head)
    found = table.run(asked)
    if options.out is not None:
        whole = {
            "table": table.id,
            "protocol": asked.protocol,
            "sample": options.data is None,
            "columns": (*table.columns, *found.further),
            "computed": found.rows,
            "published": {
                who: (*row, *[None] * len(found.further)) for who, row in table.published.items()
            },
            "notes": found.notes,
            "not comparable": table.why_not_comparable(asked, found),
            "signature": signature_of(table, asked, found),
        }
        write_json(options.out, whole)
    return as_text(table, asked, found, sample=options.data is None)


def _asked(table: PaperTable, options: ReproduceOptions) -> Asked:
    protocol = options.protocol or table.protocols[0]
    if protocol not in table.protocols:
        raise UserError(
            f"{table.id} has no protocol {protocol!r}", hint=f"it has: {', '.join(table.protocols)}"
        )
    if options.prompts is not None and protocol != RELEASED:
        raise UserError(
            f"--prompts is for the protocol {RELEASED}, but this is {protocol!r}",
            hint=f"add --protocol {RELEASED}, or leave --prompts out",
        )
    if options.files and not table.files:
        raise UserError(f"{table.id} takes no FILE: {options.files[0]}")
    data, files = options.data, options.files
    if data is None:
        data = SAMPLES / table.sample
        files = files or tuple(_in(data, name) for name in table.sample_files)
    models = table.models_of(options.models)
    return Asked(data, models, files, protocol, options.prompts, options.placement, options.limit)


def _in(folder: Path, given: str) -> str:
    name, equals, path = given.partition("=")
    return f"{name}={folder / path}" if equals else given  # a metric by name is no file
