"""A record's figures, from a run's findings on its captions, for `captions select`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from revise_captions.pipelines.output.outcomes import End, deciders, end_of, is_flagged
from revise_captions.records import UnknownWord, Unscored, kind_of_reason

#: The column that counts sentences unscored for a reason.
REASONS = {str(reason): f"unscored_{reason.name.lower()}" for reason in Unscored}
REASONS |= {UnknownWord.KIND: "unscored_unknown_word"}
#: The same for a reason from another package's critic.
OTHER = "unscored_other"
_COUNTS = (
    *("sentences", "flagged", "rewritten", "removed", "decided", "still_flagged"),
    *("unscored", "unscored_after", *REASONS.values(), OTHER),
)


def figures(parts: Iterable[tuple[str, str, Mapping[str, Any]]]) -> dict[str, Any]:
    """Counts, shares and probabilities by column; None if nothing was judged.

    Args:
        parts: From `captions_of`.

    Raises:
        LookupError, TypeError, ValueError, AttributeError: `revision` is not from a run.
    """
    found: dict[str, Any] = dict.fromkeys(_COUNTS, 0)
    before: list[float] = []
    after: list[float] = []
    good_before = good_after = decided = length = 0
    for _, revised, revision in parts:
        threshold = revision["threshold"]
        length += len(revised)
        for sentence in revision["sentences"]:
            _count(found, sentence, threshold)
            if sentence["p_factual"] is not None:
                before.append(sentence["p_factual"])
                good_before += sentence["label"] == "factual"
            if deciders(sentence):
                decided += not sentence["dropped"]
            elif sentence["p_after"] is not None and not sentence["dropped"]:
                after.append(sentence["p_after"])
                good_after += sentence["p_after"] >= threshold
    judged = len(after) + decided  # a person's decisions are taken as true
    return found | {
        "factual_before": good_before / len(before) if before else None,
        "factual_after": (good_after + decided) / judged if judged else None,
        "worst_before": min(before, default=None),
        "worst_after": min(after, default=None),
        "length": length,
    }


def _count(found: dict[str, Any], sentence: Mapping[str, Any], threshold: float) -> None:
    found["sentences"] += 1
    gone = bool(sentence["dropped"]) or (sentence["accepted"] is True and not sentence["rewrite"])
    found["removed"] += gone
    found["rewritten"] += sentence["accepted"] is True and not gone
    people = bool(deciders(sentence))
    found["decided"] += people
    found["unscored_after"] += sentence["p_after"] is None and not gone and not people
    if sentence["label"] == "unscored":
        found["unscored"] += 1
        found[REASONS.get(kind_of_reason(sentence["reason"]), OTHER)] += 1
    if is_flagged(sentence, threshold):
        found["flagged"] += 1
        found["still_flagged"] += end_of(sentence, threshold) is End.FLAGGED
