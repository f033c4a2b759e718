"""Records as HTML: the marked caption, a note for each marked sentence, the image."""

from __future__ import annotations

import base64
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from PIL import Image

from revise_captions.pipelines.output.outcomes import End, end_of, is_flagged
from revise_captions.pipelines.report.sample import ReportRow
from revise_captions.pipelines.verify.findings import findings
from revise_captions.text.html import clip, difference, visible

if TYPE_CHECKING:
    from jinja2 import Environment

#: Longest side of an embedded image, in pixels.
THUMBNAIL = 320
#: Characters of a caption that are shown, and bytes of all records together.
CAPTION_LIMIT = 6_000
RECORDS_LIMIT = 5_000_000
_NOTES_LIMIT = 40
_TEXT_LIMIT = 1_200


@dataclass(frozen=True, slots=True)
class Note:
    """A note under a caption about one sentence; unscored sentences share one per reason.

    `number` counts from 1. `tries` has the refused rewrites as edits, with their attempts.
    """

    number: int
    tone: str
    status: str
    sentence: Mapping[str, Any]
    tries: Sequence[tuple[Markup, Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Mark:
    """A sentence with a note; `change` is its markup in the caption."""

    start: int
    end: int
    change: Markup
    note: Note


@dataclass(frozen=True, slots=True)
class Card:
    """One record as HTML."""

    outcome: str
    html: Markup


def render_cards(
    environment: Environment, rows: Iterable[ReportRow], threshold: float
) -> tuple[list[Card], int]:
    """The records as HTML, until the page is full, and the number that did not fit."""
    template = environment.get_template("record.html.j2")
    cards: list[Card] = []
    size = left_out = 0
    rows = list(rows)
    with ThreadPoolExecutor() as pool:
        images = list(pool.map(lambda row: row.image and thumbnail(row.image), rows))
    for number, (row, image) in enumerate(zip(rows, images, strict=True), 1):
        marks = list(_marks(row, threshold))
        text = template.render(
            row=row,
            number=number,
            image=image,
            pieces=list(_pieces(row, marks)),
            hidden=max(0, len(row.caption) - CAPTION_LIMIT),
            notes=list({mark.note.number: mark.note for mark in marks}.values()),
            revised=visible(clip(row.revised_caption, CAPTION_LIMIT)),
            found=findings(row.revision),
            threshold=threshold,
        )
        size += len(text.encode())
        if size > RECORDS_LIMIT:
            left_out += 1
            continue
        cards.append(Card(str(row.outcome), Markup(text)))
    return cards, left_out


def thumbnail(image: Image.Image) -> Mapping[str, object]:
    """`uri`, `width` and `height` of a JPEG of at most `THUMBNAIL` pixels a side, on white."""
    small = image.copy()
    small.thumbnail((THUMBNAIL, THUMBNAIL))
    layer = small.convert("RGBA")
    flat = Image.new("RGB", layer.size, "white")
    flat.paste(layer, mask=layer.getchannel("A"))
    buffer = io.BytesIO()
    flat.save(buffer, "JPEG", quality=82, optimize=True)
    data = base64.b64encode(buffer.getvalue()).decode()
    return {"uri": f"data:image/jpeg;base64,{data}", "width": flat.width, "height": flat.height}


_STATUS = {
    End.FACTUAL: ("good", "Rewritten"),
    End.GONE: ("gone", "Removed"),
    End.FLAGGED: ("bad", "Still flagged"),
    End.UNSCORED: ("unsure", "Rewritten, then not judged"),
}


def _marks(row: ReportRow, threshold: float) -> Iterator[Mark]:
    """The flagged and unscored sentences of the visible part."""
    unscored: dict[str, Note] = {}
    number = 0
    for sentence in row.revision["sentences"] if row.revision is not None else ():
        start, end = sentence["span"]
        if end > CAPTION_LIMIT or number >= _NOTES_LIMIT:
            return
        text = row.caption[start:end]
        if is_flagged(sentence, threshold):
            number += 1
            note = _note(number, sentence, text, threshold)
        elif sentence["label"] == "unscored":
            reason = sentence["reason"]
            if reason not in unscored:
                number += 1
                unscored[reason] = Note(number, "unsure", "Unscored", sentence, [])
            note = unscored[reason]
        else:
            continue
        yield Mark(start, end, _change(sentence, text), note)


def _note(number: int, sentence: Mapping[str, Any], text: str, threshold: float) -> Note:
    tone, status = _STATUS[end_of(sentence, threshold)]
    if not sentence["accepted"] and tone in ("good", "unsure"):
        status = "Factual in the revised caption" if tone == "good" else "Not judged again"
    return Note(number, tone, status, sentence, _tries(sentence, text))


def _change(sentence: Mapping[str, Any], text: str) -> Markup:
    """The sentence in the marked caption; an accepted rewrite is shown as an edit."""
    if sentence["dropped"]:
        return difference(text, "")
    if sentence["accepted"]:
        return difference(text, clip(sentence["rewrite"], CAPTION_LIMIT))
    return visible(text)


def _tries(sentence: Mapping[str, Any], text: str) -> list[tuple[Markup, Mapping[str, Any]]]:
    """The refused rewrites, as edits of the sentence."""
    refused = [a for a in sentence["attempts"] if a["accepted"] is False][:8]
    return [
        (difference(text, clip(a["text"], _TEXT_LIMIT)) if a["text"] else Markup(""), a)
        for a in refused
    ]


def _pieces(row: ReportRow, marks: Sequence[Mark]) -> Iterator[tuple[Markup, Note | None]]:
    """The caption in pieces: unmarked text, and marked sentences with their notes."""
    cursor = 0
    for mark in marks:
        yield visible(row.caption[cursor : mark.start]), None
        yield mark.change, mark.note
        cursor = mark.end
    yield visible(row.caption[cursor : max(cursor, CAPTION_LIMIT)]), None
