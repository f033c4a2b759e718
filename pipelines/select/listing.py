"""What `captions columns` prints."""

from __future__ import annotations

import textwrap
from array import array
from collections import Counter
from collections.abc import Iterator
from contextlib import closing

import numpy as np

from revise_captions.io.rows import BadRow
from revise_captions.outside_text import on_one_line
from revise_captions.pipelines.select.columns import COLUMNS, OTHER, REASONS, RecordColumn
from revise_captions.pipelines.select.options import ColumnsOptions
from revise_captions.pipelines.select.run import expect_run, open_run, records_of

QUANTILES = (0, 0.05, 0.25, 0.5, 0.75, 0.95, 1)
#: Texts of which the most frequent are shown; captions and fields are not.
_NAMED = ("captioner", "expert")
_SHOWN = 5
_MOST = 10_000
"""Different texts that are counted."""


def listing(options: ColumnsOptions) -> Iterator[str]:
    """A line for each column. Raises `UserError` where OUT is no run's."""
    numbers = {column.name: array("d") for column in COLUMNS if column.kind != "VARCHAR"}
    texts: dict[str, Counter[str]] = {name: Counter() for name in _NAMED}
    records = bad = 0
    with closing(open_run(options.out, options.caption_field)) as source:
        expect_run(source)
        for record in records_of(source, options.captioner_field, options.scores):
            if isinstance(record, BadRow):
                bad += 1
                continue
            records += 1
            for column in COLUMNS:
                value = record[column.name]
                if column.name in texts:
                    if value is not None and (len(texts[column.name]) < _MOST):
                        texts[column.name][value] += 1
                elif column.kind in ("BIGINT", "DOUBLE", "BOOLEAN") and value is not None:
                    numbers[column.name].append(value)
    yield f"{records:,} records" + (f", {bad:,} that cannot be read" if bad else "")
    yield f"{'':27}{'':8}" + "".join(f"{_quantile(q):>9}" for q in QUANTILES)
    never = [name for name in (*REASONS.values(), OTHER) if not any(numbers[name])]
    for column in COLUMNS:
        if column.name in never:
            continue
        values = numbers.get(column.name, array("d"))
        shown = _texts(texts[column.name]) if column.name in texts else _values(column, values)
        yield f"{column.name:27}{column.kind.lower():8}{shown}"
        yield f"{'':27}{column.about}"
    if never:
        yield "unscored for none of these reasons, 0 in every record:"
        yield textwrap.fill(", ".join(never), 96, initial_indent="  ", subsequent_indent="  ")


def _quantile(share: float) -> str:
    return {0: "least", 0.5: "median", 1: "most"}.get(share, f"{share:.0%}")


def _values(column: RecordColumn, values: array[float]) -> str:
    if column.kind == "BOOLEAN":
        return f"true of {int(sum(values)):,}"
    if column.kind not in ("BIGINT", "DOUBLE") or not values:
        return ""
    found = np.quantile(np.asarray(values), QUANTILES, method="inverted_cdf")
    form = "{:>9.3f}" if column.kind == "DOUBLE" else "{:>9.0f}"
    return "".join(form.format(value) for value in found)


def _texts(counts: Counter[str]) -> str:
    most = [f"{on_one_line(text)} {count:,}" for text, count in counts.most_common(_SHOWN)]
    more = len(counts) - len(most)
    return ", ".join([*most, *([f"{more:,} more"] if more else [])])
