"""A row's captions and revisions as people decided.

What `captions apply` changes of a sentence it keeps as it was under `decided.before`, so that an
output of it can be decided about again, and the run's own result comes back with the decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from revise_captions.errors import BadRecord, Reason
from revise_captions.io.fields import captions_of
from revise_captions.io.in_place import FIELD, ORIGINAL, joined
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import Source
from revise_captions.pipelines.annotate.tasks.decided import (
    decidable,
    row_image_name,
    sentence_id,
)
from revise_captions.pipelines.apply.people import Decision, Settled
from revise_captions.pipelines.draft import compose, settled
from revise_captions.pipelines.output import outcomes
from revise_captions.pipelines.output.outcomes import End, end_of
from revise_captions.pipelines.output.schema import from_json, sentence_json
from revise_captions.records import Attempt, Sentence, Verdict, Why
from revise_captions.runs.journal import RowResult

Undecided = Literal["as-left", "as-came", "drop"]
UNDECIDED: tuple[Undecided, ...] = get_args(Undecided)
_CHANGES = ("attempts", "rewrite", "accepted", "why", "p_after", "reason_after", "dropped")


@dataclass(slots=True)
class Applied:
    """What became of a run's sentences.

    Attributes:
        decisions: Sentences by decision.
        undecided: Sentences about which there was something to decide, and nobody did.
        changed: Captions that are another text than they came as.
        empty: Captions of which nothing is left.
        lines: The row of each sentence that somebody decided about, by its name; None until it is
            met.
    """

    lines: dict[str, int | None]

    decisions: Counter[str] = field(default_factory=Counter)
    undecided: int = 0
    changed: int = 0
    empty: int = 0

    @classmethod
    def of(cls, decided: Settled) -> Applied:
        """Before the first row."""
        named = [*decided.decisions, *(one.sentence_id for one in decided.disputed)]
        return cls(dict.fromkeys(named))


def decided_rows(
    source: Source, decisions: Mapping[str, Decision], undecided: Undecided, found: Applied
) -> Iterator[tuple[Row | BadRow, RowResult | BadRow]]:
    """Every row of a run with what it gains; `found` is counted on the way."""
    for row in source.rows():
        if isinstance(row, BadRow):
            yield row, row
            continue
        try:
            yield row, _decided_row(row, source, decisions, undecided, found)
        except BadRecord as error:
            yield row, BadRow.of(row, source.name, error)


def _decided_row(
    row: Row,
    source: Source,
    decisions: Mapping[str, Decision],
    undecided: Undecided,
    found: Applied,
) -> RowResult:
    captions = captions_of(row, source.fields)
    image = row_image_name(row.data, source.fields)
    parts: dict[str, dict[str, Any]] = {}
    try:
        for field_, revised, left in outcomes.captions_of(row.data):
            name = field_ or next(iter(captions))
            stored = _as_run_left(left)
            ids = {k: sentence_id(captions[name], image, field_, k) for k in decidable(stored)}
            found.lines |= {i: row.line for i in ids.values() if i in found.lines}
            chosen = {k: decisions.get(identity) for k, identity in ids.items()}
            parts[name] = _decided(captions[name], revised, stored, chosen, undecided)
            parts[name]["revision"][FIELD] = name
            parts[name][ORIGINAL] = captions[name]
            _count(found, chosen, parts[name])
    except (LookupError, TypeError, AttributeError, ValueError) as error:
        detail = f"`revision` is not of this row's captions: {error!r}"
        raise BadRecord(Reason.BAD_REVISION, detail) from error
    keys = ("revised_caption", "revision", ORIGINAL)
    added = {key: joined({name: part[key] for name, part in parts.items()}) for key in keys}
    return RowResult(row.line, added)


def _count(found: Applied, chosen: Mapping[int, Decision | None], part: Mapping[str, Any]) -> None:
    found.decisions.update(one.decision for one in chosen.values() if one is not None)
    found.undecided += sum(one is None for one in chosen.values())
    found.changed += part["revised_caption"] != part[ORIGINAL]
    found.empty += not part["revised_caption"].strip()


def _as_run_left(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A revision without what an earlier `captions apply` changed."""
    sentences = []
    for sentence in stored["sentences"]:
        own = {name: value for name, value in sentence.items() if name != "decided"}
        sentences.append({**own, **sentence.get("decided", {}).get("before", {})})
    return {**stored, "sentences": sentences}


