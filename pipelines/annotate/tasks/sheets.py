"""CSV sheets that raters fill in: safe to open in a spreadsheet, and safe to read back.

A cell that begins like a formula gets a leading `'`, so that no caption can make a spreadsheet
compute or call anything (CWE-1236), even after white space.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence

from revise_captions.outside_text import csv_cell


def unguarded(text: str) -> str:
    """The text before `csv_cell`."""
    inner = text[1:]
    return inner if text.startswith("'") and inner and csv_cell(inner) == text else text


def sheet(columns: Sequence[str], rows: Iterable[Mapping[str, object]]) -> bytes:
    """CSV with a header and a byte-order mark, which Excel needs to read UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, list(columns), extrasaction="ignore")
    writer.writeheader()
    for row in rows:
        writer.writerow({name: csv_cell(str(row.get(name, ""))) for name in columns})
    return text.getvalue().encode("utf-8-sig", "backslashreplace")
