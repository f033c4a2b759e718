"""CSV and TSV: rows that keep their own text, so that an output leaves every other byte alone.

Read as `csv` and pandas do (RFC 4180): a field that begins with a quotation mark ends at the next
single one and may hold delimiters and line ends; a doubled one stands for one. The first line names
the columns. The module `csv` itself gives neither a row's text nor the line it begins on, and loses
the rest of the file to one stray quotation mark.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

from revise_captions.errors import Reason, UserError
from revise_captions.io.fields import CAPTIONS, IMAGES
from revise_captions.io.jsonl import MAX_LINE, Line, chunks, lines, too_long, without_bom
from revise_captions.io.rows import BadRow, Row, dumps, with_objects
from revise_captions.io.source import Layout, Source
from revise_captions.layouts.style import OutputStyle
from revise_captions.runs.journal import RowResult

MAX_OPEN = 1 << 20
"""Characters that a quoted field may go on for on further lines: a quotation mark that is still
open then was meant literally, and its line alone is a bad row."""
_BOM = b"\xef\xbb\xbf"
_DELIMITERS = ",\t;|"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How a file separates its fields.

    Attributes:
        delimiter: One character.
        columns: Their names; a repeated one is numbered, as in pandas.
        header: The text before the first row, including a byte order mark.
        quotes_all: Whether the file also quotes what needs no quotes.
    """

    delimiter: str
    columns: tuple[str, ...]
    header: str
    quotes_all: bool

    def quoted(self, text: str) -> str:
        """A value as the file would write it."""
        special = any(sign in text for sign in (self.delimiter, '"', "\n", "\r"))
        if special or self.quotes_all:
            return '"' + text.replace('"', '""') + '"'
        return text


@dataclass(frozen=True, slots=True)
class _Text:
    """A record's text with its line end, or the reason why there is none."""

    line: int
    text: str
    bad: BadRow | None = None


def read_dialect(path: Path, name: str) -> Dialect:
    """The dialect, from the file's first line. Raises `UserError` for a file without one."""
    return _dialect(_Lines(path, name), path, name)


def delimited_rows(path: Path, name: str) -> Iterator[Row | BadRow]:
    """Rows of texts by column; `line` is the line that the row begins on.

    A row with more or fewer fields than the first line, an unclosed quotation mark, or bytes that
    are not UTF-8 becomes a bad row. `revised_caption` and `revision` from an earlier stage come
    back as the objects they hold.
    """
    source = _Lines(path, name)
    dialect = _dialect(source, path, name)
    for record in _records(source, dialect.delimiter):
        yield record.bad or _row(record, dialect, name)


def count_rows(path: Path, name: str) -> int:
    """How many rows there are, bad ones included."""
    source = _Lines(path, name)
    dialect = _dialect(source, path, name)
    return sum(1 for _ in _records(source, dialect.delimiter))


def fields_of(text: str, delimiter: str) -> list[str]:
    """The text of each field of a record, with quotation marks, without the line end."""
    body = _without_end(text)
    if '"' not in body:
        return body.split(delimiter)
    fields: list[str] = []
    start = 0
    while True:
        at = start
        if body[at : at + 1] == '"' and (match := _QUOTED.match(body, at + 1)):
            at = match.end()
        end = body.find(delimiter, at)
        if end < 0:
            return [*fields, body[start:]]
        fields.append(body[start:end])
        start = end + 1


def value_of(field: str) -> str:
    """The value of a field's text."""
    if not field.startswith('"') or not (match := _QUOTED.match(field, 1)):
        return field
    return field[1 : match.end() - 1].replace('""', '"') + field[match.end() :]


def line_end_of(text: str) -> str:
    """The record's line end; "" for a last line without one."""
    return text[len(_without_end(text)) :]


def looks_delimited(head: bytes) -> bool:
    """Whether a file's first line names a caption column and an image column."""
    first = head.removeprefix(_BOM).partition(b"\n")[0].decode("utf-8", "replace")
    names = {value_of(field).lower() for field in fields_of(first, _delimiter_of(first))}
    return not names.isdisjoint(CAPTIONS) and not names.isdisjoint(IMAGES)


