"""`OUT.evidence.jsonl`: what a run found, kept beside an output whose rows do not hold it.

    {"row": 1, "caption_original": "as it came", "revision": {…}}
    {"row": 2, "caption_original": "as it came", "revision": {…}}

One line per row of OUT, in order. The text that OUT's row also holds (`caption_original`, or
`revised_caption`) confirms that they match. Reading OUT through `io.readers` gives the rows with
their revisions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from revise_captions.errors import UserError
from revise_captions.io.checked_json import json_lines
from revise_captions.io.rows import BadRow, Row, dumps

_HEAD = b'{"row": '
_CHECKED = ("caption_original", "revised_caption")


def evidence_path(out: str | Path) -> Path:
    """`revised.jsonl.evidence.jsonl` for `revised.jsonl`."""
    path = Path(out)
    return path.with_name(f"{path.name}.evidence.jsonl")


def is_evidence(head: bytes) -> bool:
    """Whether a file begins like an evidence file."""
    return head.startswith(_HEAD)


def with_evidence(rows: Iterator[Row | BadRow], path: Path) -> Iterator[Row | BadRow]:
    """The rows of an output with the revisions stored beside it.

    Raises:
        UserError: The evidence belongs to other rows.
    """
    entries = _entries(path)
    number = 0
    for row in rows:
        if isinstance(row, BadRow):
            yield row
            continue
        number += 1
        entry = next(entries, None)
        texts = {name: entry[name] for name in _CHECKED if entry and name in entry}
        if entry is None or not all(_same(row.data.get(k), text) for k, text in texts.items()):
            raise _changed(path, number)
        yield Row(row.line, {**row.data, **texts, "revision": entry["revision"]}, row.raw)
    if next(entries, None) is not None:
        raise _changed(path, number + 1)


def _same(stored: object, text: object) -> bool:
    """Whether a row's text equals its evidence's, as far as each format can store it."""
    if isinstance(text, str) and not text.isascii():
        return stored == text or _SURROGATE.search(text) is not None
    return stored in (text, dumps(text))


#: Characters that UTF-8 cannot encode; a table or file holds a replacement character instead.
_SURROGATE = re.compile("[\ud800-\udfff]")


def _entries(path: Path) -> Iterator[Mapping[str, Any]]:
    hint = "restore the file that was written with the output, or move it away"
    for number, entry in json_lines(path, "evidence of a run", hint):
        if entry.get("row") != number or not isinstance(entry.get("revision"), dict):
            raise UserError(f"{path}, line {number}: not evidence of a run", hint=hint)
        yield entry


def _changed(path: Path, number: int) -> UserError:
    return UserError(
        f"row {number} is not the one that {path} has evidence for: the file has changed since",
        hint="restore it, or move the evidence away to read the file without it",
    )
