"""Rated captions for `captions train-vela`: the user's own rows, or a benchmark's.

A user's row holds a caption, its image, references, and `scores`: a number for each perspective, or
a list with one from each rater:

    {"id": "7", "image": "7.jpg", "caption": "…", "references": ["…"],
     "scores": {"descriptiveness": 4, "relevance": [3, 4, 4]}}

Splits never share an image: they are given by files (`train.jsonl`, `validation.jsonl`,
`test.jsonl`), or determined by a digest of the image's name.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.catalog.longcap_arena import test_of
from revise_captions.benchmarks.catalog.table import benchmark
from revise_captions.benchmarks.types import CAPTION, Example
from revise_captions.errors import UserError
from revise_captions.io.fields import Fields
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow, dumps
from revise_captions.records import ImageRef
from revise_captions.vela.prompts import OVERALL, PERSPECTIVES
from revise_captions.vela.training.settings import RatingFields

SPLITS = ("train", "validation", "test")


@dataclass(frozen=True, slots=True)
class RatedCaption:
    """A caption that people rated.

    Attributes:
        id: Its name in the data.
        caption: The caption.
        references: Reference captions.
        image: Where its image is.
        image_name: Identifies the image.
        ratings: The mean rating for each rated perspective.
        split: One of `SPLITS`; "" until it is assigned.
        test: Which of several test sets, such as LongCap-Arena's `TestA`; "" if there is only one.
        place: File and line, for messages.
    """

    id: str
    caption: str
    references: tuple[str, ...]
    image: ImageRef
    image_name: str
    ratings: Mapping[str, float]
    split: str = ""
    place: tuple[str, int] = ("", 0)
    test: str = ""


@dataclass(frozen=True, slots=True)
class BadRating:
    """A row that cannot be trained on, as a line of the quarantine."""

    file: str
    line: int
    reason: str
    detail: str
    text: str = ""


Item = RatedCaption | BadRating


def read_rated(data: Path, name: str, fields: RatingFields) -> list[Item]:
    """Reads all rated captions, with ratings as given.

    Args:
        data: A file of rows, a folder of files named by split, or a benchmark's folder.
        name: The benchmark; "" for the user's own rows.
        fields: Where ratings are.

    Raises:
        UserError: The data cannot be read.
    """
    if name:
        return list(_of_benchmark(name, data))
    if data.is_file():
        return list(_of_rows(data, "", fields))
    files = [data / f"{split}.jsonl" for split in SPLITS if (data / f"{split}.jsonl").is_file()]
    if data / "train.jsonl" not in files:
        raise UserError(f"{data} has no train.jsonl", hint="or name a file, or --benchmark NAME")
    return [item for path in files for item in _of_rows(path, path.stem, fields)]


def _of_rows(path: Path, split: str, fields: RatingFields) -> Iterator[Item]:
    source = open_source(str(path), fields=Fields(), need_image=False)
    for row in source:
        if isinstance(row, BadRow):
            text = row.original if isinstance(row.original, str) else ""
            yield BadRating(str(path), row.line, str(row.reason), row.detail, text)
            continue
        data = row.fields
        place = str(path), row.line
        scores, references = data.get("scores"), data.get(fields.reference_field) or ()
        if not isinstance(scores, Mapping):
            yield BadRating(*place, "missing_ratings", "no field “scores”", dumps(dict(data)))
            continue
        if isinstance(references, str):
            references = [references]
        try:
            ratings = {str(key): _mean(value) for key, value in scores.items() if value is not None}
            texts = tuple(_text(text) for text in references)
        except (TypeError, ValueError) as error:
            yield BadRating(*place, "bad_value", str(error), dumps(dict(data)))
            continue
        name = row.image.path or row.image.url or str(data.get("image_id", ""))
        if row.image.data is not None:
            name = hashlib.sha256(row.image.data).hexdigest()
        caption = next(iter(row.captions.values()))
        own = str(data.get("id", row.line))
        yield RatedCaption(own, caption, texts, row.image, name, ratings, split, place)


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a reference is {type(value).__name__}, not text")
    return value


def _mean(value: Any) -> float:
    values = [float(one) for one in (value if isinstance(value, list | tuple) else [value])]
    if not values or not all(map(isfinite, values)):
        raise ValueError(f"the rating {value!r} is no number")
    return sum(values) / len(values)


def _of_benchmark(name: str, folder: Path) -> Iterator[Item]:
    for item in benchmark(name).read(folder):
        if not isinstance(item, Example) or not item.scores:
            continue
        by_axis: dict[str, list[float]] = {}
        for score in item.scores:
            by_axis.setdefault(score.axis, []).append(score.value)
        yield RatedCaption(
            item.id,
            item.record.captions[CAPTION],
            item.references,
            item.record.image,
            item.image,
            {axis: _mean(values) for axis, values in by_axis.items()},
            "test" if test_of(item) else _split_named(item.subset),
            (item.record.source, item.record.line),
            test_of(item),
        )


def _split_named(subset: str) -> str:
    """The split that a path names, such as LongCap-Arena's `train.rel.csv`; "" if none."""
    low = subset.lower()
    for word, split in (("train", "train"), ("val", "validation"), ("test", "test")):
        if word in low:
            return split
    return ""


