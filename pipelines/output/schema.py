"""`Revision` to the JSON that stands in a row of the output, and back.

    "revised_caption": "…",
    "revision": {"signature": "…", "rounds": 2, "needs_review": false, "sentences": [
        {"span": [0, 27], "label": "nonfactual", "reason": null, "assessable": true,
         "p_factual": 0.0312, "share": 0.9987, "rationale": "…", "rewrite": "…",
         "accepted": true, "why": "…", "p_after": 0.9731, "reason_after": null,
         "dropped": false, "attempts": [{"text", "accepted", "why", "round", "p_before",
         "p_after", "warning"}]}]}

`label`, `p_factual`, `share` and `reason` are of the original sentence in the original caption;
`share` is `Verdict.answer_mass`, the probability of Yes and No together, under the name that this
format has always had: null where the critic does not report it, absent from rows that early
versions wrote. `p_after` is P(factual) of what stands there now,
in the revised caption: null once it is gone, or where it is unscored there for `reason_after`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from revise_captions.errors import BadRecord, Reason
from revise_captions.pipelines.draft import Draft, flagged
from revise_captions.records import (
    Attempt,
    Revision,
    Sentence,
    Span,
    Unscored,
    Verdict,
    Why,
    label_of,
)


def to_json(revision: Revision, threshold: float, *, review: bool = False) -> dict[str, Any]:
    """The two keys that the output row gains. `review`: say whether a person should look."""
    sentences = [_sentence_json(sentence, threshold) for sentence in revision.sentences]
    result: dict[str, Any] = {"signature": revision.signature, "rounds": revision.rounds}
    if review:
        draft = Draft(None, revision.caption, revision.sentences)
        result["needs_review"] = bool(flagged(draft, threshold))
    result["sentences"] = sentences
    return {"revised_caption": revision.revised_caption, "revision": result}


def _sentence_json(sentence: Sentence, threshold: float) -> dict[str, Any]:
    attempts = sentence.attempts
    shown = (sentence.accepted or attempts[-1]) if attempts else None
    verdict, now = sentence.verdict, sentence.now
    return {
        "span": list(sentence.span),
        "label": label_of(verdict, threshold).value,
        "reason": verdict.unscored.value if verdict.unscored else None,
        "assessable": verdict.assessable,
        "p_factual": verdict.p_factual,
        "share": verdict.answer_mass,
        "rationale": sentence.rationale,
        "rewrite": shown.text if shown else None,
        "accepted": shown.accepted if shown else None,
        "why": shown.why.value if shown else None,
        "p_after": None if sentence.dropped else now.p_factual,
        "reason_after": None if sentence.dropped or now.unscored is None else now.unscored.value,
        "dropped": sentence.dropped,
        "attempts": [_attempt_json(attempt) for attempt in attempts],
    }


def _attempt_json(attempt: Attempt) -> dict[str, Any]:
    return {
        "text": attempt.text,
        "accepted": attempt.accepted,
        "why": attempt.why.value,
        "round": attempt.round,
        "p_before": attempt.p_before,
        "p_after": attempt.p_after,
        "warning": attempt.warning,
    }


def from_json(caption: str, row: Mapping[str, Any]) -> Revision:
    """The `Revision` that `to_json` wrote, for the next stage.

    Raises `BadRecord(BAD_REVISION)` where the row does not fit the caption or the format.
    """
    try:
        stored = row["revision"]
        sentences = tuple(_sentence(item) for item in stored["sentences"])
        rounds, signature = int(stored["rounds"]), str(stored["signature"])
        revised = str(row["revised_caption"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadRecord(
            Reason.BAD_REVISION, f"`revision` was not written by `--stage critique`: {error!r}"
        ) from error
    cursor = 0
    for sentence in sentences:
        if not cursor <= sentence.span.start < sentence.span.end <= len(caption):
            raise BadRecord(
                Reason.BAD_REVISION,
                f"span {list(sentence.span)} does not fit a caption of {len(caption)} characters",
            )
        cursor = sentence.span.end
    return Revision(caption, revised, sentences, rounds, signature)


def _sentence(item: Mapping[str, Any]) -> Sentence:
    start, end = item["span"]
    p, unscored = item["p_factual"], item["reason"]
    reason = Unscored(unscored) if unscored is not None else None
    if p is not None and not 0 <= p <= 1:
        raise ValueError(f"p_factual is {p!r}, expected a number from 0 to 1")
    if (p is None) is (reason is None):
        raise ValueError("a sentence has p_factual or reason")
    mass = item.get("share")
    if mass is not None and not 0 <= mass <= 1:
        raise ValueError(f"share is {mass!r}, expected a number from 0 to 1")
    verdict = Verdict(p, reason, item["assessable"], mass)
    dropped = bool(item["dropped"])
    after, reason_after = item["p_after"], item["reason_after"]
    unscored_after = Unscored(reason_after) if reason_after is not None else None
    if dropped:
        now = verdict
    elif (after is None) is (unscored_after is None):
        raise ValueError("a sentence has p_after or reason_after")
    else:
        now = Verdict(after, unscored_after, item["assessable"])
    attempts = tuple(
        Attempt(
            text=str(a["text"]),
            accepted=a["accepted"],
            why=Why(a["why"]),
            round=int(a["round"]),
            p_before=a["p_before"],
            p_after=a["p_after"],
            warning=str(a["warning"]),
        )
        for a in item["attempts"]
    )
    return Sentence(Span(int(start), int(end)), verdict, now, item["rationale"], attempts, dropped)
