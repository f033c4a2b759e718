"""Metrics of texts against people's ratings on Flickr8k-Expert; intervals and tests over images."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np

from revise_captions.graphs.grading.judge import Judge
from revise_captions.posh.scoring import Pair, score_captions
from revise_captions.stats.correlations import correlation
from revise_captions.stats.paired_tests import Compared, Floats, compared, measured
from revise_captions.text.sentence_encoder import SentenceEncoder
from scripts.research.frame.figures import ReportedFigure, share_of

PEERS = "SPICE .449, Soft-SPICE .542, CLIPScore .512, Polos .564, G-VEval .597"
#: Pairs of captions of one image: the least and the most that raters' means are apart.
CLASSES = {"close": (0.0, 1.0), "apart": (1.0, 2.0), "far apart": (2.0, 9.0)}
REPLICATES = 500
tau_c = partial(correlation, "kendall-c")


@dataclass(frozen=True, slots=True)
class Rated:
    """A text with its references, the human values it got, and its image."""

    image: str
    text: str
    references: tuple[str, ...]
    values: tuple[float, ...]


def flickr8k(path: Path) -> list[Rated]:
    found = []
    for image, item in json.loads(path.read_text(encoding="utf-8")).items():
        ratings: dict[str, list[float]] = {}
        for row in item["human_judgement"]:
            if not np.isnan(row["rating"]):
                ratings.setdefault(row["caption"], []).append(row["rating"])
        for text, values in ratings.items():
            found.append(Rated(image, text, tuple(item["ground_truth"]), tuple(values)))
    return found


def reporting(items: Sequence[Rated]) -> list[Rated]:
    """Every other image by name: constants of the present judge were chosen on the others."""
    chosen = set(sorted({item.image for item in items})[1::2])
    return [item for item in items if item.image in chosen]


def cosine(items: Sequence[Rated], encoder: SentenceEncoder) -> Floats:
    """To the best reference."""
    texts = list(dict.fromkeys(t for item in items for t in (item.text, *item.references)))
    table = dict(zip(texts, encoder(texts), strict=True))
    return np.array(
        [max(float(table[item.text] @ table[r]) for r in item.references) for item in items]
    )


def overall(items: Sequence[Rated], judge: Judge, pipeline: str) -> Floats:
    """POSH's overall score of each item, its references taken together."""
    pairs = (Pair(item.text, item.references) for item in items)
    return np.array([s.overall or 0.0 for s in score_captions(pairs, judge, pipeline)])


def figure(name: str, items: Sequence[Rated], scores: Floats, **more: Any) -> ReportedFigure:
    """τ-c over all ratings."""
    found = measured(tau_c, _each(items, scores), _values(items), _images(items), REPLICATES)
    if found.value is None:
        raise ValueError(f"{name}: the ratings, or the scores, are all the same")
    return ReportedFigure(name, found.value, found.low, found.high, found.rows, **more)


def paired(items: Sequence[Rated], scores: Floats, floor: Floats) -> Compared:
    """Whether a metric's τ-c is above a floor's, by the permutation test over images."""
    return compared(
        tau_c,
        _each(items, scores),
        _each(items, floor),
        _values(items),
        _images(items),
        replicates=REPLICATES,
    )


def _each(items: Sequence[Rated], scores: Floats) -> Floats:
    return np.repeat(scores, [len(item.values) for item in items])


def _values(items: Sequence[Rated]) -> Floats:
    return np.array([value for item in items for value in item.values])


def _images(items: Sequence[Rated]) -> list[str]:
    return [item.image for item in items for _ in item.values]


def pairs(
    items: Sequence[Rated], scores: Floats, plain: Floats, name: str
) -> Iterator[ReportedFigure]:
    """How often the caption that people rate higher scores higher, beside plain cosine; over
    images. Pairs that they rate alike are left out, and ties count half.
    """
    means = np.array([np.mean(item.values) for item in items])
    found: dict[str, list[tuple[str, float, float]]] = {one: [] for one in CLASSES}
    for i, j in combinations(range(len(items)), 2):
        if items[i].image != items[j].image:
            continue
        gap = abs(means[i] - means[j])
        better, worse = (i, j) if means[i] > means[j] else (j, i)
        for one, (low, high) in CLASSES.items():
            if low < gap <= high:
                ours, theirs = (_won(of[better] - of[worse]) for of in (scores, plain))
                found[one].append((items[i].image, ours, theirs))
    for one, rows in found.items():
        if not rows:
            continue
        floor = [row[2] for row in rows]
        yield share_of(
            f"{name}: pairs rated {one}",
            [row[1] for row in rows],
            [row[0] for row in rows],
            floor=floor,
            floor_name="cosine",
            target=round(float(np.mean(floor)), 3),
            note=f"{len(rows)} pairs",
        )


def _won(difference: float) -> float:
    return 0.5 if difference == 0 else float(difference > 0)
