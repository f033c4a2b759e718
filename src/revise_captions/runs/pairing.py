"""Pairs input rows with their results, for the writers."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.rows import BadRow, Row, Unparsed, dumps
from revise_captions.io.signature_file import Shortener
from revise_captions.io.source import Source
from revise_captions.runs.journal import RowResult


@dataclass(frozen=True, slots=True)
class LeftOut:
    """The result of a row that is neither written nor quarantined."""

    line: int


@dataclass(slots=True)
class Pairing:
    """Pairs rows with results in step; bad rows go to the quarantine. `each` sees every pair.

    `shorten` replaces signatures with digests in what is written, and `shape` decides which part
    of a result goes where.
    """

    source: Source
    results: Iterable[RowResult | BadRow | LeftOut]
    quarantine: Callable[[BadRow], None]
    each: Callable[[Row | BadRow, RowResult | BadRow], None] | None = None
    shorten: Shortener | None = None
    shape: Callable[[RowResult], RowResult] | None = None
    written: int = 0
    quarantined: int = 0
    _rest: Iterator[RowResult | BadRow | LeftOut] = field(init=False)

    def __post_init__(self) -> None:
        self._rest = iter(self.results)

    def __iter__(self) -> Iterator[tuple[Row, RowResult]]:
        for row in self.source.rows(parsed=self.each is not None):
            result = self.result_for(row)
            if result is not None and isinstance(row, Row):
                yield row, result

    def result_for(self, row: Row | BadRow) -> RowResult | None:
        """The next result, which must be this row's; None for a row that is not written."""
        result = next(self._rest, None)
        if result is None or result.line != row.line:
            raise self._changed()
        if isinstance(result, LeftOut):
            return None
        if isinstance(result, RowResult) and isinstance(row, BadRow):
            raise self._changed()
        if self.each is not None:
            self.each(row, result)
        if isinstance(result, RowResult):
            self.written += 1
            result = result if self.shorten is None else _shortened(result, self.shorten)
            return result if self.shape is None else self.shape(result)
        if isinstance(row, Row):
            error = BadRecord(result.reason, result.detail)
            row = BadRow.of(row, self.source.name, error)
        self.quarantined += 1
        self.quarantine(row)
        return None

    def finish(self) -> None:
        if next(self._rest, None) is not None:
            raise self._changed()

    def _changed(self) -> UserError:
        at = self.written + self.quarantined
        hint = "restore the old input and use --resume, or start over with --force"
        return UserError(f"{self.source.name} changed during the run, at row {at + 1}", hint=hint)


def _shortened(result: RowResult, shorten: Shortener) -> RowResult:
    revised = result.revised
    text = revised.text if isinstance(revised, Unparsed) else dumps(revised)
    return RowResult(result.line, Unparsed(shorten(text), tuple(revised)))
