"""The AutoRater: from judged captions to the counts behind a leaderboard.

    captions by captioners ─ revise-captions --stage critique ─ one row of counts per caption ─
    ratings.json ─ leaderboard

Rows that revise-captions has revised are rated twice, before and after, as `NAME` and
`NAME, revised`. `ratings.json` keeps counts by captioner and image, so that captioners can be added
without judging the others again, and the settings behind them: results of another critic or
threshold are never mixed in.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from revise_captions.errors import UserError
from revise_captions.io.fields import Fields, look_up
from revise_captions.io.readers import open_rows, open_source
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.writing import write_json
from revise_captions.pipelines.output.error_types import type_of
from revise_captions.records import Label, Span
from revise_captions.signature import settings_of
from revise_captions.stats.leaderboard import (
    COLUMNS,
    RatedSentence,
    Ratings,
    collect,
    counts_of,
)

#: What of a signature decides a rating; the reviser does not.
RATER = (
    "critic",
    "adapter",
    "prompt",
    "attention-mode",
    "dtype",
    "threshold",
    "engine",
    "transformers",
)
#: Fields that say who wrote a caption, best first.
CAPTIONER_FIELDS = ("model", "captioner", "vlm_model", "model_name", "system")
REVISED = ", revised"


#: By captioner and image: flagged sentences of each kind of error.
Errors = Mapping[str, Mapping[str, Mapping[str, int]]]


@dataclass(frozen=True, slots=True)
class RatedCaptioners:
    """Ratings, the settings that produced them, and error types by captioner and image."""

    ratings: Ratings
    rater: Mapping[str, str]
    errors: Errors = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Counted:
    """One caption's `leaderboard.counts_of`, its error types, and the rater's signature."""

    captioner: str
    image: str
    counts: tuple[float, ...]
    errors: Mapping[str, int]
    signature: str


def is_judged(name: str) -> bool:
    """Whether the file is an output of revise-captions: its first row has a `revision`."""
    first = next(iter(open_rows(name).rows()), None)
    return isinstance(first, Row) and "revision" in first.data


def read_judged(
    name: str,
    *,
    captioner: str | None = None,
    captioner_field: str | None = None,
    image_field: str | None = None,
    caption_field: str | None = None,
) -> Iterator[Counted]:
    """Counts of each row of an output of revise-captions; revised rows give two.

    Args:
        captioner: Captioner of the whole file.

    Raises:
        UserError: A row has no `revision`, or nothing names its captioner or image.
    """
    fields = Fields(None, (caption_field,) if caption_field else ())
    source = open_source(name, fields=fields, need_image=False)
    for row in source.rows():
        if isinstance(row, BadRow):
            raise UserError(f"{name}, row {row.line}: {row.detail}")
        revision = row.data.get("revision")
        if not isinstance(revision, Mapping) or "sentences" not in revision:
            raise UserError(f"{name}, row {row.line} has no `revision` of a single caption")
        who = captioner or _named(row.data, captioner_field, CAPTIONER_FIELDS)
        image = _named(row.data, image_field, _IMAGES)
        if who is None or image is None:
            missing, option = ("captioner", "--captioner-field") if who is None else ("image", "")
            raise UserError(
                f"{name}, row {row.line}: no field names its {missing}",
                hint=f"set {option or '--image-field'}, or pass NAME=FILE",
            )
        signature = str(revision["signature"])
        settings = settings_of(signature)
        threshold = float(settings["threshold"])
        caption = str(look_up(row.data, source.fields.captions[0]))
        before = [RatedSentence(Label(s["label"]), s["assessable"]) for s in revision["sentences"]]
        kinds = _kinds(row.data, caption, revision["sentences"])
        flagged = Counter(k for k, s in zip(kinds, before, strict=True) if _wrong(s))
        yield Counted(who, image, counts_of(before, len(caption.split())), flagged, signature)
        if "reviser" in settings:  # also where it had nothing to do
            now = [_after(s, threshold) for s in revision["sentences"]]
            kept = [sentence for sentence in now if sentence is not None]
            words = len(str(row.data["revised_caption"]).split())
            left = Counter(
                k for k, s in zip(kinds, now, strict=True) if s is not None and _wrong(s)
            )
            yield Counted(who + REVISED, image, counts_of(kept, words), left, signature)


def _wrong(sentence: RatedSentence) -> bool:
    return sentence.label is Label.NONFACTUAL


def _kinds(
    row: Mapping[str, Any], caption: str, sentences: Sequence[Mapping[str, Any]]
) -> list[str]:
    """The error type of each sentence: from the row's labels (`error_type`, `error_types` of
    its `sentences`), otherwise from the critic's rationale.
    """
    labels = row.get("sentences")
    named = [s for s in labels if isinstance(s, Mapping)] if isinstance(labels, list) else []
    found = []
    for sentence in sentences:
        span = Span(*sentence["span"])
        own = next((kind for s in named if (kind := _named_kind(s, span))), None)
        rationale = str(sentence.get("rationale") or "")
        found.append(own or type_of(span.of(caption), rationale))
    return found


def _named_kind(label: Mapping[str, Any], span: Span) -> str | None:
    start, end = label.get("start"), label.get("end")
    if not (
        isinstance(start, int) and isinstance(end, int) and span.start < end and start < span.end
    ):
        return None
    kinds = label.get("error_types") or label.get("error_type")
    kind = kinds[0] if isinstance(kinds, list) and kinds else kinds
    return kind if isinstance(kind, str) and kind else None


_IMAGES = ("image_id", "image", "image_path", "image_file", "file_name", "img", "url", "jpg", "png")


def _named(row: Mapping[str, Any], field: str | None, known: Sequence[str]) -> str | None:
    for name in (field,) if field else known:
        value = look_up(row, name)
        if isinstance(value, str | int) and str(value):
            return str(value)
    return None


def _after(sentence: Mapping[str, Any], threshold: float) -> RatedSentence | None:
    """The sentence in the revised caption; None if it is gone."""
    if sentence["dropped"]:
        return None
    if sentence["p_after"] is None:
        return RatedSentence(Label.UNSCORED, sentence["assessable"])
    label = Label.FACTUAL if sentence["p_after"] >= threshold else Label.NONFACTUAL
    return RatedSentence(label, sentence["assessable"])


def rate(rows: Iterable[Counted]) -> RatedCaptioners:
    """Ratings of captions. Raises `UserError` if their raters differ."""
    seen: dict[str, dict[str, str]] = {}
    errors: dict[str, dict[str, dict[str, int]]] = {}

    def counted() -> Iterator[tuple[str, str, tuple[float, ...]]]:
        for row in rows:
            if row.signature not in seen:
                seen[row.signature] = rater_of(row.signature)
                _same(next(iter(seen.values())), seen[row.signature], "the input")
            if row.errors:
                kinds = errors.setdefault(row.captioner, {}).setdefault(row.image, {})
                for kind, count in row.errors.items():
                    kinds[kind] = kinds.get(kind, 0) + count
            yield row.captioner, row.image, row.counts

    ratings = collect(counted())
    return RatedCaptioners(ratings, next(iter(seen.values()), {}), errors)


def rater_of(signature: str) -> dict[str, str]:
    """The settings in a signature that decide a rating."""
    settings = settings_of(signature)
    return {key: settings[key] for key in RATER if key in settings}


def _same(one: Mapping[str, str], other: Mapping[str, str], where: str) -> None:
    names = [key for key in RATER if one.get(key) != other.get(key)]
    if names:
        named = "; ".join(f"{key}: {one.get(key)} and {other.get(key)}" for key in names)
        raise UserError(
            f"{where} was rated with different settings, which must not be mixed ({named})",
            hint="rate all captioners with the same critic and threshold",
        )


def joined(old: RatedCaptioners, new: RatedCaptioners) -> RatedCaptioners:
    """Both together. Raises `UserError` for different raters or shared captioners."""
    _same(old.rater, new.rater, "the leaderboard")
    if twice := sorted(set(old.ratings.captioners) & set(new.ratings.captioners)):
        raise UserError(
            f"the leaderboard already has {', '.join(twice)}",
            hint="choose a new --out, or remove the captioner from the input",
        )
    rows = [*_rows(old.ratings), *_rows(new.ratings)]
    return RatedCaptioners(collect(rows), old.rater, {**old.errors, **new.errors})


def _rows(ratings: Ratings) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    for captioner, of_images in zip(ratings.captioners, ratings.counts, strict=True):
        for image, counts in zip(ratings.images, of_images, strict=True):
            if counts.any():
                yield captioner, image, tuple(counts.tolist())


def write_ratings(path: Path, rated: RatedCaptioners) -> None:
    """Writes `ratings.json`: rater, counts by captioner and image, error types."""
    counts: dict[str, dict[str, Any]] = {}
    for captioner, image, row in _rows(rated.ratings):
        counts.setdefault(captioner, {})[image] = [int(v) if v == int(v) else v for v in row]
    stored = {"rater": rated.rater, "columns": COLUMNS, "counts": counts, "errors": rated.errors}
    write_json(path, stored)


def read_ratings(path: Path) -> RatedCaptioners:
    """Reads what `write_ratings` wrote."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if tuple(stored["columns"]) != COLUMNS:
            raise ValueError("it was written by another version")
        rows = [
            (captioner, image, tuple(np.asarray(row, dtype=np.float64).tolist()))
            for captioner, of_images in stored["counts"].items()
            for image, row in of_images.items()
        ]
        errors = {
            str(who): {str(image): {str(k): int(n) for k, n in kinds.items()}
                       for image, kinds in of_images.items()}
            for who, of_images in stored.get("errors", {}).items()
        }  # fmt: skip
        return RatedCaptioners(collect(rows), dict(stored["rater"]), errors)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is no leaderboard's ratings: {error}") from None
