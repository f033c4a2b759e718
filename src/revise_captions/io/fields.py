"""Finds which fields of a row hold its image and captions, and makes `Record`s of rows.

The fields are chosen once per file from its first rows, so that all rows are read the same way: the
first name in `CAPTIONS` and `IMAGES` (in any case) that most of these rows have. A row without them
goes to the quarantine. Rows are identified by their place in the file: ids may repeat and are not
read.
"""

from __future__ import annotations

import difflib
import logging
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.images import images_in_chat, is_chat, parse_image
from revise_captions.io.rows import Row
from revise_captions.outside_text import on_one_line
from revise_captions.records import ImageRef, Record

logger = logging.getLogger(__name__)
MAX_CAPTION = 1_000_000
"""Characters; a longer caption is a file in the wrong field."""

CAPTIONS = (
    "vlm_caption",  # PixelProse; a model's captions come before those by people or from alt texts
    "generated_caption",
    "synthetic_caption",
    "recaption",
    "detailed_caption",
    "dense_caption",
    "long_caption",
    "caption",
    "description",  # DOCCI
    "conversations",  # ShareGPT4V, LLaVA: the first turn of "gpt"
    "messages",  # chat format: the first turn of "assistant"
    "text",
    "txt",  # WebDataset
    "response",  # M-HalDetect
    "cand",  # LongCap-Arena
    "candidate",
    "original_caption",
)
IMAGES = (
    "image",
    "image_path",
    "image_file",  # DOCCI
    "image_filename",
    "image_bytes",
    "image_base64",
    "img",  # CapArena
    "img_path",
    "file_name",  # Hugging Face imagefolder, LongCap-Arena
    "filename",
    "jpg",  # WebDataset
    "jpeg",
    "png",
    "webp",
    "gif",
    "bmp",
    "tif",
    "tiff",
    "avif",
    "images",
    "file_path",
    "filepath",
    "path",
    "image_url",
    "img_url",
    "url",  # PixelProse, LAION
    "messages",  # chat format with the image among the parts of a turn
    "conversations",
)
_ASSISTANT = ("gpt", "assistant", "model", "chatgpt", "bot")


@dataclass(frozen=True, slots=True)
class Fields:
    """Names, dotted for nested objects (`json.caption`, `turns.1.value`); None, (): find them.

    `captionless`: rows are images, with or without captions, and caption fields are not searched.
    """

    image: str | None = None
    captions: tuple[str, ...] = ()
    captionless: bool = False


def recognize(
    rows: Sequence[Mapping[str, Any]], given: Fields, *, need_image: bool = True
) -> Fields:
    """Finds the fields that hold the image and captions.

    Args:
        rows: The first rows of a file.
        given: Names that the user chose; the others are searched for.
        need_image: Whether every row must have an image.

    Returns:
        `given`, completed.

    Raises:
        UserError: None of the rows has a given name, or any of the known names.
    """
    for name in filter(None, (given.image, *given.captions)):
        if rows and all(look_up(row, name) is None for row in rows):
            raise _no_such_field(name, rows)
    captions = given.captions
    if not captions and not given.captionless:
        captions = tuple(filter(None, [_most_known(rows, "caption", CAPTIONS, _is_caption)]))
    image = given.image or _most_known(rows, "image", IMAGES, _is_image)
    if image is not None and not need_image and not given.image:
        held = sum(_is_image(look_up(row, image)) for row in rows)
        image = image if 2 * held > len(rows) else None  # one stray row does not oblige the rest
    if rows and not captions and not given.captionless:
        raise no_known_field("caption", rows)
    if rows and need_image and image is None:
        raise _no_image(rows)
    return Fields(image, captions, given.captionless)


def find_field(
    rows: Sequence[Mapping[str, Any]], what: str, given: str | None, known: Sequence[str]
) -> str | None:
    """Finds, in the same way, the field that holds something other than image and captions.

    Args:
        rows: The first rows of a file.
        what: What it holds; `--WHAT-field` names it.
        given: The name that the user chose; None to search.
        known: Names to search for; the first one wins.

    Returns:
        The name; None if no row has a known one.

    Raises:
        UserError: None of the rows has the given name.
    """
    if given is not None and rows and all(look_up(row, given) is None for row in rows):
        raise _no_such_field(given, rows)
    return given or _most_known(rows, what, known, lambda value: value is not None)


