"""Outcomes of captions and sentences, derived from an output row."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """The outcome of a caption; the first that applies, in this order."""

    QUARANTINED = "quarantined"
    DROPPED = "sentence removed"
    FLAGGED = "still flagged"
    REVISED = "revised"
    UNSCORED = "unscored"
    KEPT = "nothing flagged"


class Step(StrEnum):
    """What was done about a flagged sentence; a refused rewrite has its `Why` instead."""

    ACCEPTED = "rewrite accepted"
    DELETED = "deleted by the reviser"
    NO_ATTEMPT = "no rewrite asked for"


class End(StrEnum):
    """The state of a flagged sentence in the revised caption."""

    FACTUAL = "judged factual"
    GONE = "removed"
    FLAGGED = "still flagged"
    UNSCORED = "not judged"
    DECIDED = "decided by a person"


def captions_of(row: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """`(field, revised caption, revision)` of every caption in an output row.

    `field` is "" for a row with one caption, whose revision names no fields.
    """
    revision, revised = row["revision"], row["revised_caption"]
    if isinstance(revision.get("sentences"), list):
        return [("", revised, revision)]
    return [(name, revised[name], part) for name, part in revision.items()]


def is_flagged(sentence: Mapping[str, Any], threshold: float) -> bool:
    """Whether the critic ever judged the sentence nonfactual, in either context."""
    if sentence["label"] == "nonfactual" or sentence["attempts"]:
        return True
    after = sentence["p_after"]
    gone = bool(sentence["dropped"])
    return gone or (after is not None and sentence["label"] == "factual" and after < threshold)


def step_of(sentence: Mapping[str, Any]) -> str:
    """What was done about a flagged sentence: a `Step`, or the `Why` of the last refusal."""
    if not sentence["attempts"]:
        return Step.NO_ATTEMPT
    if sentence["accepted"]:
        return Step.ACCEPTED if sentence["rewrite"] else Step.DELETED
    return str(sentence["attempts"][-1]["why"])


def end_of(sentence: Mapping[str, Any], threshold: float) -> End:
    """The state of a flagged sentence in the revised caption."""
    if sentence["dropped"]:
        return End.GONE
    if deciders(sentence):
        return End.DECIDED
    after = sentence["p_after"]
    if after is None:
        return End.UNSCORED
    return End.FACTUAL if after >= threshold else End.FLAGGED


def deciders(sentence: Mapping[str, Any]) -> list[str]:
    """Who decided what stands in place of the sentence; [] if no person did."""
    return list(sentence.get("decided", {}).get("by", ()))


def needs_review(revision: Mapping[str, Any]) -> bool:
    """Whether the revised caption has a flagged sentence that no person decided to keep."""
    threshold = revision["threshold"]
    flagged = (s for s in revision["sentences"] if is_flagged(s, threshold))
    return any(end_of(s, threshold) is End.FLAGGED for s in flagged)


def outcome_of(revision: Mapping[str, Any]) -> Outcome:
    """The outcome of a caption, from the `revision` in its row."""
    sentences, threshold = revision["sentences"], revision["threshold"]
    flagged = [s for s in sentences if is_flagged(s, threshold)]
    if any(s["dropped"] for s in flagged):
        return Outcome.DROPPED
    if any(end_of(s, threshold) is End.FLAGGED for s in flagged):
        return Outcome.FLAGGED
    if any(s["accepted"] for s in flagged):
        return Outcome.REVISED
    if any(s["label"] == "unscored" for s in sentences):
        return Outcome.UNSCORED
    return Outcome.KEPT
