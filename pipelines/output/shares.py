"""Shares of a tally's sums, as `Tally.to_json` reports them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from revise_captions.stats.bootstrap import Sums

#: The columns of a record's counts. `before` and `after`: of the original sentences in the original
#: caption, and of the text in the revised one.
COLUMNS = (
    *("scored_before", "factual_before", "assessable_before", "assessable_factual_before"),
    *("scored_after", "factual_after", "assessable_after", "assessable_factual_after"),
    *("flagged", "rewritten", "fixed"),
    *("captions_before", "clean_before", "captions_after", "clean_after"),
    # what the critic judged in the revised caption: unchanged sentences that it called factual or
    # wrong originally, and accepted rewrites
    *("kept_after", "flagged_after", "rewritten_after"),
)
COLUMN = {name: index for index, name in enumerate(COLUMNS)}


@dataclass(frozen=True, slots=True)
class Speed:
    """Speed of this process alone, without earlier parts of a resumed run. Wall time in seconds.

    `servers`: tokens of models on servers, and their cost (`Spending.as_json`); None if unused.
    """

    seconds: float
    records: int
    sentences: int
    servers: Mapping[str, Any] | None = None

    def as_json(self) -> dict[str, Any]:
        per = self.seconds if self.seconds > 0 else None
        return {
            "seconds": round(self.seconds, 3),
            "records": self.records,
            "sentences": self.sentences,
            "records_per_second": None if per is None else round(self.records / per, 2),
            "sentences_per_second": None if per is None else round(self.sentences / per, 2),
            "servers": None if self.servers is None else dict(self.servers),
        }


def by_count(counter: Mapping[str, int]) -> dict[str, int]:
    items: Iterable[tuple[str, int]] = sorted(counter.items(), key=lambda item: (-item[1], item[0]))
    return {str(name): n for name, n in items}


def share(sums: Sums, numerator: str, denominator: str) -> dict[str, Any]:
    return dict(sums.ratio(COLUMN[numerator], COLUMN[denominator]).as_json())


def factuality(sums: Sums) -> dict[str, Any]:
    """Shares of the scored sentences that are factual.

    `all` counts sentences without a visual claim as factual; `assessable` excludes them.
    """
    result: dict[str, Any] = {}
    for name, prefix in (("all", ""), ("assessable", "assessable_")):
        scored = "assessable" if prefix else "scored"
        before = (COLUMN[f"{prefix}factual_before"], COLUMN[f"{scored}_before"])
        after = (COLUMN[f"{prefix}factual_after"], COLUMN[f"{scored}_after"])
        result[name] = {
            "before": sums.ratio(*before).as_json(),
            "after": sums.ratio(*after).as_json(),
            "change": sums.change(before, after).as_json(),
        }
    return result


def table_6(sums: Sums) -> dict[str, Any]:
    """The critic's own view of flagged sentences (VNLI-Critique, Table 6, second row).

    `before` is 0 by construction. After: those whose accepted rewrite is judged factual, out of all
    flagged sentences, and out of those with a proposed rewrite (refused ones included).
    """
    return {
        "before": 0.0,
        "of_flagged": share(sums, "fixed", "flagged"),
        "of_rewritten": share(sums, "fixed", "rewritten"),
    }
