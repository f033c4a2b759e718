"""A folder that finetune-critic reads: train.jsonl, validation.jsonl, images, and data.json.

All captions of an image, and of images that look like it, are on one side. data.json says what the
data are, under what licence, and whether they are a benchmark that critics are evaluated on: one
that was trained on them cannot be measured by it, so the mark has to travel with the checkpoint.
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
from revise_captions.io.rows import dumps
from revise_captions.pipelines.output.writers import replacing

DATA = "data.json"
TRAIN, VALIDATION, TEST = "train", "validation", "test"


@dataclass(frozen=True, slots=True)
class Provenance:
    """What the data are. `benchmark`: they are what critics are evaluated on, and held out for.

    `judged`: by people, or by whatever knows the truth.
    """

    name: str
    title: str
    citation: str
    licence: str
    source: str
    benchmark: bool = False
    note: str = ""
    judged: bool = True


@dataclass(slots=True)
class SplitCounts:
    """Of one split."""

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
    """The side of each image, from its group: by a hash of the group's name, in any order alike.

    At least one group is on every side that was asked for. Raises `UserError` for too few.
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
    """Takes rows, one after another. `counts` by split."""

    sides: Mapping[str, str]
    files: Mapping[str, IO[bytes]]
    counts: dict[str, SplitCounts] = field(default_factory=dict)

    def add(self, row: Mapping[str, Any], test_row: Mapping[str, Any] | None = None) -> None:
        """A training row; on the test side, `test_row` is written in its place, if there is one."""
        side = self.sides[row["image"]]
        self.counts.setdefault(side, SplitCounts()).add(row)
        written = test_row if side == TEST and test_row is not None else row
        self.files[side].write(dumps(written).encode() + b"\n")


@contextmanager
def open_training_folder(out: Path, sides: Mapping[str, str]) -> Iterator[TrainingFolder]:
    """The split files, which appear when the block ends well. Test rows go to test/captions.jsonl,
    where `evaluate-metric plain OUT/test` reads them."""
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
    """data.json: what finetune-critic copies into the checkpoint's card."""
    found = {name: getattr(about, name) for name in Provenance.__slots__}
    found["counts"] = {side: counts.as_json() for side, counts in sorted(folder.counts.items())}
    found["left_out"] = {kind: number for kind, number in sorted(left_out.items()) if number}
    found["made_by"] = made_by
    with replacing(out / DATA) as file:
        file.write(dumps(found).encode() + b"\n")
