"""Agreement of a metric with people, as POSH measures it (A.3.1, A.3.2).

Granular: a text's tokens are marked by people or not, and have a score each (that of the
components over them); a token is predicted as marked where its score is below a threshold; macro F1
over both classes; the maximum over all thresholds is reported.

Coarse: a judgment says how much better text 1 is than text 2, from -2 to 2. The metric's
differences are compared with it by Spearman's rho and Kendall's tau-b, and by accuracy at
predicting the better text or a tie: differences below a threshold are ties, the threshold such that
as many are ties as people gave.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from revise_captions.posh.judge import MOST
from revise_captions.posh.scoring import Graded
from revise_captions.records import Span
from revise_captions.stats.correlations import correlation

_TOKEN = re.compile(r"\w+|[^\w\s]")
#: POSH's rows: granular macro F1 (mistakes, omissions), DOCENT's three criteria as accuracy, rho,
#: tau, CapArena's accuracy per pair and rho, tau per model.
PUBLISHED = {
    "docent granular": (0.580, 0.680),
    "docent mistakes": (60.7, 0.519, 0.405),
    "docent omissions": (62.7, 0.581, 0.451),
    "docent overall": (70.7, 0.599, 0.466),
    "caparena": (59.2, 0.931, 0.796),
}


def tokens(text: str) -> list[Span]:
    """Words and punctuation marks."""
    return [Span(*found.span()) for found in _TOKEN.finditer(text)]


def token_scores(graded: Graded) -> npt.NDArray[np.float64]:
    """For each token of the text the lowest grade of a component over it; 5 where there is none."""
    places = tokens(graded.graph.text)
    scores = np.full(len(places), MOST)
    starts = [place.start for place in places]
    for part, grade in zip(graded.parts, graded.grades, strict=True):
        if grade.score is None:
            continue
        first = int(np.searchsorted(starts, part.span.start))
        last = int(np.searchsorted(starts, part.span.end))
        scores[first:last] = np.minimum(scores[first:last], grade.score)
    return scores


def marked(text: str, spans: Sequence[Span]) -> npt.NDArray[np.bool_]:
    """For each token whether a person's span touches it."""
    return np.array(
        [any(s.start < t.end and t.start < s.end for s in spans) for t in tokens(text)], dtype=bool
    )


def macro_f1(scores: npt.NDArray[np.float64], gold: npt.NDArray[np.bool_]) -> tuple[float, float]:
    """The highest macro F1 over thresholds, and the threshold: at or below it is marked.

    F1 of each class is 2TP / (predicted + gold); a class that nobody has and nobody predicts
    counts 1. Linear in the number of tokens once they are sorted.
    """
    order = np.argsort(scores, kind="stable")
    sorted_, right = scores[order], gold[order]
    total, positive = len(gold), int(gold.sum())
    predicted = np.arange(total + 1)
    hits = np.concatenate([[0], np.cumsum(right)])
    misses = positive - hits
    rest = total - predicted
    one = _f1(hits, predicted, positive)
    other = _f1(rest - misses, rest, total - positive)
    value = (one + other) / 2
    ends = np.concatenate([[True], np.append(sorted_[1:] > sorted_[:-1], True)])
    best = int(np.argmax(np.where(ends, value, -1)))
    return float(value[best]), float(sorted_[best - 1]) if best else float("-inf")


def _f1(
    hits: npt.NDArray[np.int64], predicted: npt.NDArray[np.int64], gold: int
) -> npt.NDArray[np.float64]:
    below = predicted + gold
    return np.where(below > 0, 2 * hits / np.maximum(below, 1), 1.0)


@dataclass(frozen=True, slots=True)
class Coarse:
    """`accuracy` at the better text or a tie, with ties below `threshold`; correlations."""

    accuracy: float
    rho: float
    tau: float
    threshold: float
    pairs: int


def coarse(differences: Sequence[float], labels: Sequence[float]) -> Coarse:
    """`differences[i]`: metric of text 1 minus that of text 2; `labels[i]` from -2 to 2."""
    found, gold = np.asarray(differences, dtype=float), np.asarray(labels, dtype=float)
    threshold = tie_threshold(found, float((gold == 0).mean()))
    predicted = np.where(np.abs(found) <= threshold, 0, np.sign(found))
    rho, tau = correlation("spearman", found, gold), correlation("kendall-b", found, gold)
    return Coarse(float((predicted == np.sign(gold)).mean()), rho, tau, threshold, len(gold))


def tie_threshold(differences: npt.NDArray[np.float64], rate: float) -> float:
    """The largest distance that is a tie, so that about `rate` of all are; -1 for none."""
    count = round(rate * len(differences))
    if count == 0:
        return -1.0
    return float(np.sort(np.abs(differences))[count - 1])