def no_known_field(what: str, rows: Sequence[Mapping[str, Any]]) -> UserError:
    """The error for a field that is needed when none of the known names is there."""
    hint = f"{_found(rows)}; pass --{what}-field NAME"
    if what == "caption" and {name for row in rows for name in row} <= {"image", "label"}:
        hint += (  # so `datasets` reads a folder of images
            ". In a folder, captions stand beside images, 1.txt for 1.jpg, or in metadata.csv; "
            "if a table elsewhere has them, name it, with --image-root FOLDER"
        )
    return UserError(f"no field known to hold the {what} in the first {len(rows)} rows", hint=hint)


def _no_image(rows: Sequence[Mapping[str, Any]]) -> UserError:
    """The error if no row has an image: says what the field holds instead, if it is there."""
    named = {name: row[name] for row in reversed(rows) for name in row if name.lower() in IMAGES}
    for name in sorted(named, key=lambda name: IMAGES.index(name.lower())):
        try:
            parse_image(named[name])
        except BadRecord as error:
            return UserError(
                f"no image in the first {len(rows)} rows: {error.detail}",
                hint=f'the field is "{on_one_line(name)}"; --image-field NAME names another',
            )
    return no_known_field("image", rows)


def to_record(row: Row, fields: Fields, *, source: str) -> Record:
    """Makes a record of a row. Without an image field, its `ImageRef` is empty.

    Raises:
        BadRecord: A caption is missing, not text, empty or too long, or the image is missing or has
            an unreadable value.
    """
    captions = captions_of(row, fields)
    image = ImageRef()
    if fields.image is not None:
        value = look_up(row.data, fields.image)
        if value is None:
            raise BadRecord(Reason.MISSING_IMAGE, _absent(row.data, fields.image))
        image = parse_image(value)
    return Record(source, row.line, image, captions, row.data, row.raw)


def captions_of(row: Row, fields: Fields) -> dict[str, str]:
    """A row's captions by field. Raises `BadRecord` as `to_record` does."""
    captions = {name: _caption(row.data, name) for name in fields.captions}
    if not captions and not fields.captionless:
        raise BadRecord(Reason.MISSING_CAPTION, f"no caption field; {_found([row.data])}")
    return captions


_INDEX = re.compile(r"-?[0-9]{1,9}")


def look_up(row: Mapping[str, Any], name: str) -> Any:
    """The value at a name or dotted path, or None. A key that contains the dots goes first."""
    return _reached(row, name)[1]


def _reached(row: Mapping[str, Any], name: str) -> tuple[tuple[str | int, ...], Any]:
    """The keys and indices of a name or dotted path, and the value there, or None."""
    if name in row:
        return (name,), row[name]
    keys: tuple[str | int, ...] = ()
    value: Any = row
    for part in name.split("."):
        key: str | int = part
        if isinstance(value, Mapping):
            value = value.get(part)
        elif isinstance(value, list) and _INDEX.fullmatch(part):
            inside = -len(value) <= int(part) < len(value)
            key = int(part) % len(value) if inside else part
            value = value[int(part)] if inside else None
        else:
            return keys, None
        keys = (*keys, key)
    return keys, value


def _caption(row: Mapping[str, Any], name: str) -> str:
    value = look_up(row, name)
    if value is None:
        raise BadRecord(Reason.MISSING_CAPTION, _absent(row, name))
    text = value if isinstance(value, str) else _answer(value)
    if text is None:
        detail = f'"{name}" holds {_describe(value)}; expected a text, or turns with an answer'
        raise BadRecord(Reason.CAPTION_NOT_TEXT, detail)
    if not text.strip():
        raise BadRecord(Reason.EMPTY_CAPTION, f'"{name}" is empty')
    if len(text) > MAX_CAPTION:
        detail = f'"{name}" has {len(text):,} characters; the limit is {MAX_CAPTION:,}'
        raise BadRecord(Reason.CAPTION_TOO_LONG, detail)
    return text


def place_of(row: Mapping[str, Any], name: str) -> tuple[str | int, ...] | None:
    """The keys and indices of a field's caption; None if it holds no text.

    In a conversation, the caption is the text of the model's first answer.
    """
    keys, value = _reached(row, name)
    if isinstance(value, str):
        return keys
    answer = _answer_place(value)
    return None if answer is None else (*keys, *answer)


