"""How well marked spans agree: relaxed F1 over spans, macro-F1 over tokens.

If spans have scores (higher: more certainly wrong), a token gets the lowest of the spans over it,
as in POSH's evaluation, and `best_token_macro_f1` is the maximum over all thresholds.

Relaxed F1 (Hripcsak & Rothschild 2005; DOCENT's agreement): a span is matched if at least half of
its tokens are inside spans of the other side. Precision is the share of predicted spans that are
matched, recall the share of human ones. Tokens are runs of letters and digits; a token belongs to a
span that it overlaps.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from revise_captions.records import Span

_TOKEN = re.compile(r"\w+")
Sums = Sequence[float] | npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SpanCounts:
    """Counts of one text; they add up. The last four are tokens: marked by both, one or neither."""

    predicted: int = 0
    predicted_matched: int = 0
    human: int = 0
    human_matched: int = 0
    both: int = 0
    only_predicted: int = 0
    only_human: int = 0
    neither: int = 0


def count_spans(text: str, predicted: Sequence[Span], human: Sequence[Span]) -> SpanCounts:
    """Counts of one text. Spans that cover no token are left out."""
    tokens = [Span(*found.span()) for found in _TOKEN.finditer(text)]
    said = [marked for span in predicted if (marked := _inside(tokens, span))]
    true = [marked for span in human if (marked := _inside(tokens, span))]
    all_said, all_true = set().union(*said), set().union(*true)
    return SpanCounts(
        len(said),
        sum(2 * len(marked & all_true) >= len(marked) for marked in said),
        len(true),
        sum(2 * len(marked & all_said) >= len(marked) for marked in true),
        len(all_said & all_true),
        len(all_said - all_true),
        len(all_true - all_said),
        len(tokens) - len(all_said | all_true),
    )


def _inside(tokens: Sequence[Span], span: Span) -> set[int]:
    return {
        k for k, token in enumerate(tokens) if token.start < span.end and span.start < token.end
    }


def relaxed_f1(total: Sums) -> float:
    """From summed `SpanCounts` (their first four); NaN if neither side marked anything."""
    predicted, predicted_matched, human, human_matched = map(float, total[:4])
    if predicted == 0 and human == 0:
        return float("nan")
    precision = predicted_matched / predicted if predicted else 0.0
    recall = human_matched / human if human else 0.0
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


def token_macro_f1(total: Sums) -> float:
    """From summed `SpanCounts`: mean F1 of marked and unmarked tokens; NaN if one is missing."""
    both, only_predicted, only_human, neither = map(float, total[4:8])
    if both + only_human == 0 or only_predicted + neither == 0:
        return float("nan")
    wrong = only_predicted + only_human
    return (2 * both / (2 * both + wrong) + 2 * neither / (2 * neither + wrong)) / 2


def token_scores(
    text: str, spans: Sequence[tuple[Span, float]], human: Sequence[Span]
) -> tuple[list[float], list[bool]]:
    """For each token: the lowest score of the spans over it (-inf: none), and whether people
    marked it."""
    tokens = [Span(*found.span()) for found in _TOKEN.finditer(text)]
    return lowest(tokens, spans), overlapped(tokens, human)


def lowest(tokens: Sequence[Span], spans: Sequence[tuple[Span, float]]) -> list[float]:
    """For each token, the lowest score of the spans over it; -inf: none."""
    scores: dict[int, float] = {}
    for span, score in spans:
        for k in _inside(tokens, span):
            scores[k] = min(scores.get(k, score), score)
    return [scores.get(k, float("-inf")) for k in range(len(tokens))]


def overlapped(tokens: Sequence[Span], spans: Sequence[Span]) -> list[bool]:
    """Whether each token overlaps one of the spans."""
    inside = set[int]().union(*(_inside(tokens, span) for span in spans))
    return [k in inside for k in range(len(tokens))]


def best_token_macro_f1(counts: npt.NDArray[np.float64]) -> float:
    """The highest `token_macro_f1` over thresholds; NaN if one class is missing.

    `counts` (levels, 2): tokens that people did and did not mark, at each level of the score from
    low to high. There is a threshold below each level; above the last, nothing is marked.
    """
    human, clean = counts.sum(0)
    if human == 0 or clean == 0:
        return float("nan")
    marked = np.append(np.cumsum(counts[::-1], axis=0)[::-1], np.zeros((1, 2)), axis=0)
    both, only_predicted = marked.T
    only_human, neither = human - both, clean - only_predicted
    wrong = only_predicted + only_human
    found = both / (2 * both + wrong) + neither / (2 * neither + wrong)
    return float(found.max())
