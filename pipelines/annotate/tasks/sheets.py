"""Spreadsheets that raters fill in: safe to open, and safe to read back.

A cell that begins like a formula is text with a `'` before it, so that no caption can make a
spreadsheet compute or call anything (CWE-1236). White space before the sign does not hide it.
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
    """A cell as it was before `guarded`."""
    inner = text[1:]
    return inner if text.startswith("'") and inner and guarded(inner) == text else text


def sheet(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """CSV with a head line and a byte-order mark, without which Excel reads UTF-8 wrongly."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(columns), extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: guarded(str(row.get(name, ""))) for name in columns})
    return text.getvalue().encode("utf-8-sig", "backslashreplace")
