"""Records as HTML: the marked caption, a note for each marked sentence, the image."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from markupsafe import Markup
from PIL import Image

from revise_captions.io.rows import Row
from revise_captions.pages.evidence import boxes_of, outlined
from revise_captions.pipelines.annotate.tasks.decided import (
    DECISIONS,
    decidable,
    decided_unit,
    decision_rows,
)
from revise_captions.pipelines.annotate.tasks.units import RunCaption
from revise_captions.pipelines.output.outcomes import End, end_of, is_flagged
from revise_captions.pipelines.report.chart_view import ChartTable
from revise_captions.pipelines.report.ranking import ranking
from revise_captions.pipelines.report.sample import ReportRow
from revise_captions.pipelines.verify.findings import findings
from revise_captions.records import CLAUSE, DOUBTED_CLAUSE
from revise_captions.text.html import clip, difference, visible

if TYPE_CHECKING:
    from jinja2 import Environment

#: Longest sides of embedded images in pixels: if all fit on the page, and if they do not.
LARGE, THUMBNAIL = 640, 320
#: Most characters of a caption that are shown, and most bytes of all records together.
CAPTION_LIMIT = 6_000
RECORDS_LIMIT = 5_000_000
_NOTES_LIMIT = 40
_TEXT_LIMIT = 1_200


@dataclass(frozen=True, slots=True)
class Deciding:
    """The choices that a person has for a sentence.

    Attributes:
        sentence: Its index in the caption, from 0.
        text: The initial text of an edit: the last rewrite, or the sentence.
        rewritten: Whether there is a rewrite, or a removal, to accept.
        rows: The lines that each decision produces, for a page that keeps decisions itself; None
            for one whose server does.
        made: The decision already made, or "".
    """

    sentence: int
    text: str
    rewritten: bool
    rows: Mapping[str, Sequence[Mapping[str, Any]]] | None = None
    made: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """A note under a caption about one sentence; unscored sentences share one per reason.

    `number` counts from 1. `tries` has the refused rewrites as edits, with their attempts; `decide`
    holds a person's choices for the sentence; `fixes` are those of the rationale.
    """

    number: int
    tone: str
    status: str
    sentence: Mapping[str, Any]
    tries: Sequence[tuple[Markup, Mapping[str, Any]]]
    decide: Deciding | None = None
    fixes: Sequence[ShownFix] = ()


@dataclass(frozen=True, slots=True)
class ShownFix:
    """A rationale's fix as an edit of the words that it concerns; `status`: how sure it is."""

    change: Markup
    status: str
    basis: str


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


def render_cards(environment: Environment, rows: Iterable[ReportRow]) -> tuple[list[Card], int]:
    """The records as HTML, until the page is full, and the number that did not fit."""
    cards: list[Card] = []
    size = left_out = 0
    rows = list(rows)
    images = _embedded([shown_picture(row) for row in rows])
    for number, (row, image) in enumerate(zip(rows, images, strict=True), 1):
        decide = partial(deciding_here, row)
        text = render_card(environment, row, number, image, decide=decide)
        size += len(text.encode())
        if size > RECORDS_LIMIT:
            left_out += 1
            continue
        cards.append(Card(str(row.outcome), text))
    return cards, left_out


