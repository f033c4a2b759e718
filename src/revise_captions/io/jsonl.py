"""JSON Lines and JSON arrays, plain or compressed, in constant memory.

Does not use the library jsonlines, which keeps neither a row's own text, needed for output rows,
nor the bytes of a line that is not UTF-8, and has no limit on line length.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from revise_captions.errors import BadRecord, Reason, UserError, own_step
from revise_captions.io.rows import (
    BadRow,
    NestedTooDeeply,
    Row,
    Unparsed,
    nests_too_deeply,
    parse_json,
)

MAX_LINE = 64 << 20
"""Bytes of a line, characters of an array's element. What is longer goes to the quarantine without
being held in memory."""
MAX_VALUES = 1_000_000
"""Of one row. As Python objects, 64 MiB of `[],[],` take 1.5 GB."""
KEPT_OF_LONG_LINE = 4096
_CHUNK = 1 << 20
_ZSTD_CHUNK = 1 << 10
"""Compressed bytes: four can stand for a block of 128 KiB, so this inflates to 32 MiB at most."""
_BOM = b"\xef\xbb\xbf"


def chunks(path: Path, name: str) -> Iterator[bytes]:
    """The file's bytes in pieces of at most 1 MiB, decompressed if its first bytes say so.

    Raises `UserError` for a file that cannot be read, is no UTF-8 at all, or is truncated: rows
    missing from an incomplete download can be neither processed nor quarantined.
    """
    try:
        with path.open("rb") as file:
            magic = file.read(4)
            file.seek(0)
            if magic.startswith(b"\x1f\x8b"):
                with gzip.open(file) as text:
                    yield from iter(lambda: text.read(_CHUNK), b"")
            elif magic == b"\x28\xb5\x2f\xfd":
                yield from _zstd(file)
            else:
                yield from iter(lambda: file.read(_CHUNK), b"")
    except (EOFError, zlib.error, gzip.BadGzipFile, _Zstd) as error:
        hint = "is the file whole? its checksum or a new download will tell"
        raise UserError(f"{name} cannot be decompressed: {error}", hint=hint) from None
    except OSError as error:
        raise UserError(f"cannot read {name}: {error.strerror}") from None


class _Zstd(Exception):
    pass


def _zstd(file: Any) -> Iterator[bytes]:
    import zstandard

    # zstandard's own stream reader silently accepts a truncated frame; this one does not.
    rest = b""
    frame = None
    try:
        while (data := rest or file.read(_ZSTD_CHUNK)) or frame is not None:
            if not data:
                raise _Zstd("it ends in the middle of a frame")
            frame = frame or zstandard.ZstdDecompressor().decompressobj()
            out = frame.decompress(data)
            for start in range(0, len(out), _CHUNK):
                yield out[start : start + _CHUNK]
            rest = frame.unused_data if frame.eof else b""
            frame = None if frame.eof else frame
    except zstandard.ZstdError as error:
        raise _Zstd(str(error)) from None


# --- Lines --------------------------------------------------------------------------------------


class Line(NamedTuple):
    """`start` is the whole line, or its beginning if `size` (bytes) exceeds the limit; `ended` is
    False for a last line without a line end."""

    start: bytes
    size: int
    ended: bool = True


def json_lines(
    path: Path, name: str, max_line: int = MAX_LINE, *, parsed: bool = True
) -> Iterator[Row | BadRow]:
    """Reads JSON Lines.

    Args:
        path: The file.
        name: What messages call it.
        max_line: Bytes; a longer line becomes a bad row.
        parsed: False for a file that has been read before and whose bad rows the caller knows: a
            row's data are then parsed only on access.

    Yields:
        One row for each line that is not blank. `line` counts blank lines too, as editors do.

    Raises:
        UserError: The file cannot be read or decompressed, or is UTF-16.
    """
    for number, (text, size, _) in enumerate(lines(chunks(path, name), max_line), 1):
        if number == 1:
            text = without_bom(text, name)
        if size > max_line:
            kept = text.decode("utf-8", "replace")
            yield too_long(name, number, f"{size:,} bytes", max_line, kept)
        elif text and not text.isspace():
            yield _row(text, name, number, parsed)


def count_lines(path: Path) -> int:
    """How many lines are not blank."""
    return sum(
        bool(line.start and not line.start.isspace())
        for line in lines(chunks(path, str(path)), MAX_LINE)
    )


def lines(pieces: Iterator[bytes], max_line: int) -> Iterator[Line]:
    """The lines of a file read by `chunks`, without their line feeds."""
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        *whole, rest = piece.split(b"\n")
        for part in whole:
            size += len(part)
            line = b"".join([*held, part]) if held else part
            yield Line(line if size <= max_line else line[:KEPT_OF_LONG_LINE], size)
            held, size = [], 0
        if rest:
            held.append(rest)
            size += len(rest)
            if size > max_line:
                held = [b"".join(p[:KEPT_OF_LONG_LINE] for p in held)[:KEPT_OF_LONG_LINE]]
    if held:
        yield Line(b"".join(held), size, ended=False)


def without_bom(text: bytes, name: str) -> bytes:
    """A file's first line without UTF-8's byte order mark. Raises `UserError` for UTF-16.

    UTF-16 without a mark is recognized by the zero bytes beside its first four letters.
    """
    marked = text.startswith((b"\xff\xfe", b"\xfe\xff"))
    first = text[0:8:2], text[1:8:2]
    little, big = (zero == bytes(4) and 0 not in letters for letters, zero in (first, first[::-1]))
    if marked or little or big:
        form = "" if marked else "LE" if little else "BE"
        kind = name.rpartition(".")[2] if "." in name.rpartition("/")[2] else "jsonl"
        hint = f"iconv -f UTF-16{form} -t UTF-8 {name} > utf8.{kind}"
        raise UserError(f"{name} is UTF-16; expected UTF-8", hint=hint)
    return text.removeprefix(_BOM)


def _row(line: bytes, name: str, number: int, parsed: bool) -> Row | BadRow:
    line = line.removesuffix(b"\r")
    try:
        text = line.decode("utf-8")
    except UnicodeDecodeError as error:
        detail = f"byte {error.start}: {error.reason}"
        return BadRow(name, number, Reason.INVALID_UTF8, detail, line)
    if not (parsed or len(text) > MAX_VALUES) and text.startswith("{") and text.endswith("}"):
        return Row(number, Unparsed(text), text)
    return _row_of_text(text, name, number)


def _row_of_text(text: str, name: str, number: int) -> Row | BadRow:
    try:
        data = parse(text)
    except BadRecord as error:
        kept = text[:KEPT_OF_LONG_LINE] if error.reason is Reason.LINE_TOO_LONG else text
        return BadRow(name, number, error.reason, error.detail, kept)
    return _checked(data, name, number, text)


def parse(text: str) -> Any:
    """The value of a row's JSON. Raises `BadRecord`: MALFORMED_JSON or LINE_TOO_LONG."""
    if len(text) > MAX_VALUES and text.count(",") >= MAX_VALUES:
        raise BadRecord(Reason.LINE_TOO_LONG, f"over {MAX_VALUES:,} values in one row")
    with own_step(Reason.MALFORMED_JSON):
        return _parse(text)


