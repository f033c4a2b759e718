"""s_p by the bundled critic against the exact truth, on held-out picture-book captions.

Each caption's units are judged by the critic and by the oracle, both in the place of the sentence
that says them. s_p is the share of descriptive units that the critic calls correct, among those
that the oracle can judge; the truth is the share of them that are true. Peers: the same critic on
whole sentences against the share of true sentences. Intervals resample captions, one per picture.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from revise_captions.critic.protocol import Critic, JudgeRequest
from revise_captions.critic.unit_verifier import CriticVerifier
from revise_captions.dcscore.graph_decomposer import GraphDecomposer
from revise_captions.dcscore.units import VerifyTask
from revise_captions.picturebook.captioners import CAPTIONERS
from revise_captions.picturebook.oracle.truth import Truth, oracle
from scripts.research.bundled_models.held_out import Item, held_out
from scripts.research.posh.figures import ReportedFigure

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class JudgedUnits:
    """One caption's units that oracle and critic judged, and its sentences.

    Attributes:
        units: (true, P(correct)) of each.
        unparsed: Units that the oracle could not judge.
        sentences: (true, P(factual)) of each.
        words: Length of the caption.
    """

    units: tuple[tuple[bool, float], ...]
    unparsed: int
    sentences: tuple[tuple[bool, float], ...]
    words: int


def judged(items: Sequence[Item], critic: Critic) -> list[JudgedUnits]:
    """Both judges on every caption."""
    captions = GraphDecomposer().decompose([item.text for item in items])
    tasks = [VerifyTask(i.image, caption) for i, caption in zip(items, captions, strict=True)]
    verdicts = CriticVerifier(critic).verify(tasks)
    whole = critic.judge([JudgeRequest(i.image, i.text, i.spans) for i in items])
    found = []
    for item, caption, answers, said in zip(items, captions, verdicts, whole, strict=True):
        units, unparsed = [], 0
        for unit, answer in zip(caption.units, answers, strict=True):
            before = item.text[: caption.sentences[unit.sentence].start]
            truth = oracle(item.scene, before, unit.text)
            if not unit.descriptive or answer.p_correct is None:
                continue
            if truth in (Truth.TRUE, Truth.FALSE):
                units.append((truth is Truth.TRUE, answer.p_correct))
            else:
                unparsed += 1
        sentences = [
            (true, verdict.p_factual)
            for true, verdict in zip(item.factual, said, strict=True)
            if verdict.p_factual is not None
        ]
        words = len(item.text.split())
        found.append(JudgedUnits(tuple(units), unparsed, tuple(sentences), words))
    return found


def figures(critic: Critic, captions: int, *, balanced: bool) -> Iterator[ReportedFigure]:
    """Pearson's r over captions, and the unit-level figures."""
    name = "42 % of sentences wrong" if balanced else "fourteen captioners"
    name = f"Picture book, {name}"
    kept = [
        one for one in judged(held_out("test", captions, balanced=balanced), critic) if one.units
    ]
    at = critic.threshold
    s_p = _shares([one.units for one in kept], at)
    by_sentence = _shares([one.sentences for one in kept], at)
    words = np.array([one.words for one in kept], dtype=float)
    floor = _r(np.stack([words, s_p[1]]))
    count = sum(len(one.units) for one in kept)
    unparsed = sum(one.unparsed for one in kept)
    yield _correlation(
        f"{name}: s_p against the truth, r",
        s_p,
        floor=floor,
        floor_name="length",
        target=0.95,
        note=f"{count:,} units, {unparsed:,} more that the oracle cannot judge",
    )
    yield _correlation(f"{name}: the same of whole sentences, r", by_sentence)
    systems = [s_p[:, k :: len(CAPTIONERS)].mean(1) for k in range(len(CAPTIONERS))]
    yield ReportedFigure(f"{name}: means of captioners, r", _r(np.array(systems).T), n=len(systems))
    pairs = np.array([pair for one in kept for pair in one.units], dtype=float)
    yield from _of_units(name, pairs, at)


def _shares(rows: Sequence[Sequence[tuple[bool, float]]], threshold: float) -> Floats:
    """(2, captions): the critic's share of correct ones, and the true share."""
    kept = [np.array(row, dtype=float) for row in rows if row]
    return np.array([[(row[:, 1] >= threshold).mean(), row[:, 0].mean()] for row in kept]).T


def _r(pair: Floats) -> float:
    return float(np.corrcoef(pair[0], pair[1])[0][1])


def _correlation(name: str, pair: Floats, **more: object) -> ReportedFigure:
    rng = np.random.default_rng(0)
    count = pair.shape[1]
    drawn = [_r(pair[:, rng.integers(0, count, count)]) for _ in range(1000)]
    low, high = np.nanquantile(drawn, [0.025, 0.975])
    return ReportedFigure(name, _r(pair), float(low), float(high), count, **more)  # type: ignore[arg-type]


def _of_units(name: str, pairs: Floats, threshold: float) -> Iterator[ReportedFigure]:
    from sklearn.metrics import f1_score, roc_auc_score

    true, p = pairs[:, 0] > 0, pairs[:, 1]
    yield ReportedFigure(f"{name}: units, ROC-AUC", float(roc_auc_score(true, p)), n=len(p))
    macro = float(f1_score(true, p >= threshold, average="macro"))
    one_class = float(f1_score(true, np.ones_like(true), average="macro"))
    yield ReportedFigure(
        f"{name}: units, macro-F1", macro, n=len(p), floor=one_class, floor_name="one class"
    )
