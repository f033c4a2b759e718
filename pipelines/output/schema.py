"""Converts a `Revision` to the JSON in a row of the output, and back.

    "revised_caption": "…",
    "revision": {"signature": "…", "expert": "…", "threshold": 0.5, "rounds": 2,
                 "needs_review": false, "sentences": [
        {"span": [0, 27], "label": "nonfactual", "reason": null, "assessable": true,
         "p_factual": 0.0312, "share": 0.9987, "rationale": "…", "fixes": [
            {"span": [4, 7], "right": "…", "kind": "value", "certain": true, "basis": "…",
             "evidence": [{"box": [10, 20, 30, 40], "label": "…"}]}], "rewrite": "…",
         "accepted": true, "why": "…", "p_after": 0.9731, "reason_after": null,
         "dropped": false, "attempts": [{"text", "accepted", "why", "round", "p_before",
         "p_after", "warning"}]}]}

`MEANINGS` says what each key holds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from revise_captions.errors import BadRecord, Reason
from revise_captions.pipelines.draft import Draft, flagged
from revise_captions.records import (
    Attempt,
    Evidence,
    Fix,
    Label,
    Rationale,
    Revision,
    Sentence,
    Span,
    Verdict,
    Why,
    label_of,
    reason_of,
)

#: What each key holds, by the object that contains it.
MEANINGS: Mapping[str, Mapping[str, str]] = {
    "revision": {
        "signature": "the digest of what determined the answers; the full line is in "
        "`OUT.signatures.json`",
        "expert": "the panel member that judged the caption; only if the critic is a panel",
        "threshold": "P(factual) below which a sentence is flagged",
        "rounds": "rounds of rewriting",
        "error": "the exception that left the caption without answers; only if there was one",
        "needs_review": "a sentence is still flagged that an uncertain fix might correct, or as "
        "set by `--on-unfixable flag`; only in these cases",
        "sentences": "an entry for each sentence of the original caption, in order",
    },
    "revision.sentences": {
        "span": "`[start, end)` in code points of the original caption, without surrounding "
        "white space",
        "label": "`factual`, `nonfactual` or `unscored`, for the original sentence",
        "reason": "why it is unscored",
        "assessable": "`false`: it claims nothing that an image could show (“The scene feels "
        "calm.”)",
        "p_factual": "the softmax over the Yes and No logits of one forward pass; no sampling",
        "share": "the probability of Yes and No together; null where the critic does not report it",
        "rationale": "what is wrong, and what the image shows instead",
        "fixes": "the same as data, if the critic locates the errors",
        "rewrite": "the accepted rewrite, or else the last one tried",
        "accepted": "whether it was accepted",
        "why": "why it was, or was not",
        "p_after": "P(factual) of the sentence in the revised caption; null if it was removed, "
        "or is unscored there",
        "reason_after": "why it is unscored there",
        "dropped": "the sentence was deleted from the revised caption",
        "attempts": "every rewrite tried, in order",
        "by": "which expert judged, if it judges only part of the sentence; only then",
        "by_after": "the same for the text there now",
        "decided": "a person's decision: `as` what, `by` whom, and the run's values that it "
        "changed (`before`); only after `captions apply`",
    },
    "revision.sentences.fixes": {
        "span": "`[start, end)` in code points of the sentence",
        "right": "what should stand there; empty to remove it",
        "kind": "the kind of claim; `clause` marks a wrong clause, `doubted clause` one that may "
        "also be right",
        "certain": "whether it can be applied without human review; clauses are rewritten or "
        "removed without it, if the critic accepts what is left",
        "basis": "what it rests on",
        "evidence": "where the image shows it",
    },
    "revision.sentences.fixes.evidence": {
        "box": "`[left, top, right, bottom]` in pixels of the upright image",
        "label": "what is there",
    },
    "revision.sentences.attempts": {
        "text": "the rewrite",
        "accepted": "whether it was accepted",
        "why": "why it was, or was not",
        "round": "the round in which it was written",
        "p_before": "P(factual) of what it should replace",
        "p_after": "P(factual) of the rewrite",
        "warning": "a guard's warning that did not refuse it",
    },
}


def to_json(revision: Revision, *, review: bool = False) -> dict[str, Any]:
    """The two keys that the output row gains. `review`: whether to say if a person should look."""
    threshold = revision.threshold
    result: dict[str, Any] = {"signature": revision.signature}
    if revision.expert:
        result["expert"] = revision.expert
    result |= {"threshold": threshold, "rounds": revision.rounds}
    if revision.error:
        result["error"] = revision.error
    draft = Draft(None, revision.caption, revision.sentences, threshold=threshold)
    left = [revision.sentences[k].rationale for k in flagged(draft)]
    if review:
        result["needs_review"] = bool(left)
    elif any(not fix.certain for told in left if told is not None for fix in told.fixes):
        result["needs_review"] = True
    result["sentences"] = [sentence_json(sentence, threshold) for sentence in revision.sentences]
    return {"revised_caption": revision.revised_caption, "revision": result}


def sentence_json(sentence: Sentence, threshold: float) -> dict[str, Any]:
    """A sentence of `revision`."""
    attempts = sentence.attempts
    shown = (sentence.accepted or attempts[-1]) if attempts else None
    verdict, now = sentence.verdict, sentence.now
    by = {"by": verdict.by, "by_after": now.by} if verdict.by or now.by else {}
    return by | {
        "span": list(sentence.span),
        "label": label_of(verdict, threshold).value,
        "reason": str(verdict.unscored) if verdict.unscored else None,
        "assessable": verdict.assessable,
        "p_factual": verdict.p_factual,
        "share": verdict.answer_mass,
        "rationale": None if sentence.rationale is None else sentence.rationale.text,
        "fixes": [_fix_json(fix) for fix in sentence.rationale.fixes] if sentence.rationale else [],
        "rewrite": shown.text if shown else None,
        "accepted": shown.accepted if shown else None,
        "why": shown.why.value if shown else None,
        "p_after": None if sentence.dropped else now.p_factual,
        "reason_after": None if sentence.dropped or now.unscored is None else str(now.unscored),
        "dropped": sentence.dropped,
        "attempts": [_attempt_json(attempt) for attempt in attempts],
    }


def _fix_json(fix: Fix) -> dict[str, Any]:
    return {
        "span": list(fix.span),
        "right": fix.right,
        "kind": fix.kind,
        "certain": fix.certain,
        "basis": fix.basis,
        "evidence": [{"box": list(one.box), "label": one.label} for one in fix.evidence],
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


def from_json(caption: str, row: Mapping[str, Any], *, whole: bool = False) -> Revision:
    """The `Revision` that `to_json` wrote, for the next stage.

    Args:
        caption: The original text.
        row: The two keys.
        whole: Whether to also check keys that only summarize others, as they will be counted.

    Raises:
        BadRecord: BAD_REVISION: the row does not fit the caption or the format.
    """
    try:
        stored = row["revision"]
        items = stored["sentences"]
        expert = _of(str, stored.get("expert", ""))
        threshold = _share("threshold", _of(int | float, stored["threshold"]))
        assert threshold is not None
        sentences = tuple(_sentence(item) for item in items)
        rounds, signature = _round(stored["rounds"]), _of(str, stored["signature"])
        revised = _of(str, row["revised_caption"])
        error = _of(str, stored.get("error", ""))
        for item, sentence in zip(stored["sentences"], sentences, strict=True) if whole else ():
            _check_summary(item, sentence)
    except (KeyError, TypeError, ValueError, OverflowError) as wrong:
        raise BadRecord(
            Reason.BAD_REVISION, f"`revision` was not written by `--stage critique`: {wrong!r}"
        ) from wrong
    cursor = 0
    for sentence in sentences:
        if not cursor <= sentence.span.start < sentence.span.end <= len(caption):
            raise BadRecord(
                Reason.BAD_REVISION,
                f"span {list(sentence.span)} does not fit a caption of {len(caption)} characters",
            )
        cursor = sentence.span.end
    return Revision(caption, revised, sentences, rounds, signature, error, threshold, expert)


def _check_summary(item: Mapping[str, Any], sentence: Sentence) -> None:
    """Raises ValueError if the summarizing keys do not follow from the others."""
    expected = sentence_json(sentence, 0.5)
    for name in ("rewrite", "accepted", "why", "dropped"):
        if item[name] != expected[name]:
            raise ValueError(f"{name} is {item[name]!r:.80}, expected {expected[name]!r:.80}")
    if (item["label"] == Label.UNSCORED) is not (sentence.verdict.unscored is not None) or (
        item["label"] not in tuple(Label)
    ):
        raise ValueError(f"label is {item['label']!r:.80}")


def _sentence(item: Mapping[str, Any]) -> Sentence:
    start, end = item["span"]
    p, unscored = item["p_factual"], item["reason"]
    reason = reason_of(unscored) if unscored is not None else None
    _share("p_factual", p)
    if (p is None) is (reason is None):
        raise ValueError("a sentence has p_factual or reason")
    mass = item.get("share")  # rows of early versions have none
    _share("share", mass)
    assessable = _of(bool | None, item["assessable"])
    by, by_after = (_of(str, item.get(key, "")) for key in ("by", "by_after"))
    verdict = Verdict(p, reason, assessable, mass, by)
    dropped = bool(item["dropped"])
    after, reason_after = _share("p_after", item["p_after"]), item["reason_after"]
    unscored_after = reason_of(reason_after) if reason_after is not None else None
    if dropped:
        now = verdict
    elif (after is None) is (unscored_after is None) and "decided" not in item:
        raise ValueError("a sentence has p_after or reason_after")
    else:
        now = Verdict(after, unscored_after, assessable, by=by_after)
    attempts = tuple(_attempt(a) for a in item["attempts"])
    said = _of(str | None, item["rationale"])
    fixes = tuple(_fix(fix, end - start) for fix in item["fixes"])
    if said is None and fixes:
        raise ValueError("there are fixes, and no rationale")
    rationale = None if said is None else Rationale(said, fixes)
    return Sentence(Span(int(start), int(end)), verdict, now, rationale, attempts, dropped)


def _fix(stored: Mapping[str, Any], length: int) -> Fix:
    start, end = (_of(int, side) for side in stored["span"])
    if not 0 <= start <= end <= length:
        raise ValueError(f"the fix {stored['span']} is outside a sentence of {length} characters")
    return Fix(
        Span(start, end),
        _of(str, stored["right"]),
        _of(str, stored["kind"]),
        _of(bool, stored["certain"]),
        _of(str, stored["basis"]),
        tuple(_evidence(one) for one in stored["evidence"]),
    )


def _evidence(stored: Mapping[str, Any]) -> Evidence:
    left, top, right, bottom = (_of(int, side) for side in stored["box"])
    return Evidence((left, top, right, bottom), _of(str, stored["label"]))


def _attempt(stored: Mapping[str, Any]) -> Attempt:
    return Attempt(
        text=_of(str, stored["text"]),
        accepted=_of(bool | None, stored["accepted"]),
        why=Why(stored["why"]),
        round=_round(stored["round"]),
        p_before=_share("p_before", stored["p_before"]),
        p_after=_share("p_after", stored["p_after"]),
        warning=_of(str, stored["warning"]),
    )


def _of(kind: Any, value: Any) -> Any:
    if not isinstance(value, kind):
        raise TypeError(f"{value!r:.80} is not of the kind expected")
    return value


def _round(value: Any) -> int:
    if not 0 <= _of(int, value) <= _MOST_ROUNDS:
        raise ValueError(f"{value!r:.80} rounds")
    return int(value)


_MOST_ROUNDS = 1000


def _share(name: str, value: Any) -> float | None:
    if value is not None and not 0 <= _of(int | float, value) <= 1:
        raise ValueError(f"{name} is {value!r:.80}, expected a number from 0 to 1")
    return value
