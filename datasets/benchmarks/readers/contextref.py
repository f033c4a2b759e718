"""ContextRef: alt texts of Wikipedia's images in context, rated before and after the image is seen.

Kreiss et al. 2024, section 4. The published tables hold six sliders per row, in random order: five
questions named by `qN_type`, and `overall` as the sixth; `qN_sliderval` is “['4', '5']”, the
answers before and after, or one answer for the question that is only asked before.

As in the authors' analysis, participants count if they rated the description that only copies its
caption below 3 for added information, before and after; descriptions count if more than two of
these participants rated them.

Without these tables, `df_metric_gold.csv` is read, which the authors' analysis derived from them: a
row for each rating that counts, with the context that their metrics get, and their split.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, csv_rows, record, shown
from revise_captions.benchmarks.types import Example, HumanScore
from revise_captions.errors import UserError
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
IMAGES = ("images", "images_chunk0", "images/images_chunk0", ".")
#: The released descriptions, changed and unchanged, and where their folder `data` keeps them.
METRIC_FILES, GOLD = "df_metric_*.csv", "df_metric_gold.csv"
METRIC_FOLDERS = (".", "train_data/csvs", "model_input_data")
#: Columns of ratings in these files: `q_NAME.preimg`, `q_NAME.postimg`.
_RATED = {
    "reconstructivity": "imaginability",
    "relevance": "relevance",
    "irrelevance": "irrelevance",
    "imgfit": "image fit",
    "addedinfo": "added info",
    "overall": "overall",
}
_MISSING = ("", "NA", "NaN", "nan")


def read(folder: Path) -> Iterator[Example]:
    files = [path for path in sorted(folder.glob("*.csv")) if not path.match(METRIC_FILES)]
    return _of_ratings(files, folder) if files else gold(folder)


def _of_ratings(files: Sequence[Path], folder: Path) -> Iterator[Example]:
    found = [entry for path in files for entry in csv_rows(path)]
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


def gold(folder: Path) -> Iterator[Example]:
    """The originals of the released changed descriptions, with their ratings and their split."""
    by_item: dict[tuple[str, str], list[Entry]] = {}
    for entry in csv_rows(metric_folder(folder) / GOLD):
        by_item.setdefault((str(entry["img_id"]), entry.text("description")), []).append(entry)
    for number, ((image, caption), entries) in enumerate(by_item.items()):
        yield Example(
            str(number),
            record(entries[0], caption, image_of(image, folder)),
            image,
            subset=entries[0].text("split"),
            scores=tuple(score for entry in entries for score in _gold_scores(entry)),
            context=given(entries[0], "context"),
        )


def metric_folder(folder: Path) -> Path:
    """Where `df_metric_gold.csv` and its changed versions are. Raises `UserError` if nowhere."""
    for at in METRIC_FOLDERS:
        if (folder / at / GOLD).is_file():
            return folder / at
    raise UserError(
        f"there is no {GOLD} in {folder}",
        hint="expected the folder `data` that the authors' repository links (captions benchmarks "
        "show contextref), or its folder of df_metric_*.csv",
    )


def given(entry: Entry, key: str) -> str:
    """A text, or "" if it is missing, in pandas' or R's notation."""
    value = entry.text(key)
    return "" if value in _MISSING else value


def _gold_scores(entry: Entry) -> Iterator[HumanScore]:
    rater = str(entry.data.get("anon_worker_id", ""))
    for name, axis in _RATED.items():
        for when, column in zip(WHEN, (f"q_{name}.preimg", f"q_{name}.postimg"), strict=True):
            if entry.data.get(column, "") not in _MISSING:
                yield HumanScore(f"{axis}, {when}", entry.number_at(column), rater)


def image_of(name: str, folder: Path, among: tuple[str, ...] = IMAGES) -> ImageRef:
    """The image of an `img_id`, which has its suffix in the released files (`1155.jpg`).

    Args:
        name: The `img_id`.
        folder: The data's folder.
        among: Where in it the image may be; the last place is named if it is nowhere.
    """
    file = name if Path(name).suffix else f"{name}.jpg"
    paths = [str(Path(at, file)) for at in among]
    return ImageRef(path=next((path for path in paths if (folder / path).is_file()), paths[-1]))


def _context(entry: Entry) -> str:
    """The image's context: title, section and caption, as far as the row has them."""
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
