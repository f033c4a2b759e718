"""Descriptions of Wikipedia's images in articles, rated by readers (Kreiss et al. 2022).

The same picture is in several articles. Sighted readers rate before and after seeing the image;
blind and low-vision readers rate without it. Scores are 1 to 5.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, csv_rows, record
from revise_captions.benchmarks.types import Example, HumanScore
from revise_captions.records import ImageRef

_GROUPS = (
    ("sighted", "sighted_data_criticaltrials.csv", "anon_worker_id"),
    ("BLV", "blv_data_criticaltrials.csv", "participant"),
)
Key = tuple[str, str, str]


def read(folder: Path) -> Iterator[Example]:
    scores: dict[Key, list[HumanScore]] = {}
    for group, name, rater in _GROUPS:
        for entry in csv_rows(folder / name):
            scores.setdefault(_key(entry), []).extend(_scores(entry, group, rater))
    for entry in csv_rows(folder / "all_descriptions.csv"):
        image = entry.text("img_id")
        path = folder / "images_cosid" / entry.text("img_file")
        yield Example(
            str(entry.number),
            record(entry, entry.text("description"), ImageRef(path=str(path))),
            image,
            subset=entry.text("context"),
            scores=tuple(scores.pop(_key(entry), ())),
            context=f"{entry.text('context')}. {entry.text('article_text')}",
        )
    if scores:
        entry = Entry(str(folder / "all_descriptions.csv"), 0, {})
        raise entry.error(f"{len(scores)} rated descriptions are not among the descriptions")


def _key(entry: Entry) -> Key:
    return entry.text("context"), entry.text("img_id"), entry.text("description")


def _scores(entry: Entry, group: str, rater: str) -> Iterator[HumanScore]:
    """One score per answered question: `q_overall.postimg` is `overall, postimg`."""
    for key in entry.data:
        if key.startswith("q_") and entry[key] not in ("", "NA"):
            axis = key.removeprefix("q_").replace(".", ", ")
            yield HumanScore(f"{group}: {axis}", entry.number_at(key), str(entry[rater]))
