"""Readers of raters' answers: Label Studio's JSON, JSON-MIN and CSV exports, and filled-in sheets.

A JSON export has one object per task, with its annotations. JSON-MIN and CSV have one row per
annotation, with the task's data and the answers on one level; they omit skipped tasks and encode
multiple texts as an object. A sheet has one row per item.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.errors import BadRecord, Reason, UserError, own_step
from revise_captions.io.readers import open_rows
from revise_captions.io.rows import BadRow, parse_json
from revise_captions.pipelines.annotate.tasks.interfaces import INTERFACES
from revise_captions.pipelines.annotate.tasks.sheets import unguarded

#: Answers that are read: those of the interfaces, and the `rewrite` that a decision may hold.
CONTROLS = tuple(
    dict.fromkeys([*(c for found in INTERFACES.values() for c in found.controls), "rewrite"])
)
_RATER = ("annotator", "rater", "completed_by")
_SHEETS = (".csv", ".tsv")
_SUFFIXES = (*_SHEETS, ".json", ".jsonl")


@dataclass(frozen=True, slots=True)
class RaterAnswer:
    """One rater's answer to one item, by control. `when` orders answers; "" if unknown."""

    item: str
    rater: str
    said: Mapping[str, str]
    place: str
    when: str = ""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something that was not used, or used with a reservation, and why."""

    kind: str
    item: str = ""
    rater: str = ""
    place: str = ""
    detail: str = ""

    def as_json(self) -> dict[str, str]:
        return {name: value for name in self.__slots__ if (value := getattr(self, name))}


SKIPPED = "skipped by the rater"
EMPTY = "left empty"
NO_ITEM = "a row without an item's name"


def files_of(paths: Sequence[Path]) -> list[Path]:
    """The given files, and the answer files in given folders."""
    found: list[Path] = []
    for path in paths:
        if not path.is_dir():
            found.append(path)
            continue
        inside = sorted(p for p in path.iterdir() if p.suffix.lower() in _SUFFIXES)
        if not inside:
            raise UserError(f"{path} holds no answers", hint=f"expected {', '.join(_SUFFIXES)}")
        found += inside
    return found


def read_answers(path: Path) -> Iterator[RaterAnswer | Problem]:
    """All answers in a file, in order."""
    if path.suffix.lower() in _SHEETS:
        yield from _flat(_sheet_rows(path), path)
        return
    for row in open_rows(str(path)).rows():
        if isinstance(row, BadRow):
            place = f"{path.name}, row {row.line}"
            yield Problem("a row that cannot be read", place=place, detail=row.detail)
        elif "annotations" in row.data or "completions" in row.data:
            yield from _task(row.data, f"{path.name}, task {row.line}")
        else:
            yield from _flat([(row.line, row.data)], path)


def _task(task: Mapping[str, Any], place: str) -> Iterator[RaterAnswer | Problem]:
    """One task of Label Studio's JSON."""
    data = task.get("data")
    item = str(data.get("item") or "") if isinstance(data, Mapping) else ""
    if not item:
        yield Problem(NO_ITEM, place=place)
        return
    annotations = task.get("annotations") or task.get("completions") or ()
    if not isinstance(annotations, list | tuple):
        annotations = (annotations,)
    for number, annotation in enumerate(annotations, start=1):
        try:
            with own_step(Reason.UNEXPECTED_ERROR):
                found = _annotation(annotation, item, f"annotation {number}", place)
        except BadRecord as error:
            found = Problem("an annotation that cannot be read", item, "", place, error.detail)
        yield found


def _annotation(
    annotation: Mapping[str, Any], item: str, unnamed: str, place: str
) -> RaterAnswer | Problem:
    rater = _rater_of(annotation.get("completed_by")) or unnamed
    if annotation.get("was_cancelled") or annotation.get("skipped"):
        return Problem(SKIPPED, item, rater, place)
    said: dict[str, str] = {}
    for result in annotation.get("result") or ():
        if isinstance(result, Mapping) and result.get("from_name") in CONTROLS:
            name, text = str(result["from_name"]), _text(result.get("value"))
            said[name] = "\n".join(filter(None, (said.get(name, ""), text)))
    return RaterAnswer(item, rater, said, place, str(annotation.get("updated_at") or ""))


def _flat(
    rows: Sequence[tuple[int, Mapping[str, Any]]], path: Path
) -> Iterator[RaterAnswer | Problem]:
    """Rows that hold a task's data and one rater's answers."""
    sheet = path.suffix.lower() in _SHEETS
    for line, row in rows:
        place = f"{path.name}, row {line}"
        item = str(row.get("item") or "").strip()
        if not item:
            yield Problem(NO_ITEM, place=place)
            continue
        given = next((row[name] for name in _RATER if row.get(name) not in (None, "", {})), None)
        rater = _rater_of(given) or path.stem
        said = {c: _text(row[c]) for c in CONTROLS if row.get(c) not in (None, "")}
        if sheet:
            said = {c: unguarded(_unpacked(text)) for c, text in said.items()}
        if not any(said.values()):
            yield Problem(EMPTY, item, rater, place)
            continue
        yield RaterAnswer(item, rater, said, place, str(row.get("updated_at") or ""))


def _sheet_rows(path: Path) -> list[tuple[int, Mapping[str, Any]]]:
    limit = csv.field_size_limit(min(sys.maxsize, 1 << 30))
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            head = file.readline()
            file.seek(0)
            signs = {sign: head.count(sign) for sign in ",;\t"}
            reader = csv.DictReader(file, delimiter=max(signs, key=lambda s: signs[s]))
            rows: list[tuple[int, Mapping[str, Any]]] = list(enumerate(reader, start=2))
            names = list(reader.fieldnames or ())
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise UserError(f"cannot read {path}: {error}", hint="save it as UTF-8 CSV") from None
    finally:
        csv.field_size_limit(limit)
    if "item" not in names:
        raise UserError(
            f"{path} has no column `item`; it has {', '.join(map(str, names[:12])) or 'nothing'}",
            hint="expected a sheet from `captions annotate export`, or a Label Studio CSV export",
        )
    return rows


def _rater_of(value: object) -> str:
    """The rater's name from a number, a name or an object, depending on the export."""
    if isinstance(value, Mapping):
        value = value.get("email") or value.get("id")
    return "" if value is None else str(value).strip()


def _text(value: object) -> str:
    """Chosen labels or free text; multiple texts become lines."""
    if isinstance(value, Mapping):
        value = value.get("choices") or value.get("text") or ""
    if isinstance(value, list | tuple):
        return "\n".join(filter(None, (_text(one) for one in value)))
    return "" if value is None else str(value).strip()


def _unpacked(text: str) -> str:
    """Multiple texts of one answer are JSON in Label Studio's CSV."""
    if text.startswith(("{", "[")):
        with suppress(ValueError):
            return _text(parse_json(text))
    return text
