"""COCO JSON: `{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}], …}`.

A row is an annotation with the `file_name` of its image, so an image with five captions makes five
rows. Both lists are streamed, in two passes; what is held is the id and the name of every image.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from revise_captions.errors import Reason, UserError
from revise_captions.io.jsonl import Text, array_elements, scan
from revise_captions.io.rows import BadRow, Row

IMAGES, ANNOTATIONS = "images", "annotations"


def is_coco(path: Path, name: str) -> bool:
    """Whether the file is one object with both lists; of JSON Lines, the first row is looked at."""
    text = Text(path, name)
    found = set()
    try:
        for key in members(text):
            if key in (IMAGES, ANNOTATIONS) and text.peek() == "[":
                found.add(key)
            if len(found) == 2:
                return True
            skip(text)
    except UserError:  # a broken object: as a row of JSON Lines it says where
        return False
    return False


def coco_rows(path: Path, name: str) -> Iterator[Row | BadRow]:
    """The annotations, with the `file_name` (or, without one, the `coco_url`) of their images.

    `line` is the annotation's number in the list. One whose image is not in `images` is a bad row.
    """
    known = images_of(path, name)
    for annotation in _list(path, name, ANNOTATIONS):
        yield annotation if isinstance(annotation, BadRow) else with_image(annotation, known, name)


def with_image(annotation: Row, known: Mapping[Any, str], name: str) -> Row | BadRow:
    """An annotation as a row, with its image among `images_of`."""
    key = annotation.data.get("image_id")
    image = known.get(key) if isinstance(key, str | int) else None
    if image is None:
        detail = f"the image_id {json.dumps(key)} is in no object of `{IMAGES}`"
        raw = annotation.raw or ""
        return BadRow(name, annotation.line, Reason.MISSING_IMAGE, detail, raw)
    return Row(annotation.line, {**annotation.data, "file_name": image}, annotation.raw)


def images_of(path: Path, name: str) -> dict[Any, str]:
    """File name, or address, of every image by its id."""
    known = {}
    for row in _list(path, name, IMAGES):
        data = row.data if isinstance(row, Row) else {}
        where = data.get("file_name") or data.get("coco_url")
        if isinstance(where, str) and isinstance(data.get("id"), str | int):
            known[data["id"]] = where
    return known


def _list(path: Path, name: str, wanted: str) -> Iterator[Row | BadRow]:
    text = Text(path, name)
    for key in members(text):
        if key == wanted and text.peek() == "[":
            yield from array_elements(text)
        else:
            skip(text)


# --- An object, member by member ----------------------------------------------------------------

MAX_KEY = 1 << 20
"""Characters."""
_decoder = json.JSONDecoder()


def members(text: Text) -> Iterator[str]:
    """The keys of the object that begins here. Before the next one is asked for, the value must
    have been read or skipped. Raises `UserError` where the object is broken."""
    if text.peek() != "{":
        raise text.broken("is no JSON object")
    text.at += 1
    while text.peek() != "}":
        key = _key(text)
        if text.peek() != ":":
            raise text.broken("breaks after a key")
        text.at += 1
        text.peek()
        yield key
        if text.peek() not in (",", "}"):
            raise text.broken(f'breaks after the value of "{key}"')
        text.at += text.peek() == ","
    text.at += 1


def _key(text: Text) -> str:
    while True:
        try:
            key, end = _decoder.raw_decode(text.text, text.at)
        except ValueError:
            end = len(text.text)
        if end < len(text.text) and isinstance(key, str):
            text.at = end
            return key
        if end < len(text.text) or len(text.text) - text.at > MAX_KEY or not text.more():
            raise text.broken("has no key where one should be")


def skip(text: Text) -> None:
    """Moves behind the value that begins here, without holding it."""
    depth, quoted, ended = 0, False, False
    while not ended:
        depth, quoted, ended = scan(text, depth, quoted)
        if not ended and not text.more():
            raise text.broken("ends in the middle of a value")