def _parse(text: str) -> Any:
    try:
        return parse_json(text)
    except json.JSONDecodeError as error:
        detail = f"{error.msg} at character {error.pos}"
        raise BadRecord(Reason.MALFORMED_JSON, detail) from None
    except NestedTooDeeply as error:
        raise BadRecord(Reason.MALFORMED_JSON, str(error)) from None


def too_long(name: str, number: int, found: str, limit: int, kept: str) -> BadRow:
    detail = f"{found}; the limit is {limit:,}. Its first {len(kept):,} characters are kept"
    return BadRow(name, number, Reason.LINE_TOO_LONG, detail, kept)


def _checked(data: Any, name: str, number: int, text: str) -> Row | BadRow:
    if isinstance(data, dict):
        return Row(number, data, text)
    detail = f"a JSON {_JSON_NAMES.get(type(data), 'value')}; expected an object"
    return BadRow(name, number, Reason.NOT_AN_OBJECT, detail, text)


_JSON_NAMES = {
    list: "array",
    str: "string",
    int: "number",
    float: "number",
    bool: "boolean",
    type(None): "null",
}


# --- One array ----------------------------------------------------------------------------------

_BETWEEN = re.compile(r"[ \t\n\r]*")


class Text:
    """A window over the file's text: `text[at:]` is what has been read but not yet used.

    `passed` is called with the text that is dropped, for callers that copy it.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self.text = ""
        self.at = 0
        self.used = 0
        self.passed: Callable[[str], object] = len
        self._pieces = chunks(path, name)
        # A byte that is not UTF-8 becomes a lone surrogate, and its element is refused.
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape")

    def more(self) -> bool:
        """Reads on; False at the end of the file."""
        piece = next(self._pieces, None)
        new = self._decoder.decode(piece or b"", final=piece is None)
        self.drop()
        self.text += new
        return piece is not None

    def drop(self) -> None:
        """Drops what has been used."""
        self.passed(self.text[: self.at])
        self.used += self.at
        self.text, self.at = self.text[self.at :], 0

    def peek(self) -> str:
        """The next character that is not white space, "" at the end."""
        while True:
            match = _BETWEEN.match(self.text, self.at)
            self.at = match.end() if match else self.at
            if self.at < len(self.text):
                return self.text[self.at]
            if not self.more() and not self.text:
                return ""

    def broken(self, what: str) -> UserError:
        where = f"after character {self.used + self.at:,}"
        hint = "one object a line (JSON Lines) can be read around a bad row; an array cannot"
        return UserError(f"{self.name} {what}, {where}", hint=hint)


def json_array(path: Path, name: str) -> Iterator[Row | BadRow]:
    """Reads a file that holds one JSON array.

    Yields:
        One row for each element; `line` is the element's number. An element that is too long, too
        deep, malformed inside its own brackets or not UTF-8 becomes a bad row.

    Raises:
        UserError: The file cannot be read, or the array is broken: what follows cannot be read.
    """
    text = Text(path, name)
    if text.peek() != "[":
        raise text.broken("is no JSON array")
    yield from array_elements(text)


def array_elements(text: Text) -> Iterator[Row | BadRow]:
    """The elements of the array that begins here, as in `json_array`; stops after the array."""
    text.at += 1
    number = 0
    while (sign := text.peek()) != "]":
        if number:
            if sign != ",":
                raise text.broken(f"breaks between elements {number} and {number + 1}")
            text.at += 1
            text.peek()
        number += 1
        yield element(text, number)
    text.at += 1


_decoder = json.JSONDecoder()


def element(text: Text, number: int) -> Row | BadRow:
    """The array's element that begins here."""
    # Most elements are wholly in what has been read, and the parser itself finds their end.
    with contextlib.suppress(ValueError, RecursionError):
        value, end = _decoder.raw_decode(text.text, text.at)
        if end < len(text.text):
            raw = text.text[text.at : end]
            text.at = end
            if (bad := _not_utf8(raw, text.name, number)) is not None:
                return bad
            if nests_too_deeply(raw):
                return _row_of_text(raw, text.name, number)
            return _checked(value, text.name, number, raw)
    start, size = _cut_out(text, number)
    if size > MAX_LINE:
        found = f"{size:,} characters"
        return too_long(text.name, number, found, MAX_LINE, start)
    return _not_utf8(start, text.name, number) or _row_of_text(start, text.name, number)


