"""Training data: pairs of an original and a check's worse version, exported by `stress-metric`.

The exporting command splits images, by `stress-metric --part`: train on one export, measure on
another.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from revise_captions.benchmarks.entries import Entry, rows
from revise_captions.errors import UserError
from revise_captions.metrics.protocol import MetricInput, StoredImage
from revise_captions.records import ImageRef

ROWS = "variants.jsonl"


@dataclass(frozen=True, slots=True)
class WorsePair:
    """An original and a worse version of it.

    Attributes:
        check: The check that made it worse.
        original: The original.
        worse: The changed version, which should score lower.
        rating: People's mean rating of the original; None if it has none on the axis.
    """

    check: str
    original: MetricInput
    worse: MetricInput
    rating: float | None


@dataclass(frozen=True, slots=True)
class StressData:
    """The content of an export.

    Attributes:
        pairs: Originals with their changed versions.
        originals: Each original once, with its rating.
        left_out: Rows that could not be used, by reason.
    """

    pairs: tuple[WorsePair, ...]
    originals: tuple[tuple[MetricInput, float | None], ...]
    left_out: Mapping[str, int]


def read_pairs(folder: Path, axis: str, scale: tuple[float, float] = (1.0, 5.0)) -> StressData:
    """Reads an export of `captions stress-metric`.

    Args:
        folder: The exported folder.
        axis: Which ratings to use; see the rows' `scores`.
        scale: Ratings outside it are not used.

    Raises:
        UserError: It has no export, no pair, or no rating on the axis.
    """
    if not (folder / ROWS).is_file():
        raise UserError(
            f"{folder} holds no {ROWS}", hint="create it with captions stress-metric DIR --export …"
        )
    entries = list(rows(folder / ROWS))
    left_out: Counter[str] = Counter()
    axes: Counter[str] = Counter()
    originals: dict[str, tuple[MetricInput, float | None]] = {}
    for entry in entries:
        if entry.text("check") == "":
            given = _input(entry, folder)
            scores = entry.data.get("scores") or {}
            axes.update(scores)
            rating = scores.get(axis)
            if rating is not None and not scale[0] <= rating <= scale[1]:
                left_out["rating outside the scale"] += 1
                rating = None
            originals[str(entry["of"])] = given, rating
    if axis not in axes:
        raise UserError(
            f"{folder} has no ratings on the axis {axis!r}",
            hint=f"--axis takes one of: {', '.join(sorted(axes)) or 'none: no ratings at all'}",
        )
    pairs = []
    for entry in entries:
        if entry.text("check") == "":
            continue
        found = originals.get(str(entry["of"]))
        if found is None:
            left_out["its original is missing"] += 1
            continue
        pairs.append(WorsePair(entry.text("check"), found[0], _input(entry, folder), found[1]))
    if not pairs:
        raise UserError(f"{folder} holds no changed descriptions")
    return StressData(tuple(pairs), tuple(originals.values()), dict(left_out))


def _input(entry: Entry, folder: Path) -> MetricInput:
    image = entry.text("image")
    stored = StoredImage(ImageRef(path=image), folder) if image else None
    return MetricInput(
        entry.text("caption"), stored, entry.text("context"), entry.texts("references")
    )
