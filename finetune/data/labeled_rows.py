"""Labels in the formats that people already have, as rows of training data.

The names of a file's fields determine its kind, in this order:

    training rows       `sentences`: as in train.jsonl; decisions kept by `captions explore`
    a run               `revision`: its critic's verdicts, or people's later decisions
    preference pairs    `chosen`, `rejected`: what only the rejected caption says counts as wrong
    labeled captions    a label, for a caption or for one of its sentences

The layout is any that captions are read from: JSONL, CSV, Parquet, …
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from pathlib import Path
from typing import Any, NamedTuple

import click

from revise_captions.command_line.options import option
from revise_captions.command_line.shared import shared_option
from revise_captions.errors import UserError
from revise_captions.io.fields import (
    CAPTIONS,
    Fields,
    captions_of,
    find_field,
    look_up,
    no_known_field,
    recognize,
    said,
)
from revise_captions.io.rows import Row
from revise_captions.outside_text import on_one_line
from revise_captions.text.sentences import split

SENTENCES = ("sentence", "claim", "statement", "fact")
RATIONALES = ("rationale", "explanation", "critique", "reason", "why", "feedback", "comment")
REWRITES = ("rewrite", "correction", "corrected", "corrected_sentence", "fixed")
#: Fields whose "yes" means factual, and those whose "yes" means wrong.
FACTUAL_FIELDS = (
    *("label", "factual", "is_factual", "factuality", "correct", "is_correct", "right", "verdict"),
    *("faithful", "accurate", "supported", "entailment"),
)
WRONG_FIELDS = (
    *("nonfactual", "wrong", "is_wrong", "incorrect", "error", "has_error"),
    *("hallucination", "hallucinated", "is_hallucination", "is_hallucinated"),
)
FACTUAL_WORDS = frozenset(
    {"factual", "correct", "right", "entailment", "entailed", "supported", "accurate"}
    | {"faithful", "good", "ok"}
)
WRONG_WORDS = frozenset(
    {"nonfactual", "non-factual", "incorrect", "wrong", "contradiction", "contradicted"}
    | {"unsupported", "inaccurate", "unfaithful", "hallucination", "hallucinated", "bad"}
)
YES, NO = frozenset({"true", "yes", "1", "1.0"}), frozenset({"false", "no", "0", "0.0"})
UNSURE_WORDS = frozenset({"", "neutral", "unsure", "unscored", "unknown", "n/a", "none"})
_DECIDED = {"reject": "factual", "accept": "nonfactual", "edit": "nonfactual"}


@dataclass(frozen=True, slots=True)
class RowOptions:
    """If DATA is a file (its fields are found by name)."""

    validation_share: float = option(
        0.1,
        "Share of the images to validate on.",
        type=click.FloatRange(0, 1, min_open=True, max_open=True),
    )
    image_field: str | None = shared_option("--image-field")
    caption_field: str | None = option(None, "Field that holds the caption.")
    sentence_field: str | None = option(
        None, "Field that holds a sentence of the caption, which the label is about."
    )
    label_field: str | None = option(None, "Field that holds the label.")
    factual_value: str | None = option(
        None, "Value of the label that means factual; all others mean wrong."
    )
    rationale_field: str | None = option(None, "Field that says what is wrong.")
    rewrite_field: str | None = option(None, "Field that holds the corrected sentence.")
    image_root: Path | None = shared_option("--image-root")
    allow_urls: bool = shared_option("--allow-urls")


@dataclass(frozen=True, slots=True)
class LabeledText:
    """A caption, its labeled sentences as in training rows, and the other fields to keep."""

    caption: str
    sentences: Sequence[dict[str, Any]]
    more: Mapping[str, Any] = field(default_factory=dict)


#: Reads a row's labels. Raises one of `records.MALFORMED` or BadRecord.
Reader = Callable[[Mapping[str, Any]], Sequence[LabeledText]]
_Rows = Sequence[Mapping[str, Any]]


class LabelKind(NamedTuple):
    """A kind of rows.

    Attributes:
        title: Its name for people.
        judged: Whether each label is from people, or an oracle.
        image: The field that holds the image.
        read: Reads a row.
    """

    title: str
    judged: bool
    image: str
    read: Reader


def kind_of(rows: _Rows, options: RowOptions) -> LabelKind:
    """A file's kind, by its first rows.

    Raises:
        UserError: No kind's fields are there; the message names those that are.
    """

    def most(*names: str) -> bool:
        held = sum(all(row.get(name) is not None for name in names) for row in rows)
        return 2 * held > len(rows)

    image = recognize(rows, Fields(options.image_field, captionless=True)).image or ""
    if options.label_field is None and most("sentences"):
        return LabelKind("training rows", True, image, _training_row)
    if options.label_field is None and most("revision"):
        title = "a run: labels are its critic's, or of who decided"
        return LabelKind(title, False, image, _run_reader(rows, image, options))
    if options.label_field is None and most("chosen", "rejected"):
        title = "preference pairs: a sentence that only the rejected caption has counts as wrong"
        return LabelKind(title, False, image, _preference)
    return LabelKind("labeled captions", True, image, _labeled_reader(rows, options))


def _training_row(row: Mapping[str, Any]) -> Sequence[LabeledText]:
    more = {name: row[name] for name in ("description", "asides") if row.get(name)}
    return [LabeledText(row["caption"], row["sentences"], more)]


def _run_reader(rows: _Rows, image: str, options: RowOptions) -> Reader:
    names = tuple(filter(None, (options.caption_field or "").split(",")))
    fields = recognize(rows, Fields(image, names))

    def read(row: Mapping[str, Any]) -> Sequence[LabeledText]:
        stored = row["revision"]
        of_one = isinstance(stored.get("sentences"), list)
        parts = {fields.captions[0]: stored} if of_one else stored
        captions = captions_of(Row(0, row), Fields(image, tuple(parts)))
        return [
            LabeledText(captions[name], list(_judged(part["sentences"])))
            for name, part in parts.items()
        ]

    return read


def _judged(items: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """The sentences of a revision that have a verdict."""
    changed = False  # an earlier change, which a rewrite's truth may depend on
    for item in items:
        label = _DECIDED.get((item.get("decided") or {}).get("as", ""), item["label"])
        kept = bool(item["accepted"]) and not item["dropped"]
        start, end = item["span"]
        row = {"start": start, "end": end, "label": label}
        row |= {"assessable": item["assessable"] is not False}
        if label == "nonfactual":
            row |= {"rationale": item["rationale"], "rewrite": item["rewrite"] if kept else None}
            row |= {"needs_context": changed}
        if label != "unscored":
            yield row
        changed = changed or kept or bool(item["dropped"])


def _preference(row: Mapping[str, Any]) -> Sequence[LabeledText]:
    if row.get("by") == "c_r":
        raise ValueError("the pair was decided by how much is said, not by what is true")
    chosen, rejected = said(row["chosen"]), said(row["rejected"])
    right, wrong = ([(s, s.of(text)) for s in split(text)] for text in (chosen, rejected))
    texts = [text for _, text in right]
    rewrites: dict[int, str] = {}
    aligned = SequenceMatcher(None, texts, [text for _, text in wrong], autojunk=False)
    for tag, a, b, c, d in aligned.get_opcodes():
        if tag == "replace" and b - a == d - c:
            rewrites |= dict(zip(range(c, d), texts[a:b], strict=True))
    found: list[dict[str, Any]] = []
    for number, (span, text) in enumerate(wrong):
        label = "factual" if text in texts else "nonfactual"
        found.append({"start": span.start, "end": span.end, "label": label})
        if label == "nonfactual":
            found[-1] |= {"rewrite": rewrites.get(number), "needs_context": number > 0}
    if all(one["label"] == "factual" for one in found):
        raise ValueError("`rejected` says nothing that `chosen` does not say")
    good = [{"start": s.start, "end": s.end, "label": "factual"} for s, _ in right]
    return [LabeledText(chosen, good), LabeledText(rejected, found)]


def _labeled_reader(rows: _Rows, options: RowOptions) -> Reader:
    label = find_field(rows, "label", options.label_field, (*FACTUAL_FIELDS, *WRONG_FIELDS))
    if label is None:
        raise no_known_field("label", rows)
    sentence = find_field(rows, "sentence", options.sentence_field, SENTENCES)
    rationale = find_field(rows, "rationale", options.rationale_field, RATIONALES)
    rewrite = find_field(rows, "rewrite", options.rewrite_field, REWRITES)
    taken = {label, sentence, rationale, rewrite}
    known = tuple(name for name in CAPTIONS if name not in taken)
    caption = find_field(rows, "caption", options.caption_field, known)
    if (whole := caption or sentence) is None:
        raise no_known_field("caption", rows)
    inverted = label.lower() in WRONG_FIELDS
    for row in rows:
        _truth(look_up(row, label), label, inverted, options.factual_value)

    def read(row: Mapping[str, Any]) -> Sequence[LabeledText]:
        text = captions_of(Row(0, row), Fields(None, (whole,)))[whole]
        part = str(look_up(row, sentence)).strip() if sentence and caption else text
        start = text.find(part)
        if start < 0 or not part:
            raise ValueError(f"the caption lacks its sentence “{on_one_line(part)[:60]}”")
        factual = _truth(look_up(row, label), label, inverted, options.factual_value)
        if factual is None:
            raise ValueError("people were unsure")
        item: dict[str, Any] = {"start": start, "end": start + len(part)}
        item |= {"label": "factual" if factual else "nonfactual"}
        if not factual:
            item |= {"rationale": _text(row, rationale), "rewrite": _text(row, rewrite)}
        return [LabeledText(text, [item])]

    return read


def _text(row: Mapping[str, Any], name: str | None) -> str | None:
    value = look_up(row, name) if name else None
    return str(value).strip() or None if value is not None else None


def _truth(value: object, name: str, inverted: bool, factual: str | None) -> bool | None:
    """A label's meaning; None if it is empty. Raises `UserError` for an unexplained value."""
    told = str("" if value is None else value).strip().lower()
    if factual is not None:
        return told == factual.strip().lower() if told else None
    if told in UNSURE_WORDS:
        return None
    if told in FACTUAL_WORDS or told in WRONG_WORDS:
        return told in FACTUAL_WORDS
    if told in YES or told in NO:
        return (told in YES) is not inverted
    raise UserError(
        f'"{on_one_line(name)}" holds “{on_one_line(told)[:60]}”: does that mean right or wrong?',
        hint="say which value means factual: --factual-value VALUE",
    )
