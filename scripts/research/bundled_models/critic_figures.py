"""What the bundled critic can do on held-out pictures, beside its floors: the card's figures.

Floors: the same model with a gray picture, the same model without the context (each sentence as if
it stood alone), and the majority class. Sentences that the critic left unscored are in no score;
their share stands beside. All intervals are bootstraps over captions.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from revise_captions.critic.protocol import Critic, ExplainRequest, JudgeRequest
from revise_captions.picturebook.oracle.truth import check_rationale, context_decides
from revise_captions.records import Span, Verdict
from revise_captions.stats.classification import (
    calibration_error,
    macro_f1_at,
    one_class_macro_f1,
    roc_auc,
)
from revise_captions.stats.paired_tests import Floats, Statistic, measured
from scripts.research.frame.figures import share_of_hits
from scripts.research.frame.held_out import Item


@dataclass(frozen=True, slots=True)
class SentenceScores:
    """Flat over sentences: P(factual) (NaN: unscored), truth, which caption, what its context does.

    `needs_context`: it has another truth, or none, without; `context_decides`: nothing else tells.
    `error`: what is wrong with it, "" where nothing is.
    """

    p: NDArray[np.float64]
    factual: NDArray[np.bool_]
    caption: NDArray[np.int64]
    needs_context: NDArray[np.bool_]
    context_decides: NDArray[np.bool_]
    assessable: NDArray[np.bool_]
    said_assessable: NDArray[np.bool_]
    error: NDArray[np.str_]

    def where(self, chosen: NDArray[np.bool_]) -> SentenceScores:
        return SentenceScores(*(getattr(self, name)[chosen] for name in self.__slots__))


def judge_items(critic: Critic, items: Sequence[Item]) -> SentenceScores:
    """The critic's verdicts on whole captions."""
    asked = [JudgeRequest(item.image, item.text, item.spans) for item in items]
    return _collect(items, critic.judge(asked))


def judge_alone(critic: Critic, items: Sequence[Item]) -> SentenceScores:
    """The floor without context: each sentence as a caption of its own."""
    asked = [
        JudgeRequest(item.image, span.of(item.text), (Span(0, span.end - span.start),))
        for item in items
        for span in item.spans
    ]
    answers = iter(critic.judge(asked))
    return _collect(items, [[next(answers)[0] for _ in item.spans] for item in items])


def judge_blind(critic: Critic, items: Sequence[Item]) -> SentenceScores:
    """The floor without the image: a gray one. The critic must have no domain gate."""
    gray = Image.new("RGB", (128, 128), (128, 128, 128))
    return judge_items(critic, [replace(item, image=gray) for item in items])


def _collect(items: Sequence[Item], verdicts: Sequence[Sequence[Verdict]]) -> SentenceScores:
    pairs = [
        (number, sentence, factual, verdict)
        for number, item in enumerate(items)
        for sentence, factual, verdict in zip(
            item.sentences, item.factual, verdicts[number], strict=True
        )
    ]
    decided = [
        context_decides(item.scene, item.text[: span.start], span.of(item.text))
        for item in items
        for span in item.spans
    ]
    return SentenceScores(
        np.array([np.nan if v.p_factual is None else v.p_factual for _, _, _, v in pairs]),
        np.array([factual for _, _, factual, _ in pairs]),
        np.array([number for number, _, _, _ in pairs]),
        np.array([s.needs_context for _, s, _, _ in pairs]),
        np.array(decided),
        np.array([s.assessable for _, s, _, _ in pairs]),
        np.array([v.assessable is not False for _, _, _, v in pairs]),
        np.array(["" if factual else s.error_type for _, s, factual, _ in pairs]),
    )


def with_interval(statistic: Statistic, judged: SentenceScores) -> tuple[float, float, float]:
    """The statistic of what was scored, with its 95 % interval over captions."""
    scored = judged.where(~np.isnan(judged.p))
    found = measured(statistic, scored.p, scored.factual, list(map(str, scored.caption)))
    known = (float("nan") if v is None else v for v in (found.value, found.low, found.high))
    value, low, high = known
    return value, low, high


def _majority(scores: Floats, truth: Floats) -> float:
    return one_class_macro_f1(truth)


