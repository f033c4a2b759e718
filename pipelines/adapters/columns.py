"""What a batch gains, as other libraries' pipelines keep it: columns of texts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from revise_captions.io.rows import BadRow, dumps
from revise_captions.pipelines.api import BatchReviser

#: What a row gains: the corrected caption, what was found (as a run's row has it), and why there is
#: neither. All are texts, empty ones where there is nothing to say: libraries take a column's type
#: from the first batch, and fail at the first text after a batch of nulls.
REVISED, REVISION, PROBLEM = COLUMNS = ("revised_caption", "revision", "revision_problem")


def revised(revise: BatchReviser, rows: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """`COLUMNS` of each row, in order. Several captions of a row, and `revision`, are JSON.

    What an earlier pass left in the rows is not looked at.
    """
    given = [{name: row[name] for name in row if name not in COLUMNS} for row in rows]
    found: list[dict[str, str]] = []
    for result in revise(given):
        if isinstance(result, BadRow):
            problem = f"{result.reason}: {result.detail}"
            found.append({REVISED: "", REVISION: "", PROBLEM: problem})
            continue
        row = result.to_row()
        text = row[REVISED] if isinstance(row[REVISED], str) else dumps(row[REVISED])
        found.append({REVISED: text, REVISION: dumps(row[REVISION]), PROBLEM: ""})
    return found


def rows_of(batch: Mapping[str, Iterable[Any]]) -> list[dict[str, Any]]:
    """A batch of columns as rows."""
    return [dict(zip(batch, values, strict=True)) for values in zip(*batch.values(), strict=True)]