def _not_utf8(raw: str, name: str, number: int) -> BadRow | None:
    """The element as a bad row if some of its bytes are not UTF-8."""
    try:
        raw.encode()
    except UnicodeEncodeError as error:
        detail = f"character {error.start} is not UTF-8"
        original = raw.encode("utf-8", "surrogateescape")
        return BadRow(name, number, Reason.INVALID_UTF8, detail, original)
    return None


_PLAIN = re.compile(r'[^"\[\]{},]*+')
_IN_STRING = re.compile(r'(?:[^"\\]++|\\.)*+', re.DOTALL)


def _cut_out(text: Text, number: int) -> tuple[str, int]:
    """The element that begins here, found by its brackets, and its length; if it exceeds
    `MAX_LINE`, only its beginning."""
    held: list[str] = []
    size = depth = 0
    quoted = False
    while True:
        begin = text.at
        depth, quoted, ended = scan(text, depth, quoted)
        held.append(text.text[begin : text.at])
        size += text.at - begin
        if size > MAX_LINE:
            held = ["".join(part[:KEPT_OF_LONG_LINE] for part in held)[:KEPT_OF_LONG_LINE]]
        if ended and size:
            return "".join(held).rstrip(), size
        if ended or not text.more():
            raise text.broken(f"breaks in element {number}")


def scan(text: Text, depth: int, quoted: bool) -> tuple[int, bool, bool]:
    """Moves to the element's end (third value True) or to the end of what has been read."""
    whole, at = text.text, text.at
    ended = False
    while not ended:
        match = (_IN_STRING if quoted else _PLAIN).match(whole, at)
        at = match.end() if match else at
        sign = whole[at : at + 1]
        if not sign or sign == "\\":  # cut in the middle of an escape: read on from here
            break
        if sign == '"':
            quoted = not quoted
        elif sign in "[{":
            depth += 1
        elif depth == 0:
            ended = True
        elif sign != ",":
            depth -= 1
        at += not ended
    text.at = at
    return depth, quoted, ended