def rationale_figures(
    critic: Critic, items: Sequence[Item], judged: SentenceScores
) -> dict[str, Any]:
    """Share of rationales that the oracle finds correct: of truly wrong sentences, of flagged ones.

    A rationale that the oracle cannot read counts as not correct; its share stands beside.
    """
    flat = [(item, k) for item in items for k in range(len(item.sentences))]
    flagged = np.nan_to_num(judged.p, nan=1.0) < critic.threshold
    wanted = [i for i in range(len(flat)) if not judged.factual[i] or flagged[i]]
    claims = [
        ExplainRequest(item.image, item.text, item.spans, k)
        for item, k in (flat[i] for i in wanted)
    ]
    found: dict[int, bool | None] = {}
    for i, text in zip(wanted, critic.explain(claims), strict=True):
        item, k = flat[i]
        context, sentence = item.text[: item.spans[k].start], item.spans[k].of(item.text)
        found[i] = check_rationale(item.scene, context, sentence, text.text)
    truly = [i for i in wanted if not judged.factual[i]]
    right = [found[i] is True for i in truly]
    spread = share_of_hits(right, [str(judged.caption[i]) for i in truly])
    wrong = [found[i] for i in truly]
    of_flagged = [found[i] for i in wanted if flagged[i]]
    return {
        "truly_wrong": _correct(wrong),
        "truly_wrong_interval": (spread.low, spread.high),
        "flagged": _correct(of_flagged),
        "unparsed": sum(v is None for v in wrong) / max(1, len(wrong)),
    }


def _correct(found: Sequence[bool | None]) -> tuple[float, int]:
    return sum(v is True for v in found) / max(1, len(found)), len(found)


def by_error(judged: SentenceScores, threshold: float) -> dict[str, tuple[float, int]]:
    """For each kind of error, the share of wrong sentences that are flagged, and how many there
    are: most first. Unscored ones count as not flagged.
    """
    kinds, counts = np.unique(judged.error[~judged.factual], return_counts=True)
    flagged = np.nan_to_num(judged.p, nan=1.0) < threshold
    return {
        str(kinds[k]): (float(flagged[judged.error == kinds[k]].mean()), int(counts[k]))
        for k in np.argsort(-counts, kind="stable")
    }


def _beside(
    judged: SentenceScores, alone: SentenceScores, chosen: NDArray[np.bool_], threshold: float
) -> dict[str, Any]:
    """The chosen sentences with their context and without."""
    return {
        "sentences": int(chosen.sum()),
        "macro_f1": with_interval(macro_f1_at(threshold), judged.where(chosen)),
        "macro_f1_without_context": with_interval(macro_f1_at(threshold), alone.where(chosen)),
    }


def figures(critic: Critic, blind: Critic, items: Sequence[Item]) -> dict[str, Any]:
    """Every figure of one split. `blind`: the same critic without its domain gate."""
    threshold = critic.threshold
    judged = judge_items(critic, items)
    alone = judge_alone(critic, items)
    gray = judge_blind(blind, items)
    unscored = float(np.isnan(judged.p).mean())
    macro_f1 = macro_f1_at(threshold)
    assessed = judged.where(~np.isnan(judged.p) & judged.factual)
    return {
        "captions": len(items),
        "sentences": len(judged.p),
        "share_factual": float(judged.factual.mean()),
        "unscored": unscored,
        "roc_auc": with_interval(roc_auc, judged),
        "macro_f1": with_interval(macro_f1, judged),
        "ece": with_interval(calibration_error, judged),
        "roc_auc_without_image": with_interval(roc_auc, gray),
        "macro_f1_without_image": with_interval(macro_f1, gray),
        "roc_auc_without_context": with_interval(roc_auc, alone),
        "macro_f1_without_context": with_interval(macro_f1, alone),
        "macro_f1_majority": with_interval(_majority, judged),
        "needs_context": _beside(judged, alone, judged.needs_context, threshold),
        "context_decides": _beside(judged, alone, judged.context_decides, threshold),
        "by_error": by_error(judged, threshold),
        "assessable_accuracy": float((assessed.assessable == assessed.said_assessable).mean()),
        "rationales": rationale_figures(critic, items, judged),
    }