def render_card(
    environment: Environment,
    row: ReportRow,
    number: int,
    image: Mapping[str, object] | None,
    *,
    decide: Callable[[int], Deciding | None] | None = None,
    beside: Sequence[object] = (),
    reading: Mapping[str, str] | None = None,
    others: tuple[str, Sequence[ReportRow], Sequence[int]] = ("", (), ()),
    left: tuple[bool, float] | None = None,
) -> Markup:
    """A record as HTML.

    Args:
        environment: The templates.
        row: The record.
        number: Its number on the page, or in the run.
        image: `uri`, and `width` and `height` if known.
        decide: Gives a person's choices for a sentence, by its number.
        beside: Sentences that another run judges differently.
        reading: Where a server has what was read in the chart (`tables`), and the image with the
            marks that the notes concern outlined (`marked`).
        others: The image's name on the explorer's server ("" without one), its other captions,
            and their numbers.
        left: Whether it needs review, and how many of its sentences are likely wrong, if the
            page's script selects by that.
    """
    marks = list(_marks(row, decide))
    text = environment.get_template("record.html.j2").render(
        row=row,
        number=number,
        image=image,
        pieces=list(_pieces(row, marks)),
        hidden=max(0, len(row.caption) - CAPTION_LIMIT),
        notes=list({mark.note.number: mark.note for mark in marks}.values()),
        revised=visible(clip(row.revised_caption, CAPTION_LIMIT)),
        found=findings(row.revision),
        tables=_tables(row),
        ranked=None if row.revision is None else ranking(row.caption, row.revision, row.labeled),
        threshold=None if row.revision is None else row.revision["threshold"],
        beside=beside,
        reading=reading,
        others=others,
        left=left,
    )
    return Markup(text)


def deciding_here(row: ReportRow, sentence: int) -> Deciding | None:
    """Includes the lines that each decision produces, as the page has no server to make them."""
    if (deciding := deciding_of(row, sentence)) is None or row.revision is None:
        return None
    judged = RunCaption(
        Row(row.line, {}), row.field, row.caption, row.revised_caption, row.revision
    )
    unit = decided_unit(judged, row.image_name, sentence, row.source)
    return replace(deciding, rows={name: decision_rows(unit, name) for name in DECISIONS})


def deciding_of(row: ReportRow, sentence: int) -> Deciding | None:
    """The choices for a sentence; None if it was never flagged."""
    if row.revision is None or sentence not in decidable(row.revision):
        return None
    found = row.revision["sentences"][sentence]
    start, end = found["span"]
    rewrite = found["rewrite"]
    text = row.caption[start:end] if rewrite is None else rewrite
    other = bool(rewrite) and rewrite != row.caption[start:end]
    return Deciding(sentence, text, other or bool(found["dropped"]))


def render_tables(environment: Environment, row: ReportRow) -> str:
    """What was read in a record's chart, as HTML: a part of an opened record."""
    template = environment.get_template("chart_tables.html.j2")
    return template.render(tables=_tables(row), opened=True)


def _tables(row: ReportRow) -> list[ChartTable]:
    return [] if row.chart is None else row.chart.tables()


def has_boxes(row: ReportRow) -> bool:
    """Whether there is anything to outline in the image."""
    sentences = row.revision["sentences"] if row.revision is not None else ()
    return any(boxes_of(sentence) for sentence in sentences)


def shown_picture(row: ReportRow) -> Image.Image | None:
    """The image with the places that the notes refer to outlined, each with its note's number."""
    if row.image is None:
        return None
    notes = [(mark.note.number, boxes_of(mark.note.sentence)) for mark in _marks(row, None)]
    return outlined(row.image, [note for note in notes if note[1]])


def _embedded(images: Sequence[Image.Image | None]) -> list[Mapping[str, object] | None]:
    """The images as data URIs: large if they all fit on the page, small otherwise."""
    with ThreadPoolExecutor() as pool:
        for side in (LARGE, THUMBNAIL):
            made = list(pool.map(lambda image: image and thumbnail(image, side), images))  # noqa: B023
            size = sum(len(str(found["uri"])) for found in made if found)
            if size < RECORDS_LIMIT / 2:
                break
    return made


def thumbnail(image: Image.Image, side: int = THUMBNAIL) -> Mapping[str, object]:
    """`uri`, `width` and `height` of a JPEG of at most `side` pixels a side."""
    data, (width, height) = as_jpeg(image, side)
    uri = f"data:image/jpeg;base64,{base64.b64encode(data).decode()}"
    return {"uri": uri, "width": width, "height": height, "large": ""}


