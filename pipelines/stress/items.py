"""Descriptions to stress, from any benchmark of whole captions with ratings."""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from revise_captions.benchmarks.types import Example, HumanScore
from revise_captions.metrics.protocol import MetricInput
from revise_captions.pipelines.metrics.scores import metric_input


@dataclass(frozen=True, slots=True)
class StressItem:
    """One description.

    Attributes:
        id: Its id in the benchmark.
        image: Name of its image, which is what gets resampled.
        given: What a metric gets.
    """

    id: str
    image: str
    given: MetricInput


@dataclass(frozen=True, slots=True)
class RatedItems:
    """What a benchmark holds.

    Attributes:
        items: The descriptions.
        examples: The same as the benchmark has them, without the ratings that were refused.
        refused: Ratings outside the scale, by axis.
        empty: Descriptions without text, which are left out.
    """

    items: tuple[StressItem, ...]
    examples: tuple[Example, ...]
    refused: Mapping[str, int]
    empty: int


def read_items(
    examples: Sequence[Example], folder: Path, scale: tuple[float, float] | None
) -> RatedItems:
    """Examples as items. Without references of their own, other descriptions of the image are.

    Args:
        examples: A benchmark's captions.
        folder: The root of its images.
        scale: Least and most that a rating may be; None: anything.
    """
    kept = [example for example in examples if example.caption.strip()]
    refused: dict[str, int] = defaultdict(int)
    rated = [replace(e, scores=_within(e.scores, scale, refused)) for e in kept]
    others: dict[str, dict[str, None]] = defaultdict(dict)
    for example in kept:
        others[example.image].setdefault(example.caption)
    items = []
    for example in kept:
        given = metric_input(example, folder)
        if not given.references:
            found = tuple(t for t in others[example.image] if t != example.caption)
            given = replace(given, references=found)
        items.append(StressItem(example.id, example.image, given))
    return RatedItems(tuple(items), tuple(rated), dict(refused), len(examples) - len(kept))


def _within(
    scores: Sequence[HumanScore], scale: tuple[float, float] | None, refused: dict[str, int]
) -> tuple[HumanScore, ...]:
    found = []
    for score in scores:
        if scale is None or scale[0] <= score.value <= scale[1]:  # a NaN is not
            found.append(score)
        else:
            refused[score.axis] += 1
    return tuple(found)


TEST_SHARE = 0.2
PARTS = ("all", "train", "test")


def part_of(examples: Sequence[Example], part: str) -> list[Example]:
    """The examples of a part, in which shuffles then stay (ContextRef, section 6).

    Unless the data has a split, a fifth of the images, chosen by a hash of their names, is `test`.
    """
    if part == "all":
        return list(examples)
    if all(example.subset in PARTS[1:] for example in examples):
        return [example for example in examples if example.subset == part]
    names = sorted({example.image for example in examples}, key=_hash)
    test = set(names[: max(1, round(TEST_SHARE * len(names)))])
    return [example for example in examples if (example.image in test) == (part == "test")]


def spread(examples: Sequence[Example], limit: int | None) -> list[Example]:
    """At most `limit` examples, evenly spread, so that they are of many images."""
    count = len(examples) if limit is None else min(limit, len(examples))
    return [examples[k * len(examples) // count] for k in range(count)]


def _hash(name: str) -> str:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()
