"""ContextRef: alt texts of Wikipedia's images in context, rated before and after the image is seen.

Kreiss et al. 2024, section 4. The published tables hold six sliders a row, in random order: five
questions that `qN_type` names, and `overall` as the sixth; `qN_sliderval` is “['4', '5']”, the
answer before and after, or one answer for the question that is asked before only.

As in the authors' analysis, a participant counts who rated the description that only copies its
caption below 3 for added information, before and after, and a description counts that more than two
of these rated.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, csv_rows, record, shown
from revise_captions.benchmarks.types import Example, HumanScore
from revise_captions.records import ImageRef

QUESTIONS = {
    "reconstructive": "imaginability",
    "all_relevant": "relevance",
    "no_irrelevant": "irrelevance",
    "image_fit": "image fit",
    "added_info": "added info",
}
WHEN = ("before", "after")
MIN_RATINGS = 3
#: Where the released folders keep the images.
IMAGES = ("images", "images_chunk0", "images/images_chunk0")


def read(folder: Path) -> Iterator[Example]:
    found = [entry for path in sorted(folder.glob("*.csv")) for entry in csv_rows(path)]
    attentive = {str(entry["submission_id"]) for entry in found if _passes(entry)}
    by_item: dict[tuple[str, str], list[Entry]] = {}
    for entry in found:
        if str(entry["submission_id"]) in attentive:
            key = str(entry["img_id"]), entry.text("description")
            by_item.setdefault(key, []).append(entry)
    for number, ((image, caption), entries) in enumerate(by_item.items()):
        if len(entries) >= MIN_RATINGS:
            yield Example(
                str(number),
                record(entries[0], caption, image_of(image, folder)),
                image,
                scores=tuple(score for entry in entries for score in _scores(entry)),
                context=_context(entries[0]),
            )


def image_of(name: str, folder: Path, among: tuple[str, ...] = IMAGES) -> ImageRef:
    """The image of an `img_id`, which has its suffix in the released files (`1155.jpg`)."""
    file = name if Path(name).suffix else f"{name}.jpg"
    return ImageRef(
        path=next((f"{at}/{file}" for at in among if (folder / at / file).is_file()), file)
    )


def _context(entry: Entry) -> str:
    """Title, section and caption, as far as the row has them: what stands around the image."""
    keys = ("page_title", "section_title", "page_context", "section_context", "caption")
    found = [str(entry.data[key]).strip() for key in keys if entry.data.get(key)]
    return "\n".join(text for text in dict.fromkeys(found) if text not in ("", "NA"))


def _passes(entry: Entry) -> bool:
    if entry.text("description") != entry["caption"]:
        return False
    added = [score.value for score in _scores(entry) if score.axis.startswith("added info")]
    return len(added) == 2 and max(added) < 3


def _scores(entry: Entry) -> Iterator[HumanScore]:
    rater = str(entry["submission_id"])
    for number in range(1, 7):
        axis = "overall" if number == 6 else entry.one_of(f"q{number}_type", QUESTIONS)
        for when, value in zip(WHEN, _slider(entry, f"q{number}_sliderval"), strict=False):
            yield HumanScore(f"{axis}, {when}", value, rater)


def _slider(entry: Entry, key: str) -> list[float]:
    try:
        values = [float(value) for value in ast.literal_eval(entry.text(key))]
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
        raise entry.error(f"`{key}` is {shown(entry[key])}; expected like ['4', '5']") from None
    if len(values) not in (1, 2):
        raise entry.error(f"`{key}` has {len(values)} answers; expected one or two")
    return values
