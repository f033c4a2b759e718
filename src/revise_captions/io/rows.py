"""Rows as they are in a file, and edits to JSON text that keep every other byte."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from revise_captions.errors import BadRecord, Reason
from revise_captions.records import Record


class Unparsed(Mapping[str, Any]):
    """A JSON object that is parsed on first access; `keys`, if they are known."""

    __slots__ = ("_data", "_keys", "text")

    def __init__(self, text: str, keys: Sequence[str] | None = None) -> None:
        self.text = text
        self._keys = keys
        self._data: Mapping[str, Any] | None = None

    @property
    def data(self) -> Mapping[str, Any]:
        if self._data is None:
            self._data = parse_json(self.text)
        return self._data

    def __getitem__(self, key: str) -> Any:
        return self.data[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys or self.data)

    def __len__(self) -> int:
        return len(self._keys or self.data)


@dataclass(frozen=True, slots=True)
class Row:
    """One row that could be read.

    Attributes:
        line: 1-based line, or number of the row where a format has no lines.
        data: Its fields.
        raw: Its exact text in text formats: in JSON without the line end, in CSV with it.
    """

    line: int
    data: Mapping[str, Any]
    raw: str | None = None


@dataclass(frozen=True, slots=True)
class BadRow:
    """One row for the quarantine.

    Attributes:
        source: Name of the file or data set.
        line: 1-based line, or number of the row.
        reason: Machine-readable.
        detail: For people.
        original: The row's text, or its bytes if they are not UTF-8.
    """

    source: str
    line: int
    reason: Reason
    detail: str
    original: str | bytes = ""

    @classmethod
    def of(cls, row: Row | Record, source: str, error: BadRecord) -> BadRow:
        """The quarantine entry for a row with this error."""
        data = row.data if isinstance(row, Row) else row.fields
        original = dumps(data) if row.raw is None else row.raw.rstrip("\r\n")
        return cls(source, row.line, error.reason, error.detail, original)

    def as_json(self) -> dict[str, Any]:
        """The line of the quarantine file."""
        head = {"file": self.source, "line": self.line}
        head |= {"reason": str(self.reason), "detail": self.detail}
        if isinstance(self.original, str):
            return head | {"text": self.original}
        return head | {"bytes": base64.b64encode(self.original).decode()}


def with_objects(row: Row) -> Row:
    """Parses the objects of a row whose format stores `revision`, and what depends on it, as text.

    With several captions, `revised_caption` and `caption_original` hold objects too.
    """
    revision = _as_object(row.data.get("revision"))
    if revision is None:
        return row
    data = {**row.data, "revision": revision}
    for name in ("revised_caption", "caption_original") if "sentences" not in revision else ():
        if texts := _as_object(data.get(name)):
            data[name] = texts
    return Row(row.line, data, row.raw)


def _as_object(value: object) -> dict[str, Any] | None:
    if not isinstance(value, str) or not value.startswith("{"):
        return None
    try:
        found = parse_json(value)
    except ValueError:
        return None  # a column of that name, but not ours
    return found if isinstance(found, dict) else None


MAX_NESTING = 200
"""Objects and arrays inside each other. Python's own limit depends on how deep the caller is, so a
row that one step can parse another could not."""
_STRING_OR_BRACKET = re.compile(r'"(?:[^"\\]|\\.)*+"?|[\[\]{}]', re.DOTALL)


class NestedTooDeeply(ValueError):
    """JSON of more than `MAX_NESTING` levels."""


def parse_json(text: str) -> Any:
    """The value of a JSON text.

    Integers with more digits than Python converts become `Decimal`, which keeps them all.

    Raises:
        json.JSONDecodeError: It is not JSON.
        NestedTooDeeply: It has more than `MAX_NESTING` levels.
    """
    if nests_too_deeply(text):
        raise NestedTooDeeply(f"nested more than {MAX_NESTING} levels deep")
    try:
        return json.loads(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int | Decimal:
    return int(digits) if len(digits) < 4000 else Decimal(digits)


def nests_too_deeply(text: str) -> bool:
    """Whether a JSON text has more than `MAX_NESTING` levels."""
    if text.count("[") + text.count("{") <= MAX_NESTING:
        return False
    depth = 0
    for found in _STRING_OR_BRACKET.finditer(text):
        sign = text[found.start()]
        depth += {'"': 0, "[": 1, "{": 1}.get(sign, -1)
        if depth > MAX_NESTING:
            return True
    return False


_SURROGATE = re.compile("[\ud800-\udfff]")


def dumps(value: object) -> str:
    """JSON on one line, always encodable as UTF-8: lone surrogates are written as escapes.

    Bytes become base64 (which `parse_image` reads back), other types from columnar formats (dates,
    decimals, …) become their text.
    """
    text = json.dumps(value, ensure_ascii=False, default=_as_json)
    if text.isascii():
        return text
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def _as_json(value: Any) -> Any:
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=str)
    return value.isoformat() if hasattr(value, "isoformat") else str(value)


def splice(raw: str, additions: Mapping[str, Any], dropped: Collection[str] = ()) -> str:
    """The JSON object `raw` with `additions` as its last members, and without those `dropped`.

    The text of every other member stays byte for byte: numbers beyond 64 bits, `1.0`, escapes, the
    order of keys, duplicate keys. Members of the same names are replaced.
    """
    names = {*additions, *dropped}
    escaped = "\\u" in raw  # escapes can disguise a key
    if names and (escaped or any(f'"{name}"' in raw for name in names)):
        raw = _without(raw, names)
    end = raw.rindex("}")
    body = (additions.text if isinstance(additions, Unparsed) else dumps(additions))[1:-1]
    empty = raw[:end].rstrip().endswith("{") and raw[:end].strip() == "{"
    return raw[:end] + ("" if empty or not body else ", ") + body + raw[end:]


def with_text_at(raw: str, place: Sequence[str | int], text: str) -> str:
    """JSON text with the text at a place (keys and indices) replaced; the rest stays byte for byte.

    If the text is already there, it keeps its escapes.
    """
    start, end = 0, len(raw)
    for key in place:
        for name, _, value, stop in _items(raw, _skip(raw, start)):
            if name == key:  # if a key occurs twice, the last one counts
                found = value, stop
        start, end = found
    if _decoder.raw_decode(raw, start)[0] == text:
        return raw
    return raw[:start] + dumps(text) + raw[end:]


_WHITE = re.compile(r"[ \t\n\r]*")
_decoder = json.JSONDecoder(parse_int=float)  # skips numbers: no limit on their digits


def _without(raw: str, names: Container[str]) -> str:
    """`raw` without these members; the others keep their commas and white space."""
    members = list(_items(raw, raw.index("{")))
    if all(key not in names for key, *_ in members):
        return raw
    parts: list[str] = []
    end = kept = members[0][1]
    for key, start, _, stop in members:
        if key not in names:
            parts += [raw[end:start] if parts else "", raw[start:stop]]
            kept = stop
        end = stop
    space = raw[kept : _skip(raw, kept)] if parts and kept < end else ""
    return raw[: members[0][1]] + "".join(parts) + space + raw[end:]


def _items(raw: str, at: int) -> Iterator[tuple[Any, int, int, int]]:
    """The items of the JSON object or list that begins at `at`: each key or index, where its text
    `"key": value` begins, and where the value begins and ends."""
    number, of_object = 0, raw[at] == "{"
    at = _skip(raw, at + 1)
    while raw[at] not in "}]":
        key: Any = number
        value = at
        if of_object:
            key, end = _decoder.raw_decode(raw, at)
            value = _skip(raw, _skip(raw, end) + 1)  # past the colon
        _, end = _decoder.raw_decode(raw, value)
        yield key, at, value, end
        number += 1
        at = _skip(raw, end)
        if raw[at] == ",":
            at = _skip(raw, at + 1)


def _skip(text: str, at: int) -> int:
    match = _WHITE.match(text, at)
    return match.end() if match else at
