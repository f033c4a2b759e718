"""The outputs of `--shard 0/n` … `(n-1)/n` as the one output of an undivided run, byte for byte.

The input defines what must be there: each of its rows must be at its place in the output or the
quarantine of the shard responsible for it. A row that is missing, duplicated, out of place, or from
another input ends the merge before anything appears under the output's name.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.errors import Reason, UserError
from revise_captions.io.checked_json import json_lines
from revise_captions.io.in_place import ORIGINAL, named_fields
from revise_captions.io.readers import open_rows
from revise_captions.io.rows import BadRow, Row, dumps
from revise_captions.io.source import Source
from revise_captions.layouts.style import style_of
from revise_captions.pipelines.output.writers import check_output, old_quarantine_path, write
from revise_captions.runs.journal import RowResult
from revise_captions.runs.outputs import OutputCounts
from revise_captions.runs.paths import quarantine_path

ADDED = ("revised_caption", "revision")
_OURS = (*ADDED, ORIGINAL)
HINT = "give IN, then the complete outputs of the shards 0/N to (N-1)/N, in that order"


@dataclass(frozen=True, slots=True)
class Shard:
    """One shard's output and quarantine, each read once, in order."""

    name: str
    rows: Iterator[Row | BadRow]
    refused: Iterator[Mapping[str, Any]]


def merge(
    source_name: str, shards: Sequence[str], out: str, *, force: bool = False
) -> OutputCounts:
    """Writes OUT and its quarantine from a run's shards. Raises `UserError` for gaps and overlaps.

    Memory does not grow with the files.
    """
    with ExitStack() as stack:
        source = stack.enter_context(closing(open_rows(source_name)))
        opened = [stack.enter_context(closing(open_rows(name))) for name in shards]
        for shard in opened:
            if Path(out).exists() and shard.path.samefile(out):
                raise UserError(f"the output {out} is one of the shards")
        read = [path for name in shards for path in (name, _quarantine_of(name))]
        style = style_of(opened[0])
        check_output(source, out, force=force, reads=read, style=style)
        parts = [
            Shard(name, shard.read(), _quarantined(name))
            for name, shard in zip(shards, opened, strict=True)
        ]
        return write(source, results(source, parts), out, style=style)


def results(source: Source, shards: Sequence[Shard]) -> Iterator[RowResult | BadRow]:
    """The result or quarantine entry of each input row, in the input's order."""
    waiting = [next(shard.refused, None) for shard in shards]
    for number, row in enumerate(source.rows()):
        index = number // source.window % len(shards)
        shard, refused = shards[index], waiting[index]
        if refused is not None and refused["line"] == row.line:
            yield BadRow(source.name, row.line, Reason(refused["reason"]), str(refused["detail"]))
            waiting[index] = next(shard.refused, None)
        else:
            yield _result(row, shard)
    for shard, refused in zip(shards, waiting, strict=True):
        if refused is not None or next(shard.rows, None) is not None:
            raise UserError(f"{shard.name} has more rows than its share of the input", hint=HINT)


def _result(row: Row | BadRow, shard: Shard) -> RowResult:
    """The next row of a shard's output: this input row plus two fields. Raises for any other."""
    found = next(shard.rows, None)
    if found is None:
        raise UserError(f"{shard.name} ends before the input's row {row.line}", hint=HINT)
    if isinstance(found, BadRow):
        raise UserError(f"{shard.name}, row {found.line}: {found.detail}", hint=HINT)
    if isinstance(row, BadRow) or not _same(found, row):
        raise UserError(
            f"{shard.name}, row {found.line} is not the input's row {row.line}", hint=HINT
        )
    if missing := [name for name in ADDED if name not in found.data]:
        raise UserError(f"{shard.name}, row {found.line} has no {' and no '.join(missing)}")
    names = _OURS if named_fields(found.data) else ADDED
    return RowResult(row.line, {name: found.data[name] for name in names})


def _same(found: Row, row: Row) -> bool:
    mine, theirs = _own(found), _own(row)
    return mine == theirs or dumps(mine) == dumps(theirs)  # NaN does not equal itself


def _own(row: Row) -> object:
    """The row's own fields, as they would come back from JSON."""
    ours = _OURS if named_fields(row.data) else ADDED
    fields = {name: value for name, value in row.data.items() if name not in ours}
    return fields if row.raw is not None else json.loads(dumps(fields))


def _quarantine_of(shard: str) -> Path:
    """The shard's quarantine, or one that an earlier version wrote and no other output claims."""
    path, old = quarantine_path(shard), old_quarantine_path(shard)
    owner = old.with_name(old.name.removesuffix(".quarantine.jsonl") + ".jsonl")
    return old if old.exists() and not path.exists() and not owner.exists() else path


def _quarantined(name: str) -> Iterator[Mapping[str, Any]]:
    path = _quarantine_of(name)
    if not path.exists():
        return
    for number, entry in json_lines(path, "a quarantined row"):
        try:
            Reason(entry["reason"]), int(entry["line"]), entry["detail"]
        except (ValueError, KeyError, TypeError) as error:
            raise UserError(f"{path}, line {number}: not a quarantined row: {error!r}") from None
        yield entry
