"""The offline judge against people: Flickr8k-Expert, ImageInWords pairs.

Beside each figure stand floors that have no structure: overlap of stems, and the cosine of whole
texts under the same encoder. Intervals and paired tests resample images.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

import numpy as np
import numpy.typing as npt

from revise_captions.graphs.triples import lemmas
from revise_captions.posh.judge import Judge
from revise_captions.posh.scoring import Pair, score_captions
from revise_captions.text.sentence_encoder import SentenceEncoder
from scripts.research.posh.figures import ReportedFigure, interval

Floats = npt.NDArray[np.float64]
Statistic = Callable[[Floats, Floats], float]
PEERS = "SPICE .449, Soft-SPICE .542, CLIPScore .512, Polos .564, G-VEval .597"


@dataclass(frozen=True, slots=True)
class Rated:
    """A text with its references, the human values it got, and its image."""

    image: str
    text: str
    references: tuple[str, ...]
    values: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Test:
    """A statistic of a metric minus that of a floor: 95 % interval over images, two-sided p, and
    the least p that so many resamples can tell.
    """

    difference: float
    low: float
    high: float
    p: float
    least_p: float


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


def halves(items: Sequence[Rated]) -> tuple[list[Rated], list[Rated]]:
    """Images in turn, by name: the half that constants were chosen on, the half to report."""
    images = sorted({item.image for item in items})
    second = set(images[1::2])
    return (
        [item for item in items if item.image not in second],
        [item for item in items if item.image in second],
    )


def cosine(items: Sequence[Rated], encoder: SentenceEncoder) -> Floats:
    """To the best reference."""
    texts = list(dict.fromkeys(t for item in items for t in (item.text, *item.references)))
    table = dict(zip(texts, encoder(texts), strict=True))
    return np.array(
        [max(float(table[item.text] @ table[r]) for r in item.references) for item in items]
    )


def overlap(items: Sequence[Rated]) -> Floats:
    """F1 of stems with the best reference."""
    return np.array([max(_overlap(item.text, r) for r in item.references) for item in items])


def _overlap(first: str, second: str) -> float:
    one, other = stems(first), stems(second)
    return 2 * len(one & other) / max(1, len(one) + len(other))


def stems(text: str) -> frozenset[str]:
    spaced = "".join(c if c.isalnum() else " " for c in text.lower())
    return frozenset(lemmas(word) for word in spaced.split()) - {"", "be", "there"}


def overall(items: Sequence[Rated], judge: Judge, pipeline: str) -> Floats:
    """POSH's overall score of each item, its references taken together."""
    pairs = (Pair(item.text, item.references) for item in items)
    return np.array([s.overall or 0.0 for s in score_captions(pairs, judge, pipeline)])


def tau_c(scores: Floats, values: Floats) -> float:
    from scipy.stats import kendalltau

    return float(kendalltau(scores, values, variant="c").statistic)


def auc(scores: Floats, values: Floats) -> float:
    """The area under the ROC curve for `values` of 1 against 0; ties count half."""
    from scipy.stats import rankdata

    positive = values > 0
    count = int(positive.sum())
    above = float(rankdata(scores)[positive].sum()) - count * (count + 1) / 2
    return above / (count * (len(values) - count))