# --- The file's text ----------------------------------------------------------------------------


class _Lines:
    """Numbered lines that can be put back."""

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._lines = enumerate(lines(chunks(path, name), MAX_LINE), 1)
        self._waiting: deque[tuple[int, Line]] = deque()

    def next(self) -> tuple[int, Line] | None:
        return self._waiting.popleft() if self._waiting else next(self._lines, None)

    def put_back(self, held: Sequence[tuple[int, Line]]) -> None:
        self._waiting.extendleft(reversed(held))


def _dialect(source: _Lines, path: Path, name: str) -> Dialect:
    before = ""
    while (found := source.next()) is not None:
        number, line = found
        if number == 1:
            without_bom(line.start, name)  # refuses UTF-16
        text = line.start.decode("utf-8", "surrogateescape") + "\n" * line.ended
        if text.strip("\ufeff \r\n"):
            break
        before += text
    else:
        raise UserError(f"{name} is empty", hint="its first line must name the columns")
    body = text.removeprefix("\ufeff")
    if "\r" in _without_end(body):
        hint = f"tr '\\r' '\\n' < {name} > lines.csv"
        raise UserError(f"{name} ends its lines with a bare carriage return", hint=hint)
    tab = path.name.lower().endswith((".tsv", ".tab"))
    delimiter = "\t" if tab else _delimiter_of(body)
    if line.size > MAX_LINE or _open_after(body, delimiter):
        raise UserError(f"{name}, line {number}: the header row does not end")
    texts = fields_of(body, delimiter)
    columns = _numbered([value_of(field) for field in texts])
    return Dialect(delimiter, columns, before + text, all(t.startswith('"') for t in texts))


def _delimiter_of(header: str) -> str:
    outside = re.sub(r'"(?:[^"]|"")*"', "", header)
    return max(_DELIMITERS, key=outside.count)


def _numbered(names: Sequence[str]) -> tuple[str, ...]:
    seen: dict[str, int] = {}
    found = []
    for name in names:
        count = seen.get(name, 0)
        seen[name] = count + 1
        found.append(f"{name}.{count}" if count else name)
    return tuple(found)


def _records(source: _Lines, delimiter: str) -> Iterator[_Text]:
    while (found := source.next()) is not None:
        number, line = found
        if line.size > MAX_LINE:
            kept = line.start.decode("utf-8", "replace")
            bad = too_long(source.name, number, f"{line.size:,} bytes", MAX_LINE, kept)
            yield _Text(number, "", bad)
        elif line.start.strip(b" \r"):
            yield _record(source, number, line, delimiter)


def _record(source: _Lines, number: int, line: Line, delimiter: str) -> _Text:
    text = _decoded(line)
    if '"' not in text or not _open_after(text, delimiter):
        return _Text(number, text)
    parts, held, size = [text], [], 0
    while size <= MAX_OPEN and (found := source.next()) is not None:
        held.append(found)
        further = _decoded(found[1])
        parts.append(further)
        size += found[1].size
        close = _QUOTED.match(further)
        if found[1].size > MAX_LINE or (close and not _ends(further, close.end(), delimiter)):
            break
        if not _open_after(further, delimiter, quoted=True):
            return _Text(number, "".join(parts))
    source.put_back(held)
    detail = "a quoted field begins here and never ends"
    bad = BadRow(source.name, number, Reason.MALFORMED_CSV, detail, _without_end(text))
    return _Text(number, "", bad)


def _ends(text: str, at: int, delimiter: str) -> bool:
    """Whether a field ends here. If a quoted field of several lines continues after its closing
    quotation mark, neither mark was meant as a quote."""
    return text.startswith(delimiter, at) or not _without_end(text[at:])


def _decoded(line: Line) -> str:
    return line.start.decode("utf-8", "surrogateescape") + "\n" * line.ended


