"""Rows of published files, with errors that say what is missing in which file and row."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.types import CAPTION, Triple
from revise_captions.errors import UserError
from revise_captions.io.readers import open_rows
from revise_captions.io.rows import BadRow, parse_json
from revise_captions.outside_text import on_one_line
from revise_captions.records import ImageRef, Record, Span

_WHOLE = "is it the published file, whole and unchanged? see `captions benchmarks show NAME`"


@dataclass(frozen=True, slots=True)
class Entry:
    """One row. `number` is 1-based: the line, if the format has lines; `hint` goes with errors."""

    file: str
    number: int
    data: Mapping[str, Any]
    hint: str = _WHOLE

    def __getitem__(self, key: str) -> Any:
        if key not in self.data:
            has = ", ".join(on_one_line(str(name)) for name in list(self.data)[:12]) or "nothing"
            raise UserError(f"{self.place} has no field `{key}`; it has {has}", hint=self.hint)
        return self.data[key]

    @property
    def place(self) -> str:
        return f"{self.file}, row {self.number}"

    def text(self, key: str) -> str:
        value = self[key]
        if not isinstance(value, str):
            raise self.error(f"`{key}` is {shown(value)}; expected text")
        return value

    def number_at(self, key: str) -> float:
        """A number, including one written as text (CSV)."""
        value = self[key]
        try:
            if isinstance(value, bool):
                raise ValueError
            return float(value)
        except (TypeError, ValueError, OverflowError):
            raise self.error(f"`{key}` is {shown(value)}; expected a number") from None

    def items(self, key: str) -> list[Any]:
        value = self[key]
        if not isinstance(value, list | tuple):
            raise self.error(f"`{key}` is {shown(value)}; expected a list")
        return list(value)

    def texts(self, key: str) -> tuple[str, ...]:
        values = self.items(key)
        if not all(isinstance(value, str) for value in values):
            raise self.error(f"`{key}` holds {shown(values)}; expected texts")
        return tuple(values)

    def within(self, key: str) -> Iterator[Entry]:
        """The objects in a list, each with errors of its own."""
        for value in self.items(key):
            if not isinstance(value, Mapping):
                raise self.error(f"`{key}` holds {shown(value)}; expected objects")
            yield Entry(self.file, self.number, value, self.hint)

    def one_of(self, key: str, known: Mapping[str, Any]) -> Any:
        """The value in `known` for a text that must be one of its keys."""
        value = self[key]
        if value not in known:
            expected = ", ".join(f"“{name}”" for name in known)
            raise self.error(f"`{key}` is {shown(value)}; expected one of {expected}")
        return known[value]

    def error(self, message: str) -> UserError:
        return UserError(f"{self.place}: {message}", hint=self.hint)


def shown(value: object) -> str:
    """A value as an error message quotes it, in at most 80 characters."""
    text = repr(value)
    return text if len(text) <= 80 else text[:79] + "…"


def rows(path: Path, hint: str = "") -> Iterator[Entry]:
    """JSON Lines, a JSON array of objects, or Parquet (extra `parquet`), a row at a time."""
    for row in open_rows(str(path)).rows():
        if isinstance(row, BadRow):
            raise UserError(f"{path}, row {row.line}: {row.detail}", hint=hint or _WHOLE)
        yield Entry(str(path), row.line, row.data, hint or _WHOLE)


def csv_rows(path: Path, hint: str = "") -> Iterator[Entry]:
    """CSV with a header; article texts exceed Python's default limit for a field."""
    limit = csv.field_size_limit(min(sys.maxsize, 1 << 30))
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            for number, row in enumerate(csv.DictReader(file), start=1):
                yield Entry(str(path), number, row, hint or _WHOLE)
    except (UnicodeDecodeError, csv.Error, OSError) as error:
        raise UserError(f"cannot read {path} as CSV: {error}", hint=hint or _WHOLE) from None
    finally:
        csv.field_size_limit(limit)


def json_entries(path: Path) -> Iterator[tuple[str, Entry]]:
    """The members of a JSON object whose values are objects, all held in memory."""
    try:
        whole = parse_json(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UserError(f"cannot read {path} as JSON: {error}", hint=_WHOLE) from None
    if not isinstance(whole, dict):
        raise UserError(f"{path} holds a {type(whole).__name__}; expected an object", hint=_WHOLE)
    for number, (key, value) in enumerate(whole.items(), start=1):
        if not isinstance(value, dict):
            raise UserError(f"{path}, “{key}” is {shown(value)}; expected an object", hint=_WHOLE)
        yield key, Entry(str(path), number, value)


def record(entry: Entry, caption: str, image: ImageRef) -> Record:
    """An entry as a row of our own: its caption, its image, and all its data."""
    return Record(entry.file, entry.number, image, {CAPTION: caption}, entry.data)


def image_at(value: object) -> ImageRef:
    """An image as Parquet files of the hub hold it: bytes, `{"bytes", "path"}`, or a path."""
    if isinstance(value, Mapping):
        data, path = value.get("bytes"), value.get("path")
        return ImageRef(data=bytes(data)) if data is not None else ImageRef(path=str(path or ""))
    if isinstance(value, bytes):
        return ImageRef(data=value)
    return ImageRef(path=str(value or ""))


def joined(sentences: tuple[str, ...]) -> tuple[str, tuple[Span, ...]]:
    """Sentences as one caption with a space between them, and the span of each."""
    spans, at = [], 0
    for sentence in sentences:
        spans.append(Span(at, at + len(sentence)))
        at += len(sentence) + 1
    return " ".join(sentences), tuple(spans)


def triples(text: str) -> tuple[Triple, ...]:
    """FACTUAL's notation `( man , wear , hat ) , ( dog )`: an object alone is a tuple of one."""
    inner = [part.strip().strip("()").strip() for part in text.split(") , (")]
    return tuple(tuple(word.strip() for word in part.split(" , ")) for part in inner if part)


@contextmanager
def library_json(entry: Entry, key: str) -> Iterator[None]:
    """Reports where JSON inside a field is broken."""
    try:
        yield
    except (TypeError, ValueError, RecursionError) as error:
        raise entry.error(f"`{key}` holds no JSON that can be read: {error}") from None
