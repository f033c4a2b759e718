"""The figures of a run: a streaming tally over the rows of the output; shards' tallies add up.

    tally = Tally(group_by="model")
    tally.add(row, line=1, group=row.get("model"))     # a row as it stands in the output
    tally.quarantine("image_truncated")
    summary = tally.to_json(speed=Speed(seconds=12.5, records=100, sentences=700))

Every row becomes a short vector of counts, and every share is a ratio of two sums of counts
(`stats.bootstrap`). The terminal's table, the report and its JSON all print this summary, so they
cannot disagree.

An unscored sentence enters neither the numerator nor the denominator of a share; the number of
these is reported beside the share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from revise_captions.pipelines.output.limits import LimitCounts
from revise_captions.pipelines.output.outcomes import Outcome, captions_of
from revise_captions.pipelines.output.repeats import Repeats
from revise_captions.pipelines.output.shares import (
    COLUMN,
    COLUMNS,
    Speed,
    by_count,
    factuality,
    share,
    table_6,
)
from revise_captions.pipelines.report.corrected import corrected_together
from revise_captions.pipelines.report.counts import Counts
from revise_captions.pipelines.report.headline import headline
from revise_captions.pipelines.verify.tally import VerificationTally
from revise_captions.stats.bootstrap import REPLICATES, Sums, weights
from revise_captions.stats.error_correction import ErrorRates
from revise_captions.stats.exact import LEVEL

#: Values of `--group-by` that get figures of their own, in order of appearance.
MAX_GROUPS = 200
#: How many unknown words are listed, most frequent first.
WORDS = 50
OTHER = "(other)"
NO_GROUP = "(none)"

_BUFFER = 256  # records whose bootstrap weights are drawn at once


class Tally:
    """Counts over rows, in constant memory; `+=` adds a shard's."""

    def __init__(self, *, group_by: str | None = None, seed: int = 0) -> None:
        self.group_by = group_by
        self.seed = seed
        self.counts = Counts()
        self.sums = Sums(len(COLUMNS))
        #: By the expert that judged a record; "" where one critic judges everything.
        self.experts: dict[str, Sums] = {}
        self.groups: dict[str, _Group] = {}
        self.verification = VerificationTally(seed=seed)
        self.repeats = Repeats()
        self.limits = LimitCounts()
        self._pending: list[tuple[int, str | None, list[int], str]] = []

    def add(
        self,
        row: Mapping[str, Any],
        *,
        line: int,
        source: str = "",
        group: object = None,
        captions: Iterable[str] = (),
        image: str = "",
    ) -> None:
        """Adds an output row; `source` and `line` together identify the record.

        `captions`: the original ones. `image`: its name; by default the record's own.
        """
        revised = captions_of(row)
        self.limits.add(revised)
        self.repeats.add(captions, [part for *_, part in revised], image or f"{source}\0{line}")
        counts = [0] * len(COLUMNS)
        sentences = 0
        changed, expert = False, ""
        for _, _, revision in revised:
            part, touched = self.counts.add_caption(revision)
            counts = [a + b for a, b in zip(counts, part, strict=True)]
            changed = changed or touched
            expert = str(
                revision.get("expert", "")
            )  # depends on the image, so all captions share it
            sentences += len(revision["sentences"])
            self.counts.totals["captions"] += 1
            self.counts.totals["captions_changed"] += touched
        self.counts.totals["records"] += 1
        self.counts.totals["records_changed"] += changed
        self.counts.totals["sentences"] += sentences
        name = self._group(group, sentences) if self.group_by is not None else None
        key = line ^ crc32(source.encode("utf-8", "replace")) << 32
        self._pending.append((key, name, counts, expert))
        self.verification.add(row, key)
        if len(self._pending) >= _BUFFER:
            self._flush()

    def experts_seen(self) -> tuple[str, ...]:
        """The experts that judged something; "" where one critic judges everything."""
        self._flush()
        return tuple(self.experts)

    def quarantine(self, reason: str) -> None:
        """Adds a quarantined record."""
        self.counts.quarantined[str(reason)] += 1
        self.counts.outcomes[Outcome.QUARANTINED] += 1

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

    def _flush(self) -> None:
        if not self._pending:
            return
        keys = np.array([row[0] for row in self._pending], dtype=np.uint64)
        values = np.array([row[2] for row in self._pending], dtype=np.int64)
        # float32 sums of whole numbers are exact below 2**24, and four times as fast.
        exact = int(values.max()) * len(values) * 16 < 1 << 24
        dtype: type[np.floating[Any]] = np.float32 if exact else np.float64
        drawn: npt.NDArray[np.floating[Any]] = weights(keys, seed=self.seed).astype(dtype)
        self.sums.add(values, drawn)
        judged: dict[str, list[int]] = {}
        for index, row in enumerate(self._pending):
            judged.setdefault(row[3], []).append(index)
        for expert, rows in judged.items():
            self.experts.setdefault(expert, Sums(len(COLUMNS))).add(values[rows], drawn[rows])
        members: dict[str, list[int]] = {}
        for index, (_, name, _, _) in enumerate(self._pending):
            if name is not None:
                members.setdefault(name, []).append(index)
        for name, rows in members.items():
            self.groups[name].sums.add(values[rows], drawn[rows])
        self._pending.clear()
        self.counts.flush()

    def __iadd__(self, other: Tally) -> Tally:
        """Adds a shard's tally with the same seed and group field."""
        if (self.group_by, self.seed) != (other.group_by, other.seed):
            raise ValueError("tallies with different seeds or groups do not add up")
        self._flush()
        other._flush()
        self.counts += other.counts
        self.sums += other.sums
        for expert, sums in other.experts.items():
            mine = self.experts.setdefault(expert, Sums(len(COLUMNS)))
            mine += sums
        self.verification += other.verification
        self.repeats += other.repeats
        self.limits += other.limits
        for name, group in other.groups.items():
            known = name in self.groups or len(self.groups) < MAX_GROUPS
            own = self.groups.setdefault(name if known else OTHER, _Group(Sums(len(COLUMNS))))
            own.records += group.records
            own.sentences += group.sentences
            own.sums += group.sums
        return self

    def to_json(
        self,
        speed: Speed | None = None,
        errors: Mapping[str, ErrorRates | None] | None = None,
        *,
        calibrated: bool = True,
    ) -> dict[str, Any]:
        """All figures, ready for `json.dumps`.

        Args:
            speed: Of the run.
            errors: What is known about each expert's errors, for corrected shares.
            calibrated: Whether every critic has a card or a profile.
        """
        self._flush()
        known = errors or {}
        result: dict[str, Any] = {
            "format": "revise-captions summary",
            "repeated": self.repeats.as_json(),
            "records": self._records(),
            "captions": self._captions(),
            "sentences": self._sentences(),
            "calibrated": calibrated,
            "factuality": factuality(self.sums),
            "corrected": corrected_together(self.experts, known),
            "experts": {name: self._expert(name, known.get(name)) for name in self.experts},
            "critic_on_flagged": table_6(self.sums),
            "attempts": self.counts.attempts_json(),
            "flow": self.counts.flow_json(),
            "outcomes": {str(outcome): self.counts.outcomes[outcome] for outcome in Outcome},
            "groups": self._groups(),
            "limits": self.limits.as_json(),
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

    def _expert(self, name: str, errors: ErrorRates | None) -> dict[str, Any]:
        """What one expert judged."""
        sums, histograms = self.experts[name], self.counts.histograms[name]
        return {
            "threshold": histograms.threshold,
            "sentences": int(sums.total[COLUMN["scored_before"]]),
            "factuality": factuality(sums),
            "corrected": corrected_together({name: sums}, {name: errors}),
            "histogram": histograms.as_json(),
        }

    def _records(self) -> dict[str, Any]:
        bad = sum(self.counts.quarantined.values())
        return {
            "read": self.counts.totals["records"] + bad,
            "written": self.counts.totals["records"],
            "changed": self.counts.totals["records_changed"],
            "quarantined": bad,
            "quarantined_by_reason": by_count(self.counts.quarantined),
        }

    def _captions(self) -> dict[str, Any]:
        return {
            "total": self.counts.totals["captions"],
            "changed": self.counts.totals["captions_changed"],
            "all_factual": {
                "before": share(self.sums, "clean_before", "captions_before"),
                "after": share(self.sums, "clean_after", "captions_after"),
            },
        }

    def _sentences(self) -> dict[str, Any]:
        c, total = self.counts.totals, self.sums.total
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
            "unscored_by_reason": by_count(self.counts.unscored),
            "unknown_words": dict(list(by_count(self.counts.unknown_words).items())[:WORDS]),
            "unscored_after": left - int(total[COLUMN["scored_after"]]),
        }

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


@dataclass(slots=True)
class _Group:
    sums: Sums
    records: int = 0
    sentences: int = 0
