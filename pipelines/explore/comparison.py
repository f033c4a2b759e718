"""A second run of the same captions beside the first: another critic, another threshold."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from revise_captions.errors import UserError
from revise_captions.pipelines.explore.index import RunIndex, unpacked
from revise_captions.signature import settings_of

#: How two runs can differ about a caption; the first that applies.
HOW = {
    "flagged": "one flags a sentence that the other does not",
    "rewritten": "another rewrite of a sentence",
    "missing": "only in this run",
    "alike": "alike",
}
_FLAGGED = "nonfactual"


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two runs, of which the first's captions know their counterparts.

    Attributes:
        other: The second run.
        settings: What their signatures disagree about: name, here, there.
        how: Captions by how the runs differ about them, by name of `HOW`.
        sentences: Sentences flagged by both, here only, there only, by neither; with their numbers.
    """

    other: RunIndex
    settings: list[tuple[str, str, str]]
    how: Mapping[str, int]
    sentences: Mapping[str, int]


def compare(index: RunIndex, other: RunIndex) -> Comparison:
    """Pairs the captions of two runs by text, image and field, repeated ones in their order.

    Raises:
        UserError: They have no caption in common.
    """
    waiting: dict[str, list[tuple[int, str]]] = defaultdict(list)
    query = "SELECT pair, id, verdicts FROM captions WHERE pair <> '' ORDER BY id DESC"
    for pair, number, verdicts in other.db.execute(query):
        waiting[pair].append((number, verdicts))
    how: Counter[str] = Counter()
    sentences: Counter[str] = Counter()
    rows: list[tuple[int, int | None, str, float]] = []
    query = "SELECT pair, id, verdicts FROM captions WHERE pair <> '' ORDER BY id"
    for pair, number, verdicts in index.db.execute(query):
        if not waiting[pair]:
            how["missing"] += 1
            rows.append((number, None, "missing", 0.0))
            continue
        there, found = waiting[pair].pop()
        which, difference = _differ(json.loads(verdicts), json.loads(found), sentences)
        how[which] += 1
        rows.append((number, there, which, difference))
    if how.keys() <= {"missing"}:
        raise UserError(
            f"{index.run.path} and {other.run.path} have no caption in common",
            hint="--against takes another run of the same input",
        )
    index.db.execute(
        "CREATE TEMP TABLE pairs (caption INTEGER PRIMARY KEY, other, how, difference)"
    )
    index.db.executemany("INSERT INTO pairs VALUES (?, ?, ?, ?)", rows)
    index.db.execute("CREATE INDEX temp.by_how ON pairs (how)")
    here, away = (settings_of(run.about["signature"]) for run in (index, other))
    names = [name for name in {**here, **away} if here.get(name) != away.get(name)]
    settings = [(name, here.get(name, ""), away.get(name, "")) for name in names]
    return Comparison(other, settings, how, sentences)


_Verdict = list[Any]


def _differ(here: list[_Verdict], there: list[_Verdict], counts: Counter[str]) -> tuple[str, float]:
    """How the verdicts differ, and how much: by kind, then by the largest change of P(factual)."""
    which, largest = "alike", 0.0
    empty: _Verdict = [None, "", None, None]
    for one, two in zip_longest(here, there, fillvalue=empty):
        flags = (one[1] == _FLAGGED, two[1] == _FLAGGED)
        counts[_WHO[flags]] += 1
        if flags[0] != flags[1]:
            which = "flagged"
        elif one[3] != two[3] and which == "alike":
            which = "rewritten"
        if one[0] is not None and two[0] is not None:
            largest = max(largest, abs(one[0] - two[0]))
    return which, round(_WEIGHT.get(which, 0) + largest, 4)


_WEIGHT = {"flagged": 2, "rewritten": 1}
_WHO = {
    (True, True): "both",
    (True, False): "here",
    (False, True): "there",
    (False, False): "neither",
}


@dataclass(frozen=True, slots=True)
class SentencePair:
    """A sentence as two runs see it: P(factual), label and rewrite of each."""

    text: str
    here: Mapping[str, Any]
    there: Mapping[str, Any]

    @property
    def differs(self) -> bool:
        return any(self.here[key] != self.there[key] for key in ("label", "rewrite"))


def sentence_pairs(index: RunIndex, comparison: Comparison, caption: int) -> list[SentencePair]:
    """The sentences that two runs disagree about; [] where the other run has not the caption."""
    query = "SELECT body, other FROM captions JOIN pairs ON caption = id WHERE id = ?"
    found = index.db.execute(query, [caption]).fetchone()
    if found is None or found[1] is None:
        return []
    (body,) = comparison.other.db.execute(
        "SELECT body FROM captions WHERE id = ?", [found[1]]
    ).fetchone()
    here, there = unpacked(found[0]), unpacked(body)
    away = {tuple(s["span"]): s for s in there["revision"]["sentences"]}
    made = []
    for sentence in here["revision"]["sentences"]:
        start, end = sentence["span"]
        if (counterpart := away.get((start, end))) is not None:
            pair = SentencePair(here["caption"][start:end], sentence, counterpart)
            if pair.differs:
                made.append(pair)
    return made
