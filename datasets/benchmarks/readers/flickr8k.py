"""Flickr8k-Expert and Flickr8k-CF, in the JSON form that PAC-S and CLIPScore read.

`{image: {"image_id", "image_path", "ground_truth": [references], "human_judgement":
[{"caption", "rating"}]}}`: one judgment for each candidate and rater (Expert: three raters,
1 to 4), or for each candidate (CF: the share of yes). A rating that is not a number was not given.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import isnan
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, json_entries, record
from revise_captions.benchmarks.types import Example, HumanScore
from revise_captions.records import ImageRef


def _read(folder: Path, *, names: tuple[str, ...], axis: str) -> Iterator[Example]:
    path = next(folder / name for name in names if (folder / name).exists())
    for key, entry in json_entries(path):
        image = entry.text("image_path")
        by_caption: dict[str, list[float]] = {}
        for judgment in entry.within("human_judgement"):
            ratings = by_caption.setdefault(judgment.text("caption"), [])
            ratings.append(judgment.number_at("rating"))
        for number, (caption, ratings) in enumerate(by_caption.items()):
            yield _example(folder, entry, f"{key}-{number}", caption, image, axis, ratings)


def _example(
    folder: Path,
    entry: Entry,
    name: str,
    caption: str,
    image: str,
    axis: str,
    ratings: list[float],
) -> Example:
    given = [(str(rater), value) for rater, value in enumerate(ratings, 1) if not isnan(value)]
    here = folder / "images" / Path(image).name
    return Example(
        name,
        record(entry, caption, ImageRef(path=str(here))),
        image,
        scores=tuple(HumanScore(axis, value, rater) for rater, value in given),
        references=entry.texts("ground_truth"),
    )


read_expert = partial(_read, names=("flickr8k_expert.json", "flickr8k.json"), axis="rating (1–4)")
read_crowd = partial(_read, names=("crowdflower_flickr8k.json",), axis="share of yes")
