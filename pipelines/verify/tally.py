"""Figures of all verifications of a run: shares with intervals over records, and warnings.

As in `report.summary`, a row becomes a vector of whole numbers. POSH scores are counted in
millionths, so that sums stay exact; a record with several captions counts with each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from revise_captions.pipelines.output.outcomes import captions_of
from revise_captions.pipelines.output.shares import by_count
from revise_captions.signature import settings_of
from revise_captions.stats.bootstrap import Sums, weights

CRITERIA = ("mistakes", "omissions", "overall")
_COLUMNS = (
    *("kept", "free", "named", "changed"),
    *("seen_before", "asked_before", "seen_after", "asked_after"),
    *(f"{name}_{when}" for name in CRITERIA for when in ("before", "after", "scored")),
)
_AT = {name: index for index, name in enumerate(_COLUMNS)}
_MILLION = 1_000_000
_BUFFER = 256

Found = Mapping[str, Any]


class VerificationTally:
    """Adds up `revision.verification` over rows in constant memory; `+=` adds a shard's."""

    def __init__(self, *, seed: int = 0) -> None:
        self.seed = seed
        self.counts: Counter[str] = Counter()
        self.unscored: dict[str, Counter[str]] = {}
        self.warnings: Counter[str] = Counter()
        self.sums = Sums(len(_COLUMNS))
        self._pending: list[tuple[int, list[int]]] = []

    def add(self, row: Mapping[str, Any], key: int) -> None:
        """Adds an output row. `key` identifies the record in every tally of it."""
        verified = [part for _, _, part in captions_of(row) if "verification" in part]
        if not verified:
            return
        counts = [0] * len(_COLUMNS)
        for revision in verified:
            found = revision["verification"]
            self.counts["captions"] += 1
            self.warnings.update(warnings_for(found["signature"], revision["signature"]))
            for name, amount in self._amounts(found):
                counts[_AT[name]] += amount
        self._pending.append((key, counts))
        if len(self._pending) >= _BUFFER:
            self._flush()

    def _amounts(self, found: Found) -> Iterator[tuple[str, int]]:
        for check in ("preservation", "edit_scope", "visual", "posh"):
            if check not in found:
                continue
            self.counts[check] += 1
            if reason := found[check].get("unscored"):
                self._unscored(check, reason)
            else:
                yield from _AMOUNTS[check](self, found[check])

    def _unscored(self, check: str, reason: str, amount: int = 1) -> None:
        self.unscored.setdefault(check, Counter())[reason] += amount

    def _preservation(self, found: Found) -> Iterator[tuple[str, int]]:
        self.counts["captions_with_a_loss"] += found["kept"] < found["of"]
        yield "kept", found["kept"]
        yield "free", found["of"]

    def _edit_scope(self, found: Found) -> Iterator[tuple[str, int]]:
        self.counts["captions_beyond_scope"] += found["named"] < found["of"]
        yield "named", found["named"]
        yield "changed", found["of"]

    def _visual(self, found: Found) -> Iterator[tuple[str, int]]:
        for when in ("before", "after"):
            yield f"seen_{when}", found[when]["seen"]
            yield f"asked_{when}", found[when]["of"]
        for reason, number in found["after"]["unscored_by_reason"].items():
            self._unscored("visual", reason, number)

    def _posh(self, found: Found) -> Iterator[tuple[str, int]]:
        before, after = found["before"], found["after"]
        if reason := before.get("unscored") or after.get("unscored"):
            self._unscored("posh", reason)
        elif before["overall"] is None or after["overall"] is None:
            self._unscored("posh", "no component, or none that the judge could grade")
        for name in CRITERIA:
            one, two = before.get(name), after.get(name)
            if one is not None and two is not None:
                yield f"{name}_before", round(one * _MILLION)
                yield f"{name}_after", round(two * _MILLION)
                yield f"{name}_scored", _MILLION

    def _flush(self) -> None:
        if self._pending:
            keys = np.array([key for key, _ in self._pending], dtype=np.uint64)
            values = np.array([counts for _, counts in self._pending], dtype=np.int64)
            self.sums.add(values, weights(keys, seed=self.seed).astype(np.float64))
            self._pending.clear()

    def __iadd__(self, other: VerificationTally) -> VerificationTally:
        self._flush()
        other._flush()
        self.counts += other.counts
        self.warnings += other.warnings
        for check, reasons in other.unscored.items():
            self.unscored[check] = self.unscored.get(check, Counter()) + reasons
        self.sums += other.sums
        return self

    def to_json(self) -> dict[str, Any] | None:
        """The figures; None if no row was verified, and None for each check not made."""
        self._flush()
        counts, sums = self.counts, self.sums
        if not counts["captions"]:
            return None

        def share(part: str, whole: str) -> dict[str, Any]:
            return dict(sums.ratio(_AT[part], _AT[whole]).as_json())

        def both(part: str, befores: str, afters: str) -> dict[str, Any]:
            before = (_AT[f"{part}_before"], _AT[befores])
            after = (_AT[f"{part}_after"], _AT[afters])
            return {
                "before": sums.ratio(*before).as_json(),
                "after": sums.ratio(*after).as_json(),
                "change": sums.change(before, after).as_json(),
            }

        made: dict[str, Any] = {
            "preservation": share("kept", "free")
            | {"captions_with_a_loss": counts["captions_with_a_loss"]},
            "edit_scope": share("named", "changed")
            | {"captions_beyond_scope": counts["captions_beyond_scope"]},
            "visual": both("seen", "asked_before", "asked_after"),
            "posh": {
                "captions": int(sums.total[_AT["overall_scored"]]) // _MILLION,
                **{name: both(name, f"{name}_scored", f"{name}_scored") for name in CRITERIA},
            },
        }
        return {
            "captions": counts["captions"],
            **{check: part if counts[check] else None for check, part in made.items()},
            "unscored": {check: by_count(reasons) for check, reasons in self.unscored.items()},
            "warnings": [
                {"text": text, "captions": number} for text, number in sorted(self.warnings.items())
            ],
        }


_AMOUNTS = {
    "preservation": VerificationTally._preservation,
    "edit_scope": VerificationTally._edit_scope,
    "visual": VerificationTally._visual,
    "posh": VerificationTally._posh,
}


@lru_cache(maxsize=64)
def warnings_for(verification: str, revision: str) -> tuple[str, ...]:
    """Caveats that follow from the signatures of a verification and its revision."""
    mine, theirs = settings_of(verification), settings_of(revision)
    judge = mine.get("judge-model", "")
    found = []
    if mine.get("critic", "") and mine.get("critic") == theirs.get("critic"):
        found.append(
            "Visual verification: the critic that asked for the revision checks it here, so it "
            "shows consistency and is no independent evidence."
        )
    found += [
        f"POSH: the judge and the {role} are the same model, {_model(judge)}."
        for role in ("critic", "reviser")
        if judge and _model(judge) == _model(theirs.get(role, ""))
    ]
    return tuple(found)


def _model(name: str) -> str:
    """A model's name without the digest of its weights."""
    return name.partition("@")[0]