def _answer(turns: object) -> str | None:
    """The model's first answer in a conversation: `{from, value}` or `{role, content}` turns."""
    value: Any = turns
    for key in _answer_place(turns) or ():
        value = value[key]
    return value if isinstance(value, str) else None


def said(turns: object) -> str:
    """The text of a conversation's last turn, or a plain text; "" if there is none."""
    if isinstance(turns, str):
        return turns
    if not isinstance(turns, list) or not turns or not isinstance(turns[-1], Mapping):
        return ""
    content = turns[-1].get("content")
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def _answer_place(turns: object) -> tuple[str | int, ...] | None:
    """Where the text of that answer is in the conversation."""
    if not isinstance(turns, list):
        return None
    for number, turn in enumerate(turns):
        if not isinstance(turn, Mapping):
            return None
        if turn.get("from", turn.get("role")) in _ASSISTANT:
            key = "value" if "value" in turn else "content"
            content = turn.get(key)
            if isinstance(content, list):  # parts; one text part is the caption
                texts = [
                    at for at, p in enumerate(content) if isinstance(p, Mapping) and "text" in p
                ]
                if len(texts) != 1 or not isinstance(content[texts[0]]["text"], str):
                    return None
                return number, key, texts[0], "text"
            return (number, key) if isinstance(content, str) else None
    return None


def _is_caption(value: object) -> bool:
    return isinstance(value, str) or _answer(value) is not None


def _is_image(value: object) -> bool:
    if is_chat(value):
        return bool(images_in_chat(value))
    if isinstance(value, str | bytes | bytearray | memoryview | PathLike):
        return True
    if isinstance(value, Mapping | list | tuple):
        return True
    return hasattr(value, "save") or hasattr(value, "__array_interface__")


def _most_known(
    rows: Sequence[Mapping[str, Any]], what: str, known: Iterable[str], fits: Any
) -> str | None:
    """The known name to use, spelled as in the file: the first in order with a fitting value in
    more than half of the rows, else the one in most rows, so that one stray row decides nothing.
    Top-level names come before those inside a WebDataset row's `json`."""
    counts: Counter[str] = Counter()
    for row in rows:
        nested = row.get("json")
        inner = [f"json.{key}" for key in nested] if isinstance(nested, Mapping) else []
        names = dict.fromkeys([*row, *inner])
        counts.update(name for name in names if fits(look_up(row, name)))
    ranked = [*known, *(f"json.{name}" for name in known)]
    order = {name: place for place, name in enumerate(ranked)}
    present = sorted((n for n in counts if n.lower() in order), key=lambda n: order[n.lower()])
    if not present:
        return None
    most = max(present, key=counts.__getitem__)
    chosen = next((name for name in present if 2 * counts[name] > len(rows)), most)
    others = ", ".join(
        f'"{on_one_line(name)}" in {counts[name]}' for name in present if name != chosen
    )
    if others and counts[chosen] < len(rows):
        found = (
            f'"{on_one_line(chosen)}", which {counts[chosen]} of the first {len(rows)} rows have'
        )
        hint = f"--{what}-field names another"
        logger.warning("the %s is read from %s (%s); %s", what, found, others, hint)
    return chosen


def _no_such_field(name: str, rows: Sequence[Mapping[str, Any]]) -> UserError:
    names = _names(rows)
    if name in names:
        return UserError(f'the field "{name}" is empty in the first {len(rows)} rows')
    near = difflib.get_close_matches(name, names, 1)
    hint = f'did you mean "{on_one_line(near[0])}"?' if near else _found(rows)
    return UserError(f'no field "{name}" in the first {len(rows)} rows', hint=hint)


def _absent(row: Mapping[str, Any], name: str) -> str:
    """Why a row has no value at a name: it is null (as in tables), or there is no such field."""
    return f'"{name}" is null' if name in row else f'no field "{name}"; {_found([row])}'


def _names(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(name for row in rows for name in row))


def _found(rows: Sequence[Mapping[str, Any]]) -> str:
    names = _names(rows)
    more = f", … ({len(names)} in all)" if len(names) > 20 else ""
    return (
        f"found fields: {', '.join(map(on_one_line, names[:20]))}{more}"
        if names
        else "found no fields"
    )


def _describe(value: object) -> str:
    names = {dict: "an object", list: "a list", bool: "true or false", int: "a number"}
    names |= {float: "a number", bytes: "bytes"}
    return names.get(type(value), type(value).__name__)
