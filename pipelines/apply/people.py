"""Decisions of one or several people about a run's sentences, and what they come to.

A file is what `captions explore` or a report keeps: lines of `tasks.decided.decision_rows`. People
agree where they would have the same text stand, whether by accepting it or by writing it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from revise_captions.errors import UserError
from revise_captions.io.checked_json import checked_row
from revise_captions.io.readers import open_rows
from revise_captions.io.rows import BadRow
from revise_captions.pipelines.annotate.tasks.decided import REJECT


@dataclass(frozen=True, slots=True)
class Decision:
    """A person's decision about a sentence.

    Attributes:
        text: What stands instead of it, "" for nothing; None where the sentence is right.
        by: Who decided; several who came to the same.
        image: The image's name, as the decision has it.
    """

    decision: str
    text: str | None
    by: tuple[str, ...]
    image: str = ""


@dataclass(frozen=True, slots=True)
class Disputed:
    """A sentence that people decided otherwise about.

    Attributes:
        given: Each person's decision.
        settled: How it was settled, if it was: by a majority, or by adjudication.
    """

    sentence_id: str
    given: Mapping[str, Decision]
    settled: Literal["majority", "adjudicated", ""]

    def as_json(self, line: int | None) -> dict[str, Any]:
        by = {who: {"decision": d.decision, "text": d.text} for who, d in self.given.items()}
        about = {"line": line, "sentence_id": self.sentence_id}
        return about | {"settled": self.settled or None, "by": by}


@dataclass(frozen=True, slots=True)
class Settled:
    """What people's decisions come to.

    Attributes:
        decisions: By sentence; one for each that is decided.
        given: How many sentences each person decided about.
        shared: Decisions by person, of each sentence with several.
        disputed: The sentences of which people think otherwise.
    """

    decisions: Mapping[str, Decision]
    given: Mapping[str, int]
    shared: Sequence[Mapping[str, Decision]] = ()
    disputed: Sequence[Disputed] = ()


@dataclass(frozen=True, slots=True)
class StoredDecision:
    """What is read of a line of a file of decisions; the rest of it is for training and raters."""

    sentence_id: str
    decision: Literal["accept", "reject", "edit"]
    image: str = ""
    rewrite: str | None = None
    annotator: str = ""


def stored_decisions(path: Path) -> Iterator[tuple[StoredDecision, Mapping[str, Any]]]:
    """The lines of a file of decisions. Raises `UserError` for one that holds something else."""
    for row in open_rows(str(path)).rows() if path.stat().st_size else ():
        wrong = f"{path}, line {row.line}: not a decision of explore"
        if isinstance(row, BadRow):
            raise UserError(f"{wrong}: {row.detail}")
        yield checked_row(StoredDecision, row.data, wrong), row.data


Ballots = dict[str, dict[str, Decision]]


def ballots_of(paths: Sequence[Path]) -> Ballots:
    """Everybody's decisions: by sentence, by person.

    A person goes by the name in the file, or else by the file's; where two files have the same
    name in them, by both. What a person decided twice in a file counts as decided last.
    """
    found: list[tuple[Path, dict[tuple[str, str], Decision]]] = []
    for path in paths:
        made: dict[tuple[str, str], Decision] = {}
        try:
            stored = [line for line, _ in stored_decisions(path)]
        except OSError as error:
            raise UserError(f"cannot read {path}: {error.strerror}") from None
        for line in stored:
            if line.rewrite is not None:  # not what says that an accepted rewrite is right
                who = line.annotator or path.stem
                text = None if line.decision == REJECT else line.rewrite.strip()
                made[line.sentence_id, who] = Decision(line.decision, text, (who,), line.image)
        found.append((path, made))
    files = Counter(who for _, made in found for who in {who for _, who in made})
    ballots: Ballots = {}
    for path, made in found:
        for (sentence, who), decision in made.items():
            name = who if files[who] == 1 else f"{who} ({path.stem})"
            ballots.setdefault(sentence, {})[name] = Decision(
                decision.decision, decision.text, (name,), decision.image
            )
    return ballots


def settle(ballots: Ballots, adjudicated: Ballots | None = None) -> Settled:
    """What more than half of those who decided about a sentence would have stand; an adjudicator's
    decision comes before it. A sentence without either is undecided."""
    adjudicated = adjudicated or {}
    decisions: dict[str, Decision] = {}
    disputed: list[Disputed] = []
    for sentence in dict.fromkeys([*ballots, *adjudicated]):
        given = ballots.get(sentence, {})
        last = list(adjudicated.get(sentence, {}).values())[-1:]
        majority = _majority(list(given.values()))
        if chosen := last[0] if last else majority:
            decisions[sentence] = chosen
        if len({one.text for one in given.values()}) > 1:
            settled: Literal["majority", "adjudicated", ""] = "majority" if majority else ""
            disputed.append(Disputed(sentence, given, "adjudicated" if last else settled))
    return Settled(
        decisions,
        Counter(who for given in ballots.values() for who in given),
        [given for given in ballots.values() if len(given) > 1],
        disputed,
    )


def _majority(given: Sequence[Decision]) -> Decision | None:
    texts = Counter(one.text for one in given)
    for text, votes in texts.most_common(1):
        if 2 * votes > len(given):
            agreed = [one for one in given if one.text == text]
            (kind, _), *_ = Counter(one.decision for one in agreed).most_common(1)
            who = tuple(name for one in agreed for name in one.by)
            return Decision(kind, text, who, agreed[0].image)
    return None


def agreement(shared: Sequence[Mapping[str, Decision]], replicates: int = 1000) -> list[str]:
    """Lines on how far people agree about the sentences that several decided about, with 95 %
    intervals over images."""
    from revise_captions.pipelines.metrics.agreement import agreement_of

    images = [next(iter(given.values())).image for given in shared]
    views: dict[str, list[Mapping[str, Any]]] = {
        "right or wrong": [{who: d.text is None for who, d in given.items()} for given in shared],
        "accept, reject or edit": [{w: d.decision for w, d in given.items()} for given in shared],
    }
    lines = []
    for axis, items in views.items() if shared else ():
        for figure in agreement_of(items, images, axis, replicates):
            if figure.value is None:
                said = figure.note
            elif figure.low is None:
                said = f"{figure.value:.2f}, too few images for an interval"
            else:
                said = f"{figure.value:.2f} [{figure.low:.2f}, {figure.high:.2f}]"
            note = f", {figure.note}" if figure.note and figure.value is not None else ""
            lines.append(f"{figure.name}, {axis}: {said} ({figure.rows:,} sentences{note})")
    return lines
