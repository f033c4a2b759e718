"""Captions corrected in place, and how to restore the originals.

A run with `--write caption` puts the corrected text where the original was:

    {"caption": "corrected", "caption_original": "as it came", "revision": {…, "caption_field":
     "caption"}}

Reading a file through `io.readers` gives such a row as a run without the option writes it, with the
original in its field and the corrected text in `revised_caption`, so only readers and writers know
about this. With several caption fields, `caption_original` holds an object by field.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from revise_captions.errors import BadRecord, Reason
from revise_captions.io.fields import place_of
from revise_captions.io.rows import BadRow, Row

ORIGINAL, FIELD = "caption_original", "caption_field"


def in_place_fields(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The caption fields of a stored row that hold corrected texts; () if none does."""
    return () if "revised_caption" in row or ORIGINAL not in row else named_fields(row)


def named_fields(row: Mapping[str, Any]) -> tuple[str, ...]:
    """The caption fields that the row's revision names, as it does when written in place."""
    revision = row.get("revision")
    if not isinstance(revision, Mapping):
        return ()
    parts = [revision] if "sentences" in revision else [*revision.values()]
    named = [part.get(FIELD) if isinstance(part, Mapping) else None for part in parts]
    names = tuple(name for name in named if isinstance(name, str))
    return names if len(names) == len(parts) else ()


def by_field(value: Any, names: tuple[str, ...]) -> dict[str, str]:
    """A row's texts by field; `value` is the text itself if there is only one field."""
    return {names[0]: value} if len(names) == 1 else dict(value)


def joined(texts: Mapping[str, Any]) -> Any:
    """The stored form of texts, or revisions, by field: for one field, the value itself."""
    return next(iter(texts.values())) if len(texts) == 1 else dict(texts)


def text_at(row: Mapping[str, Any], field: str) -> str | None:
    """The caption in a field (for a conversation, its first answer); None if there is none."""
    place = place_of(row, field)
    if place is None:
        return None
    value: Any = row
    for key in place:
        value = value[key]
    return str(value)


def with_text(row: Mapping[str, Any], field: str, text: str) -> dict[str, Any]:
    """The row with another caption in the field; unchanged if it has no caption there."""
    place = place_of(row, field)
    return dict(row) if place is None else _put(row, place, text)


def _put(value: Any, place: tuple[str | int, ...], text: str) -> Any:
    if not place:
        return text
    copy = list(value) if isinstance(value, list) else dict(value)
    copy[place[0]] = _put(value[place[0]], place[1:], text)  # type: ignore[index,call-overload]
    return copy


def restored(rows: Iterator[Row | BadRow]) -> Iterator[Row | BadRow]:
    """The rows with originals back in their places; other rows are unchanged."""
    for row in rows:
        names = in_place_fields(row.data) if isinstance(row, Row) else ()
        yield _restored(row, names) if names and isinstance(row, Row) else row


def _restored(row: Row, names: tuple[str, ...]) -> Row:
    try:
        originals = by_field(row.data[ORIGINAL], names)
        revised = {name: text_at(row.data, name) for name in names}
        data = dict(row.data)
        for name in names:
            data = with_text(data, name, originals[name])
    except (LookupError, TypeError, ValueError):
        return row  # it was changed since; code that needs the revision reports the mismatch
    added = {"revised_caption": joined(revised), "revision": data.pop("revision")}
    return Row(row.line, data | added, row.raw)


def refuse_taken(row: Mapping[str, Any]) -> None:
    """Raises `BadRecord` for a row whose `caption_original` was not written by a run of ours."""
    if ORIGINAL in row and not named_fields(row):
        detail = f"it has a field {ORIGINAL} of its own, which --write caption would overwrite"
        raise BadRecord(Reason.BAD_REVISION, detail)
