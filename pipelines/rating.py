"""The AutoRater: judged captions in, what a leaderboard is made of out.

    captions by captioners ─ revise-captions --stage critique (journal, quarantine, resumable) ─
    one row of counts per caption ─ ratings.json ─ leaderboard

Rows that the main command has revised are rated twice, as they were and as they are now: as
`NAME` and `NAME, revised`. `ratings.json` keeps counts by captioner and image, so a captioner can
be added without scoring the others again, and the settings that decided them: what another critic
or another threshold rated is never mixed in.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from revise_captions.errors import UserError
from revise_captions.fields import Fields, look_up
from revise_captions.leaderboard import COLUMNS, Ratings, Sentence, collect, counts_of
from revise_captions.pipelines.writers import replacing
from revise_captions.readers import open_rows, open_source
from revise_captions.records import Label
from revise_captions.rows import BadRow, Row, dumps
from revise_captions.signature import settings_of

#: What of a signature decides a rating; the reviser does not.
RATER = ("critic", "adapter", "prompt", "regime", "dtype", "threshold", "engine", "transformers")
#: Fields that say who wrote a caption, best first.
CAPTIONER_FIELDS = ("model", "captioner", "vlm_model", "model_name", "system")
REVISED = ", revised"


@dataclass(frozen=True, slots=True)
class Rated:
    """Ratings, and the settings that all of them were made with."""

    ratings: Ratings
    rater: Mapping[str, str]


def is_judged(name: str) -> bool:
    """Whether the main command wrote this file: its first row has a `revision`."""
    first = next(iter(open_rows(name).rows()), None)
    return isinstance(first, Row) and "revision" in first.data


def read_judged(
    name: str,
    *,
    captioner: str | None = None,
    captioner_field: str | None = None,
    image_field: str | None = None,
    caption_field: str | None = None,
) -> Iterator[tuple[str, str, tuple[float, ...], str]]:
    """(captioner, image, counts, signature) of each row that the main command wrote.

    `captioner` names the one of a whole file. Raises `UserError` where a row has no `revision`, or
    nothing says whose caption or which image it is.
    """
    fields = Fields(None, (caption_field,) if caption_field else ())
    source = open_source(name, fields=fields, need_image=False)
    for row in source.rows():
        if isinstance(row, BadRow):
            raise UserError(f"{name}, row {row.line}: {row.detail}")
        revision = row.data.get("revision")
        if not isinstance(revision, Mapping) or "sentences" not in revision:
            raise UserError(f"{name}, row {row.line} has no `revision` of one caption")
        who = captioner or _named(row.data, captioner_field, CAPTIONER_FIELDS)
        image = _named(row.data, image_field, _IMAGES)
        if who is None or image is None:
            missing, option = ("captioner", "--captioner-field") if who is None else ("image", "")
            raise UserError(
                f"{name}, row {row.line}: no field names its {missing}",
                hint=f"name it with {option or '--image-field'}, or give NAME=FILE",
            )
        signature = str(revision["signature"])
        settings = settings_of(signature)
        threshold = float(settings["threshold"])
        before = [Sentence(Label(s["label"]), s["assessable"]) for s in revision["sentences"]]
        caption = str(look_up(row.data, source.fields.captions[0]))
        yield who, image, counts_of(before, len(caption.split())), signature
        if "reviser" in settings:  # also where it had nothing to do
            now = [after for s in revision["sentences"] if (after := _after(s, threshold))]
            words = len(str(row.data["revised_caption"]).split())
            yield who + REVISED, image, counts_of(now, words), signature


_IMAGES = ("image_id", "image", "image_path", "image_file", "file_name", "img", "url", "jpg", "png")


def _named(row: Mapping[str, Any], field: str | None, known: Sequence[str]) -> str | None:
    for name in (field,) if field else known:
        value = look_up(row, name)
        if isinstance(value, str | int) and str(value):
            return str(value)
    return None


def _after(sentence: Mapping[str, Any], threshold: float) -> Sentence | None:
    """The sentence as it stands now; None where it is gone."""
    if sentence["dropped"]:
        return None
    if sentence["p_after"] is None:
        return Sentence(Label.UNSCORED, sentence["assessable"])
    label = Label.FACTUAL if sentence["p_after"] >= threshold else Label.NONFACTUAL
    return Sentence(label, sentence["assessable"])


def rate(rows: Iterable[tuple[str, str, tuple[float, ...], str]]) -> Rated:
    """Ratings from `read_judged` rows. Raises `UserError` where their raters differ."""
    seen: dict[str, dict[str, str]] = {}

    def counted() -> Iterator[tuple[str, str, tuple[float, ...]]]:
        for captioner, image, counts, signature in rows:
            if signature not in seen:
                seen[signature] = rater_of(signature)
                _same(next(iter(seen.values())), seen[signature], "the input")
            yield captioner, image, counts

    ratings = collect(counted())
    return Rated(ratings, next(iter(seen.values()), {}))


def rater_of(signature: str) -> dict[str, str]:
    """The settings in a signature that decide a rating."""
    settings = settings_of(signature)
    return {key: settings[key] for key in RATER if key in settings}


def _same(one: Mapping[str, str], other: Mapping[str, str], where: str) -> None:
    names = [key for key in RATER if one.get(key) != other.get(key)]
    if names:
        named = "; ".join(f"{key}: {one.get(key)} and {other.get(key)}" for key in names)
        raise UserError(
            f"{where} was rated in two ways that must not be mixed ({named})",
            hint="rate all captioners with the same critic and threshold",
        )


def joined(old: Rated, new: Rated) -> Rated:
    """Both together. Raises `UserError` for other raters, or a captioner that is in both."""
    _same(old.rater, new.rater, "the leaderboard")
    if twice := sorted(set(old.ratings.captioners) & set(new.ratings.captioners)):
        raise UserError(
            f"the leaderboard has {', '.join(twice)} already",
            hint="start another with a new --out, or take the captioner out of the input",
        )
    return Rated(collect([*_rows(old.ratings), *_rows(new.ratings)]), old.rater)


def _rows(ratings: Ratings) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    for captioner, of_images in zip(ratings.captioners, ratings.counts, strict=True):
        for image, counts in zip(ratings.images, of_images, strict=True):
            if counts.any():
                yield captioner, image, tuple(counts.tolist())


def write_ratings(path: Path, rated: Rated) -> None:
    """`ratings.json`: rater, columns, and a row of counts by captioner and image."""
    counts: dict[str, dict[str, Any]] = {}
    for captioner, image, row in _rows(rated.ratings):
        counts.setdefault(captioner, {})[image] = [int(v) if v == int(v) else v for v in row]
    with replacing(path) as file:
        text = dumps({"rater": rated.rater, "columns": COLUMNS, "counts": counts})
        file.write(text.encode() + b"\n")


def read_ratings(path: Path) -> Rated:
    """What `write_ratings` wrote. Raises `UserError` for anything else."""
    try:
        stored = json.loads(path.read_text(encoding="utf-8"))
        if tuple(stored["columns"]) != COLUMNS:
            raise ValueError("it was written by another version")
        rows = [
            (captioner, image, tuple(np.asarray(row, dtype=np.float64).tolist()))
            for captioner, of_images in stored["counts"].items()
            for image, row in of_images.items()
        ]
        return Rated(collect(rows), dict(stored["rater"]))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise UserError(f"{path} is no leaderboard's ratings: {error}") from None