def as_jpeg(image: Image.Image, side: int) -> tuple[bytes, tuple[int, int]]:
    """A JPEG of at most `side` pixels a side, composited on white, and its size."""
    small = image.copy()
    small.thumbnail((side, side))
    layer = small.convert("RGBA")
    flat = Image.new("RGB", layer.size, "white")
    flat.paste(layer, mask=layer.getchannel("A"))
    buffer = io.BytesIO()
    flat.save(buffer, "JPEG", quality=82, optimize=True)
    return buffer.getvalue(), flat.size


_STATUS = {
    End.FACTUAL: ("good", "Rewritten"),
    End.GONE: ("gone", "Removed"),
    End.FLAGGED: ("bad", "Still flagged"),
    End.UNSCORED: ("unsure", "Rewritten, then not judged"),
    End.DECIDED: ("good", "Decided by a person"),
}


def _marks(row: ReportRow, decide: Callable[[int], Deciding | None] | None) -> Iterator[Mark]:
    """The flagged and unscored sentences of the visible part."""
    threshold = row.revision["threshold"] if row.revision else 0.0
    unscored: dict[str, Note] = {}
    number = 0
    for place, sentence in enumerate(row.revision["sentences"] if row.revision else ()):
        start, end = sentence["span"]
        if end > CAPTION_LIMIT or number >= _NOTES_LIMIT:
            return
        text = row.caption[start:end]
        if is_flagged(sentence, threshold):
            number += 1
            deciding = decide(place) if decide is not None else None
            note = replace(_note(number, sentence, text, threshold), decide=deciding)
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
    end = end_of(sentence, threshold)
    tone, status = _STATUS[end]
    if end is not End.DECIDED and not sentence["accepted"] and tone in ("good", "unsure"):
        status = "Factual in the revised caption" if tone == "good" else "Not judged again"
    fixes = [_shown_fix(fix, text) for fix in sentence["fixes"]]
    return Note(number, tone, status, sentence, _tries(sentence, text), fixes=fixes)


#: Of clauses, which are rewritten or removed without a person.
_CLAUSES = {CLAUSE: "Wrong clause", DOUBTED_CLAUSE: "Doubtful clause"}


def _shown_fix(fix: Mapping[str, Any], text: str) -> ShownFix:
    start, end = fix["span"]
    wrong, basis = clip(text[start:end], _TEXT_LIMIT), fix["basis"].rstrip(".")
    if status := _CLAUSES.get(fix["kind"]):
        return ShownFix(visible(wrong), status, basis)
    change = difference(wrong, clip(fix["right"], _TEXT_LIMIT))
    return ShownFix(change, "Certain" if fix["certain"] else "Left to a person", basis)


def _change(sentence: Mapping[str, Any], text: str) -> Markup:
    """The sentence in the marked caption; an accepted rewrite is shown as an edit."""
    if sentence["dropped"]:
        return difference(text, "")
    if sentence["accepted"]:
        return difference(text, clip(sentence["rewrite"], CAPTION_LIMIT))
    return visible(text)


def _tries(sentence: Mapping[str, Any], text: str) -> list[tuple[Markup, Mapping[str, Any]]]:
    """The refused rewrites, as edits of the sentence; a repeated one is shown once."""
    refused = {(a["text"], a["why"]): a for a in sentence["attempts"] if a["accepted"] is False}
    return [
        (difference(text, clip(a["text"], _TEXT_LIMIT)) if a["text"] else Markup(""), a)
        for a in list(refused.values())[:8]
    ]


def _pieces(row: ReportRow, marks: Sequence[Mark]) -> Iterator[tuple[Markup, Note | None]]:
    """The caption in pieces: unmarked text, and marked sentences with their notes."""
    cursor = 0
    for mark in marks:
        yield visible(row.caption[cursor : mark.start]), None
        yield mark.change, mark.note
        cursor = mark.end
    yield visible(row.caption[cursor : max(cursor, CAPTION_LIMIT)]), None