def _decided(
    caption: str,
    revised: str,
    stored: Mapping[str, Any],
    chosen: Mapping[int, Decision | None],
    undecided: Undecided,
) -> dict[str, Any]:
    """The two keys of a caption, with `decided` for each sentence that a person, or `undecided`,
    says something about."""
    revision = from_json(caption, {"revised_caption": revised, "revision": stored})
    sentences = list(revision.sentences)
    items = [dict(item) for item in stored["sentences"]]
    for k, decision in chosen.items():
        was = settled(sentences[k])
        if decision is not None:
            sentences[k] = _as_decided(was, caption, decision.text, revision.rounds + 1)
            told: dict[str, Any] = {"as": decision.decision, "by": list(decision.by)}
        else:
            sentences[k] = _undecided(was, undecided)
            told = {"as": undecided, "by": []}
        if decision is not None or sentences[k] != was:
            _put(items[k], sentence_json(sentences[k], revision.threshold), told)
    text, spans = compose(caption, [settled(sentence) for sentence in sentences])
    for k, span in enumerate(spans):
        if k not in chosen and span is not None and text[: span.end] == caption[: span.end]:
            _put_first_verdict(items[k])
    result: dict[str, Any] = {**stored, "sentences": items}
    if text != revised:
        result.pop("verification", None)  # it is about another text
    if "needs_review" in stored:
        left = [end_of(item, revision.threshold) is End.FLAGGED for item in items]
        result["needs_review"] = bool(stored["needs_review"]) and any(left)
    return {"revised_caption": text, "revision": result}


def _put(item: dict[str, Any], new: Mapping[str, Any], told: Mapping[str, Any]) -> None:
    """Has a sentence of `revision` say what became of it, and what it was before."""
    before = {name: item[name] for name in _CHANGES if item[name] != new[name]}
    item |= {name: new[name] for name in _CHANGES} | {"decided": {**told, "before": before}}


def _put_first_verdict(item: dict[str, Any]) -> None:
    """A sentence that was never flagged, and stands behind its original context again: what the
    critic said of it there is what it says now."""
    new = {**item, "p_after": item["p_factual"], "reason_after": item["reason"]}
    if new != item:
        _put(item, new, {"as": "as-came", "by": []})


def _standing(sentence: Sentence, caption: str) -> str:
    """What the run left in the sentence's place."""
    if sentence.dropped:
        return ""
    return sentence.span.of(caption) if sentence.accepted is None else sentence.accepted.text


def _as_decided(sentence: Sentence, caption: str, text: str | None, number: int) -> Sentence:
    """With another text standing in its place: its own where `text` is None. What stands there
    already keeps its verdict."""
    wanted = sentence.span.of(caption) if text is None else text
    if wanted == _standing(sentence, caption):
        return sentence
    attempts = _refused(sentence, Why.OVERRULED)
    if wanted != sentence.span.of(caption):
        attempts = (*attempts, Attempt(wanted, True, Why.DECIDED, number))
    now = sentence.verdict if text is None else Verdict(None)
    return replace(sentence, attempts=attempts, dropped=not wanted, now=now)


def _undecided(sentence: Sentence, undecided: Undecided) -> Sentence:
    if undecided == "drop":
        return replace(sentence, dropped=True)
    if undecided == "as-left" or (sentence.accepted is None and not sentence.dropped):
        return sentence
    attempts = _refused(sentence, Why.UNDECIDED)
    return replace(sentence, attempts=attempts, dropped=False, now=sentence.verdict)


def _refused(sentence: Sentence, why: Why) -> tuple[Attempt, ...]:
    """The attempts, of which none stands any more."""
    return tuple(
        replace(attempt, accepted=False, why=why) if attempt.accepted else attempt
        for attempt in sentence.attempts
    )
