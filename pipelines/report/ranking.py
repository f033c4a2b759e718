"""How captions are sorted and filtered, in the report and in the explorer."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from revise_captions.pipelines.output.error_types import type_of
from revise_captions.pipelines.output.outcomes import is_flagged
from revise_captions.records import kind_of_reason

#: The orders for reading captions, by name.
SORTS = {
    "": "in the file's order",
    "worst": "worst first",
    "changed": "most changed first",
    "unsure": "least sure first",
}
_WORD = re.compile(r"\w+|[^\w\s]")


@dataclass(frozen=True, slots=True)
class Ranking:
    """A caption's sort keys, and the filters that it passes.

    Attributes:
        worst: The lowest P(factual) of its original sentences; None if none was judged.
        changed: Number of words and punctuation marks removed or inserted.
        unsure: The smallest distance of a P(factual), before or after, from the threshold.
        reasons: Why sentences are unscored, or rewrites were refused.
        kinds: Kinds of error of the flagged sentences.
    """

    worst: float | None
    changed: int
    unsure: float | None
    reasons: tuple[str, ...]
    kinds: tuple[str, ...]


def ranking(
    caption: str,
    revision: Mapping[str, Any],
    labeled: Sequence[Sequence[str]] = (),
) -> Ranking:
    """The ranking of a caption with its revised sentences.

    Args:
        caption: As it came.
        revision: Of its row.
        labeled: For each sentence, the kinds of error that its row names, if any; otherwise they
            are derived from the critic's rationale.
    """
    sentences, threshold = revision["sentences"], revision["threshold"]
    before = [s["p_factual"] for s in sentences if s["p_factual"] is not None]
    after = [s["p_after"] for s in sentences if s["p_after"] is not None]
    reasons: dict[str, None] = {}
    kinds: dict[str, None] = {}
    changed = 0
    for place, s in enumerate(sentences):
        left = (s["reason"], s.get("reason_after"))
        reasons |= dict.fromkeys(kind_of_reason(reason) for reason in left if reason)
        reasons |= dict.fromkeys(a["why"] for a in s["attempts"] if a["accepted"] is False)
        if not is_flagged(s, threshold):
            continue
        start, end = s["span"]
        text = caption[start:end]
        own = labeled[place] if place < len(labeled) else ()
        kinds |= dict.fromkeys(own or (type_of(text, s["rationale"] or ""),))
        if s["dropped"] or s["accepted"]:
            changed += _words_changed(text, "" if s["dropped"] else s["rewrite"] or "")
    return Ranking(
        min(before, default=None),
        changed,
        min((abs(p - threshold) for p in (*before, *after)), default=None),
        tuple(reasons),
        tuple(kinds),
    )


def _words_changed(before: str, after: str) -> int:
    old, new = Counter(_WORD.findall(before)), Counter(_WORD.findall(after))
    return (old - new).total() + (new - old).total()