def chosen_perspectives(items: Sequence[Item], fields: RatingFields) -> dict[str, str]:
    """Perspectives by name in the data: those given, or the paper's three, or the only one there.

    Raises:
        UserError: A given one is not in the data, or there are several, none of them the paper's.
    """
    found = Counter(axis for i in items if isinstance(i, RatedCaption) for axis in i.ratings)
    names = ", ".join(f"“{axis}” ({count:,})" for axis, count in found.most_common(12))
    if not found:
        raise UserError("the data holds no ratings")
    if fields.perspectives:
        if missing := [axis for axis in fields.perspectives if axis not in found]:
            raise UserError(f"the data has no ratings “{missing[0]}”", hint=f"it has {names}")
        return dict(fields.perspectives)
    known = {name: name for name in PERSPECTIVES if name in found}
    if known:
        return known
    if len(found) == 1:
        return {next(iter(found)): OVERALL}
    raise UserError(
        "several ratings to choose from",
        hint=f"choose by --perspective NAME=AXIS; there are {names}",
    )


def normalized(items: Sequence[Item], fields: RatingFields) -> list[Item]:
    """Scales the chosen perspectives' ratings to [0, 1]; unusable rows become `BadRating`.

    `fields.perspectives` is complete.
    """
    return [_normal(i, fields) if isinstance(i, RatedCaption) else i for i in items]


def _normal(item: RatedCaption, fields: RatingFields) -> Item:
    ratings = {
        name: item.ratings[axis]
        for axis, name in fields.perspectives.items()
        if axis in item.ratings
    }
    out = [v for v in ratings.values() if not fields.low <= v <= fields.high]
    if out:
        detail = f"the rating {out[0]:g} is not within {fields.low:g}–{fields.high:g}"
        return BadRating(*item.place, "rating_out_of_range", detail, item.caption)
    if not ratings:
        return BadRating(*item.place, "missing_ratings", "nothing chosen is rated", item.caption)
    reach = fields.high - fields.low
    return replace(item, ratings={n: (v - fields.low) / reach for n, v in ratings.items()})


def merged(items: Sequence[RatedCaption]) -> list[RatedCaption]:
    """One item per caption of an image: LongCap-Arena has a separate file per perspective."""
    found: dict[tuple[str, str, str], RatedCaption] = {}
    for item in items:
        key = (item.split, item.image_name, item.caption)
        known = found.get(key)
        if known is None or set(known.ratings) & set(item.ratings):
            key = key if known is None else (*key[:2], f"{item.caption}\0{item.id}")
            found[key] = item
        else:
            found[key] = replace(known, ratings={**known.ratings, **item.ratings})
    return list(found.values())


def split(
    items: Sequence[RatedCaption], validation: float, test: float, seed: int
) -> list[RatedCaption]:
    """Assigns captions without a split, by a digest of seed and image.

    Args:
        items: The captions.
        validation: Share of the images of the training split (or of all) used for early stopping.
        test: Share of all images that is never trained on, if no file defines a test split.
        seed: Of the digest.

    Raises:
        UserError: Splits defined by files share an image.
    """
    homes: dict[str, set[str]] = {}
    for item in items:
        homes.setdefault(item.image_name, set()).add(item.split)
    shared = sorted(name for name, splits in homes.items() if len(splits) > 1)
    if shared:
        raise UserError(
            f"{len(shared):,} images are in two splits, such as {shared[0]}",
            hint="split by image, or leave the splits to captions train-vela",
        )
    named = {item.split for item in items}
    return [replace(item, split=_split_of(item, named, validation, test, seed)) for item in items]


def _split_of(
    item: RatedCaption, named: set[str], validation: float, test: float, seed: int
) -> str:
    digest = hashlib.sha256(f"{seed}\0{item.image_name}".encode()).digest()
    at = int.from_bytes(digest[:8]) / 2**64
    if not item.split:
        return "test" if at < test else "validation" if at < test + validation else "train"
    if item.split == "train" and "validation" not in named and at < validation:
        return "validation"
    return item.split
