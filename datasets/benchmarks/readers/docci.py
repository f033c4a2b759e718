"""DOCCI, PixelProse, DetailCaps: captions used to train captioners and critics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, library_json, record, rows
from revise_captions.benchmarks.types import HUMAN, Example, HumanScore
from revise_captions.records import ImageRef

#: DetailCaps-4870: captioners and references by column.
DETAILCAPS = ("CogVLM", "ShareCaptioner", "LLaVA_v15")
DETAILCAPS_REFERENCES = ("GT_Caption_GPT4O", "GT_Caption_GPT4V", "GT_Caption_Gemini15Pro")
GPT4_QUALITY = "quality by GPT-4 (0–5)"


def read_docci(folder: Path) -> Iterator[Example]:
    """`docci_descriptions.jsonlines` (Onoe et al. 2024); images in `images/`."""
    for path in sorted(folder.glob("docci_descriptions.json*")):
        for entry in rows(path):
            name, image = entry.text("example_id"), entry.text("image_file")
            ref = ImageRef(path=str(folder / "images" / image))
            row = record(entry, entry.text("description"), ref)
            yield Example(name, row, image, HUMAN, entry.text("split"))


def read_pixelprose(folder: Path) -> Iterator[Example]:
    """The hub's Parquet files (Singla et al. 2024); images are URLs, which are not fetched here."""
    for path in sorted(folder.rglob("*.parquet")):
        for entry in rows(path):
            url, name = entry.text("url"), str(entry["uid"])
            row = record(entry, entry.text("vlm_caption"), ImageRef(url=url))
            yield Example(name, row, name, entry.text("vlm_model"), subset=path.stem)


def read_detailcaps(folder: Path) -> Iterator[Example]:
    """The hub's Parquet file (Dong et al. 2024): three captions per image, with GPT-4's scores."""
    for path in sorted(folder.rglob("*.parquet")):
        for entry in rows(path):
            image, scores = str(entry["image"]), _gpt4_scores(entry)
            references = tuple(entry.text(key) for key in DETAILCAPS_REFERENCES)
            for captioner in DETAILCAPS:
                row = record(entry, entry.text(captioner), ImageRef(data=entry["binary"]))
                given = scores.get(captioner)
                yield Example(
                    f"{image}-{captioner}",
                    row,
                    image,
                    captioner,
                    str(entry.data.get("source") or ""),
                    scores=() if given is None else (HumanScore(GPT4_QUALITY, given, "GPT-4"),),
                    references=references,
                )


def _gpt4_scores(entry: Entry) -> dict[str, float]:
    """`GPT4_Eval`: JSON text of a score for each captioner; absent for some images."""
    text = entry.data.get("GPT4_Eval")
    if text is None:
        return {}
    with library_json(entry, "GPT4_Eval"):
        held = Entry(entry.file, entry.number, json.loads(text))
    return {captioner: held.number_at(captioner) for captioner in DETAILCAPS}
