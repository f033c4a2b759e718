"""What a run did, as numbers: an addable, streaming tally over the rows of the output.

    tally = Tally(threshold=0.5, group_by="model")
    tally.add(row, line=1, group=row.get("model"))     # a row as it stands in the output
    tally.quarantine("image_truncated")
    summary = tally.to_json(speed=Speed(seconds=12.5, records=100, sentences=700))

Statistics first, scores second: every row becomes a short vector of counts, counts add up, and
every share is a ratio of two of them (`statistics`). The terminal's table, the report and its JSON
all print this one summary, so they cannot differ.

How `unscored` is treated: a sentence without a verdict is in no share, neither above nor below the
line; its count stands beside the share.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from revise_captions.pipelines.output.outcomes import (
    End,
    Outcome,
    Step,
    captions_of,
    end_of,
    is_flagged,
    outcome_of,
    step_of,
)
from revise_captions.pipelines.output.shares import (
    COLUMN,
    COLUMNS,
    Speed,
    by_count,
    factuality,
    share,
    table_6,
)
from revise_captions.pipelines.report.headline import headline
from revise_captions.pipelines.verify.tally import VerificationTally
from revise_captions.records import Why
from revise_captions.stats.bootstrap import LEVEL, REPLICATES, Sums, weights

__all__ = ["BINS", "GUARDS", "MAX_GROUPS", "NO_GROUP", "OTHER", "Speed", "Tally"]

BINS = 20
#: Values of `--group-by` that get figures of their own, in order of appearance.
MAX_GROUPS = 200
OTHER = "(other)"
NO_GROUP = "(none)"

_BUFFER = 256  # records whose bootstrap weights are drawn at once
GUARDS = frozenset(
    {
        Why.UNCHANGED,
        Why.EMPTY,
        Why.NOT_ONE_SENTENCE,
        Why.LEAKED_MARKUP,
        Why.NEW_CONTENT,
        Why.REPEATED,
    }
)
_CRITIC = frozenset({Why.NOT_FACTUAL, Why.NO_BETTER, Why.UNSCORED})


class Tally:
    """Counts over rows; memory does not grow with them. `+=` adds a shard's.

    `threshold` is the run's: a row stores P after, and whether that is factual depends on it.
    """

    def __init__(self, *, threshold: float, group_by: str | None = None, seed: int = 0) -> None:
        self.threshold = threshold
        self.group_by = group_by
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.unscored: Counter[str] = Counter()
        self.quarantined: Counter[str] = Counter()
        self.refused: Counter[str] = Counter()
        self.flow: Counter[tuple[str, str]] = Counter()
        self.outcomes: Counter[str] = Counter()
        self.before = np.zeros(BINS, dtype=np.int64)
        self.after = np.zeros(BINS, dtype=np.int64)
        self.sums = Sums(len(COLUMNS))
        self.groups: dict[str, _Group] = {}
        self.verification = VerificationTally(seed=seed)
        self._pending: list[tuple[int, str | None, list[int]]] = []
        self._before: list[float] = []
        self._after: list[float] = []

    def add(
        self, row: Mapping[str, Any], *, line: int, source: str = "", group: object = None
    ) -> None:
        """Adds a row of the output. `source` and `line` name the record: no two may be equal."""
        counts = [0] * len(COLUMNS)
        sentences = 0
        changed = False
        for _, _, revision in captions_of(row):
            found = revision["sentences"]
            part, touched = self._caption(found)
            counts = [a + b for a, b in zip(counts, part, strict=True)]
            changed = changed or touched
            sentences += len(found)
            self.counts["captions"] += 1
            self.counts["captions_changed"] += touched
        self.counts["records"] += 1
        self.counts["records_changed"] += changed
        self.counts["sentences"] += sentences
        name = self._group(group, sentences) if self.group_by is not None else None
        key = line ^ crc32(source.encode("utf-8", "replace")) << 32
        self._pending.append((key, name, counts))
        self.verification.add(row, key)
        if len(self._pending) >= _BUFFER:
            self._flush()

    def quarantine(self, reason: str) -> None:
        """Adds a record that went to the quarantine."""
        self.quarantined[str(reason)] += 1
        self.outcomes[Outcome.QUARANTINED] += 1

    def _group(self, value: object, sentences: int) -> str:
        name = NO_GROUP if value is None else str(value)
        if name not in self.groups and len(self.groups) >= MAX_GROUPS:
            name = OTHER
        group = self.groups.get(name)
        if group is None:
            group = self.groups[name] = _Group(Sums(len(COLUMNS)))
        group.records += 1
        group.sentences += sentences
        return name

    def _caption(self, sentences: Sequence[Mapping[str, Any]]) -> tuple[list[int], bool]:
        """One caption's counts, one per column, and whether anything in it changed."""
        threshold = self.threshold
        before, now = self._before, self._after
        scored = good = claims = good_claims = 0
        scored_after = good_after = claims_after = good_claims_after = 0
        steady = steady_claims = 0  # factual before and after, untouched: most sentences
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
                self.unscored[s["reason"]] += 1
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
            if is_flagged(s, threshold):
                flagged.append(s)
        scored, good = scored + steady, good + steady
        scored_after, good_after = scored_after + steady, good_after + steady
        claims, good_claims = claims + steady_claims, good_claims + steady_claims
        claims_after += steady_claims
        good_claims_after += steady_claims
        touched = [self._flagged(s) for s in flagged]
        first = [f for f in touched if f.first]
        whole = not flagged and scored == len(sentences)
        self.outcomes[Outcome.KEPT if whole else outcome_of(sentences, threshold)] += 1
        counts = [
            *(scored, good, claims, good_claims),
            *(scored_after, good_after, claims_after, good_claims_after),
            *(len(first), sum(f.rewritten for f in first), sum(f.fixed for f in first)),
            *(scored > 0, 0 < scored == good),
            *(scored_after > 0, 0 < scored_after == good_after),
        ]
        return counts, any(f.changed for f in touched)

    def _flagged(self, s: Mapping[str, Any]) -> _Flagged:
        """Adds one flagged sentence to the counts that need no interval."""
        step, end = step_of(s), end_of(s, self.threshold)
        self.flow[step, end] += 1
        rewritten = False
        for attempt in s["attempts"]:
            rewritten = rewritten or bool(attempt["text"])
            self.counts["attempts"] += 1
            self.counts["warnings"] += bool(attempt["warning"])
            if attempt["accepted"] is False:
                self.refused[attempt["why"]] += 1
        first = s["label"] == "nonfactual"
        dropped = bool(s["dropped"])
        self.counts["flagged_first" if first else "flagged_later"] += 1
        self.counts["rewritten"] += rewritten
        self.counts["accepted"] += step == Step.ACCEPTED and not dropped
        self.counts["deleted"] += step == Step.DELETED
        self.counts["dropped"] += dropped and step != Step.DELETED
        fixed = step == Step.ACCEPTED and end is End.FACTUAL
        return _Flagged(first, rewritten, fixed, dropped or bool(s["accepted"]))

    def _flush(self) -> None:
        if not self._pending:
            return
        keys = np.array([key for key, _, _ in self._pending], dtype=np.uint64)
        values = np.array([counts for _, _, counts in self._pending], dtype=np.int64)
        # float32 sums of whole numbers are exact below 2**24, and four times as fast.
        exact = int(values.max()) * len(values) * 16 < 1 << 24
        dtype: type[np.floating[Any]] = np.float32 if exact else np.float64
        drawn: npt.NDArray[np.floating[Any]] = weights(keys, seed=self.seed).astype(dtype)
        self.sums.add(values, drawn)
        members: dict[str, list[int]] = {}
        for index, (_, name, _) in enumerate(self._pending):
            if name is not None:
                members.setdefault(name, []).append(index)
        for name, rows in members.items():
            self.groups[name].sums.add(values[rows], drawn[rows])
        self._pending.clear()
        self.before += _histogram(self._before)
        self.after += _histogram(self._after)
        self._before.clear()
        self._after.clear()

    def __iadd__(self, other: Tally) -> Tally:
        """Adds a shard's tally. Both must have the same threshold, seed and group field."""
        if (self.threshold, self.group_by, self.seed) != (
            other.threshold,
            other.group_by,
            other.seed,
        ):
            raise ValueError("tallies with different thresholds, seeds or groups do not add up")
        self._flush()
        other._flush()
        self.counts += other.counts
        self.unscored += other.unscored
        self.quarantined += other.quarantined
        self.refused += other.refused
        self.flow += other.flow
        self.outcomes += other.outcomes
        self.before += other.before
        self.after += other.after
        self.sums += other.sums
        self.verification += other.verification
        for name, group in other.groups.items():
            known = name in self.groups or len(self.groups) < MAX_GROUPS
            mine = self.groups.setdefault(name if known else OTHER, _Group(Sums(len(COLUMNS))))
            mine.records += group.records
            mine.sentences += group.sentences
            mine.sums += group.sums
        return self

    def to_json(self, speed: Speed | None = None) -> dict[str, Any]:
        """All figures, ready for `json.dumps`: the one summary that everything prints from."""
        self._flush()
        result: dict[str, Any] = {
            "format": "revise-captions summary",
            "threshold": self.threshold,
            "records": self._records(),
            "captions": self._captions(),
            "sentences": self._sentences(),
            "factuality": factuality(self.sums),
            "critic_on_flagged": table_6(self.sums),
            "attempts": self._attempts(),
            "flow": self._flow(),
            "outcomes": {str(outcome): self.outcomes[outcome] for outcome in Outcome},
            "histogram": {
                "bins": BINS,
                "before": self.before.tolist(),
                "after": self.after.tolist(),
            },
            "groups": self._groups(),
            "verification": self.verification.to_json(),
            "bootstrap": {
                "unit": "record",
                "replicates": REPLICATES,
                "level": LEVEL,
                "seed": self.seed,
            },
            "speed": None if speed is None else speed.as_json(),
        }
        return {"headline": headline(result), **result}

    def _records(self) -> dict[str, Any]:
        bad = sum(self.quarantined.values())
        return {
            "read": self.counts["records"] + bad,
            "written": self.counts["records"],
            "changed": self.counts["records_changed"],
            "quarantined": bad,
            "quarantined_by_reason": by_count(self.quarantined),
        }

    def _captions(self) -> dict[str, Any]:
        return {
            "total": self.counts["captions"],
            "changed": self.counts["captions_changed"],
            "all_factual": {
                "before": share(self.sums, "clean_before", "captions_before"),
                "after": share(self.sums, "clean_after", "captions_after"),
            },
        }

    def _sentences(self) -> dict[str, Any]:
        c, total = self.counts, self.sums.total
        scored = int(total[COLUMN["scored_before"]])
        left = c["sentences"] - c["deleted"] - c["dropped"]
        return {
            "total": c["sentences"],
            "scored": scored,
            "factual": int(total[COLUMN["factual_before"]]),
            "flagged": c["flagged_first"],
            "flagged_later": c["flagged_later"],
            "rewritten": c["rewritten"],
            "accepted": c["accepted"],
            "deleted": c["deleted"],
            "dropped": c["dropped"],
            "not_assessable": scored - int(total[COLUMN["assessable_before"]]),
            "unscored": c["sentences"] - scored,
            "unscored_by_reason": by_count(self.unscored),
            "unscored_after": left - int(total[COLUMN["scored_after"]]),
        }

    def _attempts(self) -> dict[str, Any]:
        guard = {why: n for why, n in self.refused.items() if why in GUARDS}
        critic = {why: n for why, n in self.refused.items() if why in _CRITIC}
        other = {w: n for w, n in self.refused.items() if w not in guard and w not in critic}
        return {
            "total": self.counts["attempts"],
            "warnings": self.counts["warnings"],
            "refused_by_guard": by_count(guard),
            "refused_by_critic": by_count(critic),
            "refused_otherwise": by_count(other),
        }

    def _flow(self) -> list[dict[str, Any]]:
        """Flagged sentences (also the later flagged), by what was done and how they ended."""
        items = sorted(self.flow.items(), key=lambda item: (-item[1], item[0]))
        return [{"step": str(s), "end": str(e), "sentences": n} for (s, e), n in items]

    def _groups(self) -> dict[str, Any] | None:
        if self.group_by is None:
            return None
        rows = [
            {
                "name": name,
                "records": group.records,
                "sentences": group.sentences,
                "unscored": group.sentences - int(group.sums.total[0]),
                "flagged": int(group.sums.total[COLUMN["flagged"]]),
                "factuality": factuality(group.sums),
                "critic_on_flagged": table_6(group.sums),
            }
            for name, group in self.groups.items()
        ]
        return {"field": self.group_by, "limit": MAX_GROUPS, "rows": rows}


class _Flagged(NamedTuple):
    first: bool
    rewritten: bool
    fixed: bool
    changed: bool


@dataclass(slots=True)
class _Group:
    sums: Sums
    records: int = 0
    sentences: int = 0


def _histogram(values: list[float]) -> npt.NDArray[np.int64]:
    """Counts in `[0, .05), … [.95, 1]` of probabilities with four decimals, without float edges."""
    scaled = np.rint(np.array(values, dtype=np.float64) * 10_000).astype(np.int64)
    return np.bincount(np.minimum(scaled * BINS // 10_000, BINS - 1), minlength=BINS)
