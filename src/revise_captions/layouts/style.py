"""Where the parts of a result go in an output: captions added or in place, evidence in the row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count, islice
from typing import Any, Literal

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.evidence_file import evidence_path
from revise_captions.io.in_place import (
    ORIGINAL,
    by_field,
    in_place_fields,
    named_fields,
    refuse_taken,
)
from revise_captions.io.readers import FIRST_ROWS
from revise_captions.io.rows import Row
from revise_captions.io.source import Source
from revise_captions.runs.journal import RowResult
from revise_captions.runs.outputs import Shape, TakesEvidence

Write = Literal["both", "caption"]
Evidence = Literal["row", "sidecar", "none"]


@dataclass(frozen=True, slots=True)
class OutputStyle:
    """How an output presents a run's findings.

    Attributes:
        write: `both` keeps the caption and adds the corrected one; `caption` replaces it with the
            corrected one and adds the original.
        evidence: Where `revision` goes: into the row, a file beside OUT, or nowhere.
        adds: Whether rows gain anything; otherwise they are copied unchanged.
    """

    write: Write = "both"
    evidence: Evidence = "row"
    adds: bool = True

    @property
    def names(self) -> tuple[str, ...]:
        """The fields that a row gains, in order."""
        if not self.adds:
            return ()
        text = "revised_caption" if self.write == "both" else ORIGINAL
        return (text, "revision") if self.evidence == "row" else (text,)

    @property
    def replaced(self) -> tuple[str, ...]:
        """The fields of an earlier run that do not stay. An original that nothing replaces does,
        as it may be the user's."""
        if not self.adds:
            return ()
        return ("revised_caption", "revision", *([ORIGINAL] if self.write == "caption" else []))

    @property
    def dropped(self) -> tuple[str, ...]:
        """The fields of an earlier run that are removed without replacement."""
        return tuple(name for name in self.replaced if name not in self.names)


BOTH = OutputStyle()
AS_IS = OutputStyle(adds=False)


def shape_of(style: OutputStyle) -> Shape:
    """`assemble`'s `shape`: turns a result into what a row gains, and passes on its evidence."""

    def shape(sidecar: TakesEvidence) -> Callable[[RowResult], RowResult]:
        numbers = count(1)

        def shaped(result: RowResult) -> RowResult:
            if style == BOTH and ORIGINAL not in set(result.revised):
                return result
            revised = dict(result.revised)
            if style.evidence == "sidecar":
                kept = {name: revised[name] for name in (*style.names, "revision")}
                sidecar({"row": next(numbers), **kept})
            added = {name: revised[name] for name in style.names}
            return RowResult(result.line, added, _texts_in_place(style, revised))

        return shaped

    return shape


def _texts_in_place(style: OutputStyle, revised: dict[str, Any]) -> dict[str, str]:
    """The texts for the captions' own places: corrected ones, or originals that had been moved
    from there."""
    if ORIGINAL not in revised:
        return {}
    text = "revised_caption" if style.write == "caption" else ORIGINAL
    return by_field(revised[text], named_fields(revised))


def style_of(source: Source) -> OutputStyle:
    """How a run wrote a file, determined from its first readable row."""
    stored = source.read if source.read_stored is None else source.read_stored
    row = next((row.data for row in stored() if isinstance(row, Row)), {})
    beside = evidence_path(source.path).is_file()
    evidence: Evidence = "sidecar" if beside else "row" if "revision" in row else "none"
    in_place = in_place_fields(row) or (ORIGINAL in row and "revised_caption" not in row)
    return OutputStyle("caption" if in_place else "both", evidence)


def check_style(style: OutputStyle, source: Source, out: str) -> None:
    """Raises `UserError` if the input, or OUT's name, does not fit the style."""
    if style.evidence == "sidecar" and out == "-":
        raise UserError("--evidence sidecar needs a named output", hint="name OUT")
    if style.write == "both":
        return
    rows = (row.data for row in source.rows() if isinstance(row, Row))
    try:
        for row in islice(rows, FIRST_ROWS):
            refuse_taken(row)
    except BadRecord as error:
        hint = f"rename the field {ORIGINAL}, or leave --write caption out"
        raise UserError(f"{source.name}: {error.detail}", hint=hint) from None