#: The rest of a quoted field, its closing quotation mark included.
_QUOTED = re.compile(r'(?:[^"]++|"")*+"')


def _open_after(text: str, delimiter: str, *, quoted: bool = False) -> bool:
    """Whether a quoted field continues after this text; `quoted`: whether one is open before it."""
    at = 0
    if not quoted:
        quoted = text.startswith('"')
        at = int(quoted)
    while True:
        if quoted:
            match = _QUOTED.match(text, at)
            if match is None:
                return True
            at = match.end()
        at = text.find(delimiter + '"', at)
        if at < 0:
            return False
        at += 2
        quoted = True


def _without_end(text: str) -> str:
    return text.removesuffix("\n").removesuffix("\r")


def _row(record: _Text, dialect: Dialect, name: str) -> Row | BadRow:
    body = _without_end(record.text)
    try:
        body.encode()
    except UnicodeEncodeError as error:
        original = body.encode("utf-8", "surrogateescape")
        detail = f"character {error.start} is not UTF-8"
        return BadRow(name, record.line, Reason.INVALID_UTF8, detail, original)
    values = [value_of(field) for field in fields_of(record.text, dialect.delimiter)]
    if len(values) != len(dialect.columns):
        detail = f"{len(values)} fields; the first line names {len(dialect.columns)} columns"
        return BadRow(name, record.line, Reason.MALFORMED_CSV, detail, body)
    data: dict[str, Any] = dict(zip(dialect.columns, values, strict=True))
    return with_objects(Row(record.line, data, record.text))


# --- Writing --------------------------------------------------------------------------------------


def write_delimited(
    source: Source, pairs: Iterable[tuple[Row, RowResult]], file: IO[bytes], style: OutputStyle
) -> None:
    """Writes the first line and each row unchanged, with the new fields at the end or in their
    previous places. A column holds text, so `revision` is JSON."""
    dialect = read_dialect(source.metadata or source.path, source.name)
    names = {name: dialect.quoted(name) for name in style.names}
    kept = [name for name in dialect.columns if name not in style.dropped]
    file.write(_bytes(_with_fields(dialect.header, dialect, kept, names)))
    for row, result in pairs:
        assert row.raw is not None
        file.write(_bytes(_with_fields(row.raw, dialect, kept, _fields(row, result, dialect))))


def _fields(row: Row, result: RowResult, dialect: Dialect) -> dict[str, str]:
    """The fields of a row that change or are added, in the file's format."""
    assert row.raw is not None
    texts = {n: v if isinstance(v, str) else dumps(v) for n, v in result.revised.items()}
    if result.captions:
        was = _by_column(row.raw, dialect)
        changed = {n: t for n, t in result.captions.items() if value_of(was[n]) != t}
        texts = {**changed, **texts}
    return {name: dialect.quoted(text) for name, text in texts.items()}


def _by_column(record: str, dialect: Dialect) -> dict[str, str]:
    return dict(zip(dialect.columns, fields_of(record, dialect.delimiter), strict=True))


def _with_fields(record: str, dialect: Dialect, kept: list[str], added: dict[str, str]) -> str:
    end = line_end_of(record)
    if len(kept) == len(dialect.columns) and not set(added) & set(kept):
        return dialect.delimiter.join([record.removesuffix(end), *added.values()]) + end
    fields = _by_column(record, dialect)
    own = {name: fields[name] for name in kept}
    return dialect.delimiter.join((own | added).values()) + end


def _bytes(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _open(name: str, path: Path, lacking: Callable[[str], None]) -> Source:
    read_dialect(path, name)
    read, count = partial(delimited_rows, path, name), partial(count_rows, path, name)
    return Source(name, DELIMITED, path, path.parent, read, count)


def _takes(path: Path, head: bytes) -> bool:
    return looks_delimited(head)


DELIMITED = Layout(
    "CSV", _open, write_delimited, (".csv", ".tsv", ".tab"), _takes, only_its_own=True
)
