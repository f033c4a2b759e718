"""CSV sheets that raters fill in: safe to open in a spreadsheet, and safe to read back.

A cell that begins like a formula gets a leading `'`, so that no caption can make a spreadsheet
compute or call anything (CWE-1236), even after white space.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

#: Also in full width: spreadsheets take these for the same signs.
_SIGNS = tuple("=+-@＝＋－＠|%")


def guarded(text: str) -> str:
    """The text as a cell that no spreadsheet takes for a formula."""
    risky = text.lstrip().startswith(_SIGNS) or text.startswith(("\t", "\r", "\n"))
    return f"'{text}" if risky else text


def unguarded(text: str) -> str:
    """The text before `guarded`."""
    inner = text[1:]
    return inner if text.startswith("'") and inner and guarded(inner) == text else text


def sheet(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """CSV with a header and a byte-order mark, which Excel needs to read UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(columns), extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: guarded(str(row.get(name, ""))) for name in columns})
    return text.getvalue().encode("utf-8-sig", "backslashreplace")
