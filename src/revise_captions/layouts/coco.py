"""COCO JSON: `{"images": [{"id", "file_name"}], "annotations": [{"image_id", "caption"}], …}`.

A row is an annotation with the `file_name` of its image, so an image with five captions makes five
rows. Both lists are streamed, in two passes; only each image's id and name are held in memory. In
an output, annotations gain two members, and everything around them keeps its bytes.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import IO, Any

from revise_captions.errors import Reason, UserError
from revise_captions.io.jsonl import Text, array_elements, chunks, element, scan
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Layout, Source
from revise_captions.layouts.json_rows import edited
from revise_captions.layouts.style import OutputStyle
from revise_captions.runs.pairing import Pairing

IMAGES, ANNOTATIONS = "images", "annotations"
_BOM = b"\xef\xbb\xbf"


def is_coco(path: Path, name: str) -> bool:
    """Whether the file is one object with both lists; for JSON Lines, checks the first row."""
    text = Text(path, name)
    found = set()
    try:
        for key in members(text):
            if key in (IMAGES, ANNOTATIONS) and text.peek() == "[":
                found.add(key)
            if len(found) == 2:
                return True
            skip(text)
    except UserError:  # a broken object: read as JSON Lines, it reports where
        return False
    return False


def coco_rows(path: Path, name: str) -> Iterator[Row | BadRow]:
    """The annotations, with the `file_name` (or, without one, the `coco_url`) of their images.

    `line` is the annotation's number in the list. One whose image is not in `images` is a bad row.
    """
    known = images_of(path, name)
    for annotation in listed(path, name, ANNOTATIONS):
        yield annotation if isinstance(annotation, BadRow) else with_image(annotation, known, name)


def with_image(annotation: Row, known: Mapping[Any, str], name: str) -> Row | BadRow:
    """An annotation as a row, with its image from `images_of`."""
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
    for row in listed(path, name, IMAGES):
        data = row.data if isinstance(row, Row) else {}
        where = data.get("file_name") or data.get("coco_url")
        if isinstance(where, str) and isinstance(data.get("id"), str | int):
            known[data["id"]] = where
    return known


def listed(path: Path, name: str, wanted: str) -> Iterator[Row | BadRow]:
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
    """The keys of the object that begins here. Each value must be read or skipped before the next
    key is requested. Raises `UserError` if the object is broken."""
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
    """Moves past the value that begins here, without holding it."""
    depth, quoted, ended = 0, False, False
    while not ended:
        depth, quoted, ended = scan(text, depth, quoted)
        if not ended and not text.more():
            raise text.broken("ends in the middle of a value")


# --- Writing --------------------------------------------------------------------------------------


def write_coco(source: Source, pairs: Pairing, file: IO[bytes], style: OutputStyle) -> None:
    """Copies the file; of the annotations, only the good ones of this run's shard and limit, with
    the commas and the white space before them."""
    text = Text(source.path, source.name)
    if next(chunks(source.path, source.name), b"").startswith(_BOM):
        file.write(_BOM)

    def copy(part: str) -> None:
        file.write(part.encode("utf-8", "surrogateescape"))

    text.passed = copy
    for key in members(text):
        if key == ANNOTATIONS and text.peek() == "[":
            text.at += 1
            text.drop()
            text.passed = len
            space = _write_annotations(text, source, pairs, copy, style)
            text.drop()
            text.passed = copy
            copy(space)
            text.at += 1
        else:
            skip(text)
    while text.more():
        text.at = len(text.text)
    text.at = len(text.text)
    text.drop()


def _write_annotations(
    text: Text, source: Source, pairs: Pairing, copy: Callable[[str], None], style: OutputStyle
) -> str:
    """Writes the list's content; returns the white space before its closing bracket, where the
    text then is."""
    known = images_of(source.path, source.name)
    mine = source.select(itertools.count(1))
    following = next(mine, None)
    first = gap = _gap(text)
    number = written = 0
    while text.peek() != "]":
        number += 1
        found = element(text, number)
        if number == following:
            following = next(mine, None)
            row = found if isinstance(found, BadRow) else with_image(found, known, source.name)
            result = pairs.result_for(row)
            if result is not None:
                assert isinstance(row, Row)
                copy((gap if written else first) + edited(row.raw or "", row, result, style))
                written += 1
        gap = _gap(text)
    return gap


_GAP = re.compile(r"[ \t\r\n,]*")


def _gap(text: Text) -> str:
    parts = []
    while True:
        match = _GAP.match(text.text, text.at)
        assert match is not None
        parts.append(match[0])
        text.at = match.end()
        if text.at < len(text.text) or not text.more():
            return "".join(parts)


def _open(name: str, path: Path, lacking: Callable[[str], None]) -> Source:
    return Source(name, COCO, path, path.parent, partial(coco_rows, path, name))


def _takes(path: Path, head: bytes) -> bool:
    return head.removeprefix(_BOM).lstrip().startswith(b"{") and is_coco(path, str(path))


COCO = Layout("COCO JSON", _open, write_coco, (".json",), _takes, only_its_own=True)
