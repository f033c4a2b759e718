"""Counts of sentences and captions of a run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import add
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from revise_captions.pipelines.output.outcomes import (
    End,
    Outcome,
    Step,
    end_of,
    is_flagged,
    outcome_of,
    step_of,
)
from revise_captions.pipelines.output.shares import by_count
from revise_captions.records import Why, kind_of_reason, unknown_word_in

#: Bins of the histograms of P(factual).
BINS = 20
GUARDS = frozenset(
    {
        Why.UNCHANGED,
        Why.EMPTY,
        Why.NOT_ONE_SENTENCE,
        Why.LEAKED_MARKUP,
        Why.OTHER_ABSENCE,
        Why.NOT_AS_NAMED,
        Why.LOST_CONTENT,
        Why.NEW_CONTENT,
        Why.REPEATED,
    }
)
_CRITIC = frozenset({Why.NOT_FACTUAL, Why.NO_BETTER, Why.UNSCORED, Why.UNKNOWN_WORD})


@dataclass(slots=True)
class ExpertHistograms:
    """Counts of P(factual) in `BINS`, before and after, for what one expert judged.

    `pending` has probabilities not counted yet, before and after.
    """

    threshold: float
    before: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(BINS, dtype=np.int64))
    after: npt.NDArray[np.int64] = field(default_factory=lambda: np.zeros(BINS, dtype=np.int64))
    pending: tuple[list[float], list[float]] = field(default_factory=lambda: ([], []))

    def flush(self) -> None:
        """Counts pending probabilities."""
        before, after = self.pending
        self.before += _histogram(before)
        self.after += _histogram(after)
        before.clear()
        after.clear()

    def as_json(self) -> dict[str, Any]:
        return {"bins": BINS, "before": self.before.tolist(), "after": self.after.tolist()}


class Counts:
    """Counts that need no interval, over all captions of a run; `+=` adds a shard's.

    Attributes:
        totals: Records, captions, sentences and attempts, by name.
        flow: Flagged sentences, by what was done and how they ended.
        outcomes: Captions, by outcome.
        histograms: Of P(factual), by the expert that judged.
    """

    def __init__(self) -> None:
        self.totals: Counter[str] = Counter()
        self.unscored: Counter[str] = Counter()
        self.unknown_words: Counter[str] = Counter()
        self.quarantined: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.flow: Counter[tuple[str, str]] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.histograms: dict[str, ExpertHistograms] = {}

    def __iadd__(self, other: Counts) -> Counts:
        for counts in (self, other):
            counts.flush()
        for name in (
            "totals",
            "unscored",
            "unknown_words",
            "quarantined",
            "refused",
            "flow",
            "outcomes",
        ):
            getattr(self, name).update(getattr(other, name))
        for name, found in other.histograms.items():
            mine = self.histograms.setdefault(name, ExpertHistograms(found.threshold))
            if mine.threshold != found.threshold:
                who = f"“{name}”" if name else "the critic"
                raise ValueError(
                    f"{who} has the threshold {mine.threshold} in one shard, {found.threshold} in "
                    "another: they do not add up"
                )
            mine.before += found.before
            mine.after += found.after
        return self

    def flush(self) -> None:
        """Moves pending probabilities into the histograms."""
        for found in self.histograms.values():
            found.flush()

    def add_caption(self, revision: Mapping[str, Any]) -> tuple[list[int], bool]:
        """Adds a caption, given the `revision` in its row.

        Returns:
            Its counts, one for each of `shares.COLUMNS`, and whether anything in it changed.
        """
        sentences, threshold = revision["sentences"], revision["threshold"]
        expert = str(revision.get("expert", ""))
        if expert not in self.histograms:
            self.histograms[expert] = ExpertHistograms(threshold)
        shares, flagged = self._sentences(sentences, threshold, self.histograms[expert].pending)
        touched = [self._flagged(s, threshold) for s in flagged]
        first = [f for f in touched if f.first]
        scored, good, scored_after, good_after = shares.before[:2] + shares.after[:2]
        whole = not flagged and scored == len(sentences)
        self.outcomes[Outcome.KEPT if whole else outcome_of(revision)] += 1
        counts = [
            *shares.before,
            *shares.after,
            *(len(first), sum(f.rewritten for f in first), sum(f.fixed for f in first)),
            *(scored > 0, 0 < scored == good),
            *(scored_after > 0, 0 < scored_after == good_after),
            *shares.standing,
        ]
        return counts, any(f.changed for f in touched)

    def _sentences(
        self,
        sentences: Sequence[Mapping[str, Any]],
        threshold: float,
        pending: tuple[list[float], list[float]],
    ) -> tuple[_SentenceCounts, list[Mapping[str, Any]]]:
        """Counts a caption's sentences, and finds the flagged ones.

        Args:
            sentences: As in `revision`.
            threshold: P(factual) below which one is nonfactual.
            pending: `ExpertHistograms.pending`, to which their probabilities are added.
        """
        before, now = pending
        scored = good = claims = good_claims = 0
        scored_after = good_after = claims_after = good_claims_after = 0
        kept = wrong = rewritten = 0
        steady = steady_claims = 0  # factual before and after and unchanged: most sentences
        flagged: list[Mapping[str, Any]] = []
        for s in sentences:
            p, after, claim = s["p_factual"], s["p_after"], s["assessable"] is not False
            is_good = s["label"] == "factual"
            if is_good and not s["attempts"] and after is not None and after >= threshold:
                before.append(p)
                now.append(after)
                steady += 1
                steady_claims += claim
                continue
            if p is None:
                self.unscored[kind_of_reason(s["reason"])] += 1
                if word := unknown_word_in(s["reason"]):
                    self.unknown_words[word.lower()] += 1
            else:
                before.append(p)
                scored += 1
                good += is_good
                claims += claim
                good_claims += claim and is_good
            if after is not None and not s["dropped"]:
                now.append(after)
                is_good = after >= threshold
                scored_after += 1
                good_after += is_good
                claims_after += claim
                good_claims_after += claim and is_good
                rewritten += s["accepted"] is True
                kept += s["accepted"] is not True and s["label"] == "factual"
                wrong += s["accepted"] is not True and s["label"] == "nonfactual"
            if is_flagged(s, threshold):
                flagged.append(s)
        both = (steady, steady, steady_claims, steady_claims)
        found = (scored, good, claims, good_claims)
        found_after = (scored_after, good_after, claims_after, good_claims_after)
        counts = _SentenceCounts(
            tuple(map(add, found, both)),
            tuple(map(add, found_after, both)),
            (kept + steady, wrong, rewritten),
        )
        return counts, flagged

    def _flagged(self, s: Mapping[str, Any], threshold: float) -> _Flagged:
        """Adds one flagged sentence to the counts that need no interval."""
        step, end = step_of(s), end_of(s, threshold)
        self.flow[step, end] += 1
        rewritten = False
        for attempt in s["attempts"]:
            rewritten = rewritten or bool(attempt["text"])
            self.totals["attempts"] += 1
            self.totals["warnings"] += bool(attempt["warning"])
            if attempt["accepted"] is False:
                self.refused[attempt["why"]] += 1
        first = s["label"] == "nonfactual"
        dropped = bool(s["dropped"])
        self.totals["flagged_first" if first else "flagged_later"] += 1
        self.totals["rewritten"] += rewritten
        self.totals["accepted"] += step == Step.ACCEPTED and not dropped
        self.totals["deleted"] += step == Step.DELETED
        self.totals["dropped"] += dropped and step != Step.DELETED
        fixed = step == Step.ACCEPTED and end is End.FACTUAL
        return _Flagged(first, rewritten, fixed, dropped or bool(s["accepted"]))

    def attempts_json(self) -> dict[str, Any]:
        guard = {why: n for why, n in self.refused.items() if why in GUARDS}
        critic = {why: n for why, n in self.refused.items() if why in _CRITIC}
        other = {w: n for w, n in self.refused.items() if w not in guard and w not in critic}
        return {
            "total": self.totals["attempts"],
            "warnings": self.totals["warnings"],
            "refused_by_guard": by_count(guard),
            "refused_by_critic": by_count(critic),
            "refused_otherwise": by_count(other),
        }

    def flow_json(self) -> list[dict[str, Any]]:
        """Flagged sentences, by what was done and how they ended."""
        items = sorted(self.flow.items(), key=lambda item: (-item[1], item[0]))
        return [{"step": str(s), "end": str(e), "sentences": n} for (s, e), n in items]


class _SentenceCounts(NamedTuple):
    """A caption's sentences, by columns of `shares.COLUMNS`.

    Attributes:
        before: Scored, factual, claims, factual claims.
        after: The same after revision.
        standing: Those standing after revision: kept, wrong, rewritten.
    """

    before: tuple[int, ...]
    after: tuple[int, ...]
    standing: tuple[int, int, int]


class _Flagged(NamedTuple):
    first: bool
    rewritten: bool
    fixed: bool
    changed: bool


def _histogram(values: list[float]) -> npt.NDArray[np.int64]:
    """Counts of four-decimal probabilities in `[0, .05), … [.95, 1]`, avoiding float edges."""
    scaled = np.rint(np.array(values, dtype=np.float64) * 10_000).astype(np.int64)
    return np.bincount(np.minimum(scaled * BINS // 10_000, BINS - 1), minlength=BINS)
