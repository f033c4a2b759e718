"""The annotation protocol of DOCCI-Critique (VNLI-Critique, sections 3 and 4.1, appendix C.1).

Five people see the image, the whole caption and one sentence, and answer: entailment, neutral,
contradiction, or nothing to assess. They give a rationale if the sentence is not entailed, and say
whether the sentence claims anything about the image. The sentence is non-entailed (wrong) if more
than half of them say neutral or contradiction; its rationale is the longest of theirs.

Votes come as plain rows (`rows_of_votes`) or as a Label Studio export (`label_studio`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.benchmarks.entries import Entry, record, rows, shown
from revise_captions.benchmarks.types import Example, LabeledSentence, Rating, Vote
from revise_captions.records import ImageRef, Span

RATERS = 5
AGAINST = (Vote.NEUTRAL, Vote.CONTRADICTION)
#: Other spellings of the labels, after lower-casing and with `_` and `-` as spaces.
_VOTES = {str(vote): vote for vote in Vote} | {
    "entailed": Vote.ENTAILMENT,
    "correct": Vote.ENTAILMENT,
    "incorrect": Vote.CONTRADICTION,
}
_YES = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class Consensus:
    """The joint label of one sentence's raters.

    `vote`: what more than half of them said, None if no label has that many. `factual` and
    `assessable` follow the paper's rule and always exist. `needs_image` None: nobody was asked, or
    a tie. `agreement`: the share of pairs of raters that gave the same label; None for one rater.
    """

    vote: Vote | None
    factual: bool
    assessable: bool
    rationale: str | None
    needs_image: bool | None
    agreement: float | None
    raters: int


def verdict(ratings: Sequence[Rating]) -> Consensus:
    """The consensus of ratings. Raises `ValueError` if there are none."""
    if not ratings:
        raise ValueError("a verdict needs at least one rating")
    votes = [rating.vote for rating in ratings]
    counts = {vote: votes.count(vote) for vote in Vote}
    total = len(votes)
    against = [rating for rating in ratings if rating.vote in AGAINST]
    factual = 2 * len(against) <= total
    longest = max((rating.rationale for rating in against), key=len, default="")
    pairs = total * (total - 1)
    same = sum(n * (n - 1) for n in counts.values())
    return Consensus(
        next((vote for vote, n in counts.items() if 2 * n > total), None),
        factual,
        2 * counts[Vote.NOTHING] <= total,
        None if factual or not longest else longest,
        _majority([r.needs_image for r in ratings if r.needs_image is not None]),
        same / pairs if pairs else None,
        total,
    )


def _majority(answers: Sequence[bool]) -> bool | None:
    yes = sum(answers)
    return None if 2 * yes == len(answers) else 2 * yes > len(answers)


def labeled(span: Span, ratings: Sequence[Rating]) -> LabeledSentence:
    """A sentence labeled by its raters' votes."""
    found = verdict(ratings)
    return LabeledSentence(
        span, found.factual, found.assessable, (), found.rationale, tuple(ratings)
    )


@dataclass(frozen=True, slots=True)
class _Answer:
    """One rater's answer about one sentence, with its source row."""

    entry: Entry
    span: Span
    rating: Rating


def read_plain(folder: Path) -> Iterator[Example]:
    """Reads a folder's `annotations.jsonl`: see `rows_of_votes`."""
    return examples(rows_of_votes(rows(folder / "annotations.jsonl")))


def rows_of_votes(entries: Iterable[Entry]) -> Iterator[_Answer]:
    """Plain rows, one for each rater and sentence:

        {"image", "model", "caption", "start", "end", "rater", "label", "rationale", "needs_image"}

    `start`, `end`: half-open, in code points of the caption. The last two may be left out.
    """
    for entry in entries:
        needs = entry.data.get("needs_image")
        rating = Rating(
            str(entry["rater"]),
            _vote(entry, entry["label"]),
            str(entry.data.get("rationale") or "").strip(),
            needs if isinstance(needs, bool) else None,
        )
        yield _Answer(entry, _span(entry), rating)


