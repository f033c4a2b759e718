"""`captions select`: the records of a run of which a condition holds, in the run's own layout.

Two passes: the first decides about every record, the second copies rows. A decision takes a byte,
so memory grows by little more than the chosen records' numbers where they are sampled.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from revise_captions.errors import BadRecord, UserError
from revise_captions.io.evidence_file import evidence_path, is_evidence
from revise_captions.io.fields import Fields, captions_of
from revise_captions.io.in_place import FIELD, ORIGINAL, joined, named_fields
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.signature_file import (
    as_text,
    is_signatures,
    read_signatures,
    signatures_path,
)
from revise_captions.io.source import Source
from revise_captions.io.writing import head_of, replacing, write_text
from revise_captions.layouts.style import AS_IS, OutputStyle, style_of
from revise_captions.pipelines.output import outcomes
from revise_captions.pipelines.output.writers import check_output, write, write_as_is
from revise_captions.pipelines.select.columns import values_of
from revise_captions.pipelines.select.options import SelectOptions
from revise_captions.pipelines.select.scores import JoinedScores
from revise_captions.pipelines.select.where import Condition
from revise_captions.runs.journal import RowResult
from revise_captions.runs.outputs import OutputCounts
from revise_captions.runs.pairing import LeftOut

BATCH = 5000
KEPT, REST, BAD = 1, 0, 2


def select(options: SelectOptions) -> tuple[OutputCounts, OutputCounts | None]:
    """Writes KEPT, and the other records to REST.

    Raises:
        UserError: The condition is none, or OUT is no run's output.
    """
    condition = None if options.where.strip() == "true" else Condition(options.where)
    with closing(open_run(options.out, options.caption_field)) as source:
        style = _style(source, options)
        reads = [evidence_path(source.path), signatures_path(source.path)]
        for out in filter(None, (options.kept, options.rest)):
            check_output(source, out, force=options.force, reads=reads, style=style)
        expect_run(source)
        decided = _decided(source, condition, options)
        kept = _write(source, decided, KEPT, options.kept, style)
        rest = _write(source, decided, REST, options.rest, style) if options.rest else None
        return kept, rest


def _style(source: Source, options: SelectOptions) -> OutputStyle:
    """How KEPT says what was found; `AS_IS` where that is how OUT does."""
    now = style_of(source)
    asked = OutputStyle(options.write or now.write, options.evidence or now.evidence)
    return AS_IS if asked == now else asked


def open_run(out: str, caption_field: str | None = None) -> Source:
    """A run's output, with its captions' fields."""
    fields = Fields(None, tuple(filter(None, (caption_field or "").split(","))))
    return open_source(out, fields=fields, need_image=False)


def expect_run(source: Source) -> None:
    """Raises `UserError` where the first row has no revision."""
    first = next((row for row in source.rows() if isinstance(row, Row)), None)
    if first is not None and "revision" not in first.data:
        hint = "expected the output of revise-captions; with --evidence sidecar, both files"
        raise UserError(f"{source.name}, line {first.line}: there is no `revision`", hint=hint)


def records_of(
    source: Source, captioner_field: str | None, scores: Path | None = None
) -> Iterator[dict[str, Any] | BadRow]:
    """The columns of every record, in order."""
    scored = None if scores is None else JoinedScores(scores)
    for number, row in enumerate(source.rows(), 1):
        if isinstance(row, BadRow):
            yield row
            continue
        numbers = None if scored is None else scored.of(row.line)
        try:
            yield values_of(row, number, source.fields, captioner_field, numbers)
        except BadRecord as error:
            yield BadRow.of(row, source.name, error)
        except (LookupError, TypeError, ValueError, AttributeError) as error:
            found = f"{source.name}, line {row.line}: `revision` is no run's: {error!r}"
            raise UserError(found, hint="pass the file as the run wrote it") from None


def _decided(source: Source, condition: Condition | None, options: SelectOptions) -> bytearray:
    """What becomes of each record: KEPT, REST or BAD."""
    decided = bytearray()
    strata: dict[object, list[int]] = {}
    records = records_of(source, options.captioner_field, options.scores)
    while batch := list(islice(records, BATCH)):
        good = [record for record in batch if not isinstance(record, BadRow)]
        holds = iter([True] * len(good) if condition is None else condition.holds(good))
        for record in batch:
            found = BAD if isinstance(record, BadRow) else int(next(holds))
            if found == KEPT and options.sample is not None and not isinstance(record, BadRow):
                stratum = record[options.stratify] if options.stratify else None
                strata.setdefault(stratum, []).append(len(decided))
                found = REST
            decided.append(found)
    if options.sample is not None:
        for index in drawn(list(strata.values()), options.sample, options.seed):
            decided[index] = KEPT
    return decided


def drawn(strata: Sequence[Sequence[int]], size: int, seed: int) -> Iterator[int]:
    """A sample of `size`, or of all there are, from each stratum in proportion, by the method of
    largest remainders."""
    total = sum(map(len, strata))
    size = min(size, total)
    exact = [size * len(stratum) / total for stratum in strata] if total else []
    counts = [int(share) for share in exact]
    order = sorted(range(len(exact)), key=lambda at: counts[at] - exact[at])
    for at in order[: size - sum(counts)]:
        counts[at] += 1
    rng = random.Random(seed)
    for stratum, count in zip(strata, counts, strict=True):
        yield from rng.sample(stratum, count)


def _write(
    source: Source, decided: bytearray, wanted: int, out: str, style: OutputStyle
) -> OutputCounts:
    if style != AS_IS:
        return write(source, _results(source, decided, wanted, style), out, style=style)
    _copy_beside(source, decided, wanted, out)
    return write_as_is(source, _results(source, decided, wanted, style), out)


def _results(
    source: Source, decided: bytearray, wanted: int, style: OutputStyle
) -> Iterator[RowResult | BadRow | LeftOut]:
    """Bad rows go to the quarantine of KEPT alone."""
    for row, found in zip(source.rows(), decided, strict=True):
        if found == wanted and isinstance(row, Row):
            yield RowResult(row.line, {} if style == AS_IS else found_again(row, source, style))
        elif found == BAD and wanted == KEPT and isinstance(row, BadRow):
            yield row
        elif found == BAD and wanted == KEPT and isinstance(row, Row):
            try:
                values_of(row, 0, source.fields)
            except BadRecord as error:
                yield BadRow.of(row, source.name, error)
        else:
            yield LeftOut(row.line)


def found_again(row: Row, source: Source, style: OutputStyle) -> dict[str, Any]:
    """What a run found, as it stands in a row, for a writer of another style."""
    found = {name: row.data[name] for name in ("revised_caption", "revision")}
    if style.write == "both" and not named_fields(row.data):
        return found
    captions = captions_of(row, source.fields)
    parts = {name or next(iter(captions)): part for name, _, part in outcomes.captions_of(row.data)}
    named = {name: {**part, FIELD: name} for name, part in parts.items()}
    originals = {name: captions[name] for name in parts}
    return {**found, "revision": joined(named), ORIGINAL: joined(originals)}


_ROW = re.compile(rb'\{"row": [0-9]+')


def _copy_beside(source: Source, decided: bytearray, wanted: int, out: str) -> None:
    """What stands beside the run's rows, for the chosen ones."""
    lines = read_signatures(source.path)
    path = signatures_path(out)
    if lines:
        write_text(path, as_text(lines))
    elif path.is_file() and is_signatures(head_of(path)):
        path.unlink()
    place, evidence = evidence_path(out), evidence_path(source.path)
    if not evidence.is_file():
        if place.is_file() and is_evidence(head_of(place)):
            place.unlink()
        return
    readable = (
        found for row, found in zip(_stored(source), decided, strict=True) if isinstance(row, Row)
    )
    with evidence.open("rb") as entries, replacing(Path(place)) as file:
        number = 0
        for entry, found in zip(entries, readable, strict=True):
            if found == wanted:
                number += 1
                file.write(_ROW.sub(b'{"row": %d' % number, entry, count=1))


def _stored(source: Source) -> Iterator[Row | BadRow]:
    return source.rows() if source.read_stored is None else source.read_stored()