def figure(
    name: str,
    items: Sequence[Rated],
    scores: Floats,
    statistic: Statistic,
    *,
    replicates: int = 200,
    **more: object,
) -> ReportedFigure:
    """The statistic over all ratings with an interval over images."""
    groups = _by_image(items)
    value = _on(items, scores, statistic, np.arange(len(items)))
    drawn = [_on(items, scores, statistic, part) for part in _resampled(groups, replicates)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    count = sum(len(item.values) for item in items)
    return ReportedFigure(name, value, float(low), float(high), count, **more)  # type: ignore[arg-type]


def paired(
    items: Sequence[Rated],
    scores: Floats,
    floor: Floats,
    statistic: Statistic,
    *,
    replicates: int = 500,
) -> Test:
    """Whether a metric's statistic is above a floor's, both from the same resampled images."""
    groups = _by_image(items)
    everything = np.arange(len(items))
    value = _on(items, scores, statistic, everything) - _on(items, floor, statistic, everything)
    drawn = np.array(
        [
            _on(items, scores, statistic, part) - _on(items, floor, statistic, part)
            for part in _resampled(groups, replicates)
        ]
    )
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    below = float((drawn <= 0).mean())
    p = min(1.0, 2 * max(min(below, 1 - below), 1 / replicates))
    return Test(value, float(low), float(high), p, 2 / replicates)


#: Pairs of captions of one image: the least and the most that raters' means are apart.
CLASSES = {"close": (0.0, 1.0), "apart": (1.0, 2.0), "far apart": (2.0, 9.0)}


def pairs(
    items: Sequence[Rated], scores: Floats, plain: Floats, name: str
) -> Iterator[ReportedFigure]:
    """How often the caption that people rate higher scores higher, beside plain cosine; over
    images. Pairs that they rate alike are left out, and ties count half.
    """
    means = np.array([np.mean(item.values) for item in items])
    found: dict[str, list[tuple[str, float, float]]] = {one: [] for one in CLASSES}
    for group in _by_image(items):
        for i, j in combinations(group.tolist(), 2):
            gap = abs(means[i] - means[j])
            better, worse = (i, j) if means[i] > means[j] else (j, i)
            for one, (low, high) in CLASSES.items():
                if low < gap <= high:
                    won = [_won(of[better] - of[worse]) for of in (scores, plain)]
                    found[one].append((items[i].image, *won))
    for one, rows in found.items():
        images = [image for image, _, _ in rows]
        ours, theirs = [row[1] for row in rows], [row[2] for row in rows]
        low, high = interval(ours, images)
        floor = float(np.mean(theirs))
        yield ReportedFigure(f"{name}: pairs rated {one}", float(np.mean(ours)), low, high,
                             len(rows), floor=floor, floor_name="cosine", target=round(floor, 3),
                             note=f"{len(rows)} pairs")  # fmt: skip


def _won(difference: float) -> float:
    return 0.5 if difference == 0 else float(difference > 0)


def _on(
    items: Sequence[Rated], scores: Floats, statistic: Statistic, part: npt.NDArray[np.int64]
) -> float:
    repeated = [len(items[i].values) for i in part]
    values = np.array([value for i in part for value in items[i].values])
    if len(set(values.tolist())) < 2:
        return float("nan")
    return statistic(np.repeat(scores[part], repeated), values)


def _by_image(items: Sequence[Rated]) -> list[npt.NDArray[np.int64]]:
    groups: dict[str, list[int]] = {}
    for i, item in enumerate(items):
        groups.setdefault(item.image, []).append(i)
    return [np.array(group) for group in groups.values()]


def _resampled(
    groups: Sequence[npt.NDArray[np.int64]], replicates: int
) -> Iterator[npt.NDArray[np.int64]]:
    rng = np.random.default_rng(0)
    for _ in range(replicates):
        drawn = rng.integers(0, len(groups), len(groups))
        yield np.concatenate([groups[i] for i in drawn])


#: The side-by-side scale of ImageInWords, from the human text's side.
_SIDES = {"substantially": 2, "marginally": 1}


def imageinwords(
    path: Path, judge: Judge, encoder: SentenceEncoder, pipeline: str
) -> Iterator[ReportedFigure]:
    """IIW against IIW-P5B: how often the text that people prefer scores higher; exploratory.

    The reference is the hand-made descriptions of the image's objects. The floor prefers the longer
    text; the plain cosine of the texts stands beside it. Ties of people are left out.
    """
    with path.open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row.get("iiw-human-sxs-iiw-p5b")]
    pairs = []
    for row in rows:
        reference = " ".join(item["description"] for item in row["objects"])
        pairs += [Pair(row["IIW"], (reference,)), Pair(row["IIW-P5B"], (reference,))]
    found = list(score_captions(pairs, judge, pipeline))
    vectors = encoder([text for pair in pairs for text in (pair.generation, *pair.references)])
    cosines = (vectors[::2] * vectors[1::2]).sum(1)
    for axis, criterion in (
        ("metrics/Comprehensiveness", "omissions"),
        ("metrics/Hallucination", "mistakes"),
        ("metrics/Specificity", "omissions"),
    ):
        right, longer, plain = [], [], []
        for k, row in enumerate(rows):
            label = preference(row["iiw-human-sxs-iiw-p5b"][axis])
            if not label:
                continue
            one, other = found[2 * k], found[2 * k + 1]
            values = [(getattr(s, criterion).score or 0.0) for s in (one, other)]
            right.append(float(np.sign(values[0] - values[1]) == label))
            plain.append(float(np.sign(cosines[2 * k] - cosines[2 * k + 1]) == label))
            longer.append(float(np.sign(len(row["IIW"]) - len(row["IIW-P5B"])) == label))
        name = f"IIW pairs, {axis.split('/')[1]}"
        yield _accuracy(f"{name} by {criterion}", right, longer)
        yield _accuracy(f"{name} by cosine", plain, longer)


def _accuracy(name: str, right: Sequence[float], longer: Sequence[float]) -> ReportedFigure:
    from scripts.research.posh.figures import share_of

    return share_of(name, right, floor=longer, floor_name="the longer text", note="exploratory")


def preference(text: str) -> int:
    """1: people prefer the human text, -1: the model's, 0: neither."""
    if text == "Neutral":
        return 0
    return 1 if text.startswith("IIW-Human") else -1