def read_label_studio(folder: Path) -> Iterator[Example]:
    """Reads a folder's `*.json`, as exported by Label Studio: see `label_studio`."""
    found = (entry for path in sorted(folder.glob("*.json")) for entry in rows(path))
    return examples(label_studio(found))


def label_studio(
    entries: Iterable[Entry],
    *,
    label: str = "label",
    rationale: str = "rationale",
    needs_image: str = "needs_image",
) -> Iterator[_Answer]:
    """A Label Studio export (JSON), one task for each sentence.

    A task's `data` holds the same as plain rows: image, model, caption, start, end. `label` and
    `needs_image` name the controls of type Choices, `rationale` that of type TextArea. Canceled
    annotations are skipped, as the rater gave no answer.
    """
    for task in entries:
        data = task["data"]
        if not isinstance(data, Mapping):
            raise task.error(f"`data` is {shown(data)}; expected an object")
        sentence = Entry(task.file, task.number, data)
        for annotation in task.within("annotations"):
            if annotation.data.get("was_cancelled"):
                continue
            said = {r.data.get("from_name"): r["value"] for r in annotation.within("result")}
            if label not in said:
                names = ", ".join(map(str, said)) or "none"
                raise task.error(f"an annotation has no answer “{label}”; it has {names}")
            needs = _first(said.get(needs_image), "choices").lower()
            rating = Rating(
                _rater(annotation),
                _vote(task, _first(said[label], "choices")),
                _first(said.get(rationale), "text").strip(),
                _YES.get(needs),
            )
            yield _Answer(sentence, _span(sentence), rating)


def _rater(annotation: Entry) -> str:
    """The rater; depending on the version, `completed_by` is a number, or an object with one."""
    by = annotation.data.get("completed_by")
    return str(by.get("id") if isinstance(by, Mapping) else by)


def _first(value: Any, key: str) -> str:
    """A control's answer; a TextArea may hold several texts."""
    if not isinstance(value, Mapping):
        return ""
    found = value.get(key) or ""
    return found if isinstance(found, str) else "\n".join(map(str, found))


def vote_of(label: object) -> Vote | None:
    """The vote for a label as spelled by annotation tools; None if unknown."""
    return _VOTES.get(" ".join(str(label).lower().replace("_", " ").replace("-", " ").split()))


def _vote(entry: Entry, label: object) -> Vote:
    vote = vote_of(label)
    if vote is None:
        known = ", ".join(sorted(_VOTES))
        raise entry.error(f"the label is {shown(label)}; expected one of {known}")
    return vote


def _span(entry: Entry) -> Span:
    caption = entry.text("caption")
    start, end = entry.number_at("start"), entry.number_at("end")
    if not (start.is_integer() and end.is_integer() and 0 <= start < end <= len(caption)):
        raise entry.error(f"{start:g} to {end:g} is no span of a caption of {len(caption)}")
    return Span(int(start), int(end))


def examples(answers: Iterable[_Answer]) -> Iterator[Example]:
    """One example per caption, sentences in order. Holds all answers, as they come in any order.

    Raises `UserError` if a rater answers twice about one sentence.
    """
    found: dict[tuple[str, str, str], dict[Span, dict[str, Rating]]] = {}
    first: dict[tuple[str, str, str], Entry] = {}
    for answer in answers:
        entry = answer.entry
        key = entry.text("image"), str(entry["model"]), entry.text("caption")
        first.setdefault(key, entry)
        ratings = found.setdefault(key, {}).setdefault(answer.span, {})
        if answer.rating.rater in ratings:
            raise entry.error(f"rater {answer.rating.rater} answers twice about one sentence")
        ratings[answer.rating.rater] = answer.rating
    for number, (key, spans) in enumerate(found.items()):
        image, captioner, caption = key
        sentences = tuple(
            labeled(span, tuple(ratings.values())) for span, ratings in sorted(spans.items())
        )
        row = record(first[key], caption, ImageRef(path=image))
        yield Example(str(number), row, image, captioner, sentences=sentences)
