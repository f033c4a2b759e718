"""Decisions about single sentences of a run, made in its report or in the explorer.

They need no sample: each sentence has a name that its caption and image give it, so that a
decision finds its sentence in the run, or in another run of the same captions.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from revise_captions.benchmarks.types import Vote
from revise_captions.errors import BadRecord
from revise_captions.io.fields import Fields, look_up
from revise_captions.io.images import parse_image
from revise_captions.pipelines.annotate.tasks.sampling import SampledLocation, SentenceLocation
from revise_captions.pipelines.annotate.tasks.units import (
    ItemTarget,
    RunCaption,
    SentenceInCaption,
    Unit,
    digest,
    unit,
)
from revise_captions.records import ImageRef

ACCEPT, REJECT, EDIT = DECISIONS = ("accept", "reject", "edit")
_RIGHT, _WRONG = str(Vote.ENTAILMENT).capitalize(), str(Vote.CONTRADICTION).capitalize()


def image_name(ref: ImageRef) -> str:
    """A name that is the same wherever the image stands: its path or URL, or its bytes' hash."""
    if ref.data is not None:
        return hashlib.sha256(ref.data).hexdigest()[:24]
    return ref.path or ref.url or ""


def row_image(row: Mapping[str, Any], fields: Fields) -> ImageRef:
    """The image that a row refers to; an empty reference where that cannot be told."""
    try:
        return ImageRef() if fields.image is None else parse_image(look_up(row, fields.image))
    except BadRecord:
        return ImageRef()


def row_image_name(row: Mapping[str, Any], fields: Fields) -> str:
    return image_name(row_image(row, fields))


def sentence_id(caption: str, image: str, field: str, sentence: int) -> str:
    """The name of a caption's sentence, the same in every run."""
    return digest(f"decided\0{caption}\0{image}\0{field}\0{sentence}")


def decided_unit(
    judged: RunCaption, image: str, sentence: int, name: str, *, path: str = ""
) -> Unit:
    """A sentence of a run, under the name that its decision has.

    Args:
        judged: The caption.
        image: The image's name, as `image_name` gives it.
        sentence: Its number, from 0.
        name: The run's, for messages.
        path: Where training data finds the image; by default its name.
    """
    place = SentenceLocation(judged.row.line, judged.field, sentence)
    found = unit(judged, SampledLocation(place, "decided", 1.0), 0, name)
    identity = sentence_id(judged.caption, image, judged.field, sentence)
    return replace(found, id=identity, image=path or image, shown=path or image)


def decision_rows(unit: Unit, decision: str, text: str = "") -> list[dict[str, Any]]:
    """The lines that a decision makes.

    Args:
        unit: The sentence, from `decided_unit`.
        decision: One of `DECISIONS`.
        text: What is right instead, of an edit.
    """
    wrong = decision != REJECT
    rewrite = ""
    if decision == EDIT:
        rewrite = text.strip()
    elif decision == ACCEPT and unit.revised is not None and not unit.gone:
        rewrite = unit.revised.sentence
    about: dict[str, Any] = {"label": "nonfactual" if wrong else "factual", "assessable": True}
    if wrong:
        about |= {"rationale": unit.rationale or None, "rewrite": rewrite or None}
        about |= {"needs_context": not unit.same_context}
    row = _row(unit, ItemTarget.ORIGINAL, decision, unit.original, about)
    rows = [row | {"rationale": unit.rationale if wrong else "", "rewrite": rewrite}]
    if decision == ACCEPT and rewrite and unit.revised is not None:
        right = {"label": "factual", "assessable": True}
        rows.append(_row(unit, ItemTarget.REVISED, decision, unit.revised, right))
    return rows


def _row(
    unit: Unit,
    asked: ItemTarget,
    decision: str,
    text: SentenceInCaption,
    about: Mapping[str, Any],
) -> dict[str, Any]:
    item = unit.item(asked)
    return {
        "item": item,
        "sentence_id": unit.id,
        "decision": decision,
        "label": _RIGHT if about["label"] == "factual" else _WRONG,
        "id": item,
        "image": unit.image,
        "caption": text.caption,
        "sentences": [{"start": text.span.start, "end": text.span.end, **about}],
    }


def decidable(stored: Mapping[str, Any]) -> Iterator[int]:
    """The sentences of a revision about which there is something to decide."""
    for number, sentence in enumerate(stored["sentences"]):
        if sentence["label"] == "nonfactual" or sentence["attempts"] or sentence["dropped"]:
            yield number
