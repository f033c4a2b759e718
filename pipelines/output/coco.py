"""COCO JSON whose annotations gain two members; everything around them keeps its bytes."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import IO

from revise_captions.io.jsonl import Text, chunks, element
from revise_captions.io.layouts.coco import ANNOTATIONS, images_of, members, skip, with_image
from revise_captions.io.readers import Source
from revise_captions.io.rows import BadRow, Row
from revise_captions.pipelines.output.lines import edited
from revise_captions.pipelines.output.style import OutputStyle
from revise_captions.runs.pairing import Pairing

_BOM = b"\xef\xbb\xbf"


def write_coco(source: Source, pairs: Pairing, file: IO[bytes], style: OutputStyle) -> None:
    """Copies the file; in the list of annotations, the good ones of this run's shard and limit,
    with the commas and the white space that stand before them."""
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
    """Writes the list's content; returns the white space before its closing bracket, at which the
    text stands then."""
    known = images_of(source.path, source.name)
    mine = source.select(itertools.count(1))
    following = next(mine, 0)
    first = gap = _gap(text)
    number = written = 0
    while text.peek() != "]":
        number += 1
        found = element(text, number)
        if number == following:
            following = next(mine, 0)
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
