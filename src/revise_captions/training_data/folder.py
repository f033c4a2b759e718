"""A folder of training data for finetune: train.jsonl, validation.jsonl, images, data.json.

All captions of an image, and of near-duplicates of it, are in one split. data.json records the
origin and license of the data, and whether critics are evaluated on them: the mark follows a
checkpoint, because a critic trained on a benchmark cannot be evaluated by it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

from revise_captions.errors import UserError
from revise_captions.io.writing import json_lines_writer, replacing, write_json

DATA = "data.json"
TRAIN, VALIDATION, TEST = "train", "validation", "test"


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where training data come from.

    Attributes:
        benchmark: Whether critics are evaluated on these data.
        judged: Whether labels come from people or an oracle, not from a heuristic.
        signature: Of the run that the sentences are from, if any.
        sample: What kind of sample of it they are, where it is none.
    """

    name: str
    title: str
    citation: str
    licence: str
    source: str
    benchmark: bool = False
    note: str = ""
    judged: bool = True
    signature: str = ""
    sample: str = ""


@dataclass(slots=True)
class SplitCounts:
    """Counts of one split."""

    captions: int = 0
    sentences: int = 0
    nonfactual: int = 0
    not_assessable: int = 0
    with_rationale: int = 0
    images: set[str] = field(default_factory=set)

    def add(self, row: Mapping[str, Any]) -> None:
        self.captions += 1
        self.images.add(row["image"])
        for sentence in row["sentences"]:
            self.sentences += 1
            self.nonfactual += sentence["label"] == "nonfactual"
            self.not_assessable += sentence.get("assessable") is False
            self.with_rationale += bool(sentence.get("rationale"))

    def as_json(self) -> dict[str, int]:
        found = {name: getattr(self, name) for name in self.__slots__}
        return found | {"images": len(self.images)}


def splits(groups: Mapping[str, str], validation: float, test: float = 0.0) -> dict[str, str]:
    """Assigns images to splits by a hash of their group, independently of order.

    Args:
        groups: Group of near-duplicates of each image.
        validation: Fraction of the groups in the validation split.
        test: Fraction in the test split.

    Raises:
        UserError: There are too few groups for every split to have one.
    """
    names = sorted(set(groups.values()), key=lambda name: hashlib.sha256(name.encode()).digest())
    held = max(1, round(len(names) * validation))
    back = max(1, round(len(names) * test)) if test else 0
    if held + back >= len(names):
        raise UserError(
            f"{len(names)} different images cannot be split into a training set and {held + back} "
            "held-out images",
            hint="label captions of more images, or hold out a smaller fraction",
        )
    sides = [VALIDATION] * held + [TEST] * back
    side_of = dict.fromkeys(names, TRAIN) | dict(zip(names, sides, strict=False))
    return {image: side_of[group] for image, group in groups.items()}


@dataclass(slots=True)
class TrainingFolder:
    """Writes rows to the file of their split and counts them."""

    sides: Mapping[str, str]
    files: Mapping[str, IO[bytes]]
    counts: dict[str, SplitCounts] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any], test_row: Mapping[str, Any] | None = None) -> None:
        """Adds a training row. In the test split, `test_row` replaces it if given."""
        side = self.sides[row["image"]]
        self.counts.setdefault(side, SplitCounts()).add(row)
        written = test_row if side == TEST and test_row is not None else row
        json_lines_writer(self.files[side]).write(written)


@contextmanager
def open_training_folder(out: Path, sides: Mapping[str, str]) -> Iterator[TrainingFolder]:
    """Opens the files of all splits; they appear when the block succeeds.

    Test rows go to test/captions.jsonl, for `captions evaluate-metric plain OUT/test`.
    """
    with ExitStack() as stack:
        files = {}
        for side in sorted(set(sides.values())):
            path = out / ("test/captions.jsonl" if side == TEST else f"{side}.jsonl")
            path.parent.mkdir(parents=True, exist_ok=True)
            files[side] = stack.enter_context(replacing(path))
        folder = TrainingFolder(sides, files, {side: SplitCounts() for side in files})
        yield folder


def write_about(
    out: Path,
    about: Provenance,
    folder: TrainingFolder,
    made_by: str,
    left_out: Mapping[str, int] = Counter(),
) -> None:
    """Writes data.json, which captions finetune copies into the checkpoint's card."""
    found = {name: getattr(about, name) for name in Provenance.__slots__}
    found["counts"] = {side: counts.as_json() for side, counts in sorted(folder.counts.items())}
    found["left_out"] = {kind: number for kind, number in sorted(left_out.items()) if number}
    found["made_by"] = made_by
    write_json(out / DATA, found)
