"""What stands behind a captioner's score: its worst sentences, and why others were not judged."""

from __future__ import annotations

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

#: Sentences that are kept of each captioner, and characters of each text.
KEPT, LONGEST = 5, 600


@dataclass(frozen=True, slots=True, order=True)
class BehindScore:
    """A flagged sentence; the lowest P(factual) comes first.

    Attributes:
        p: P(factual).
        image: The image's name.
        text: The sentence.
        before: The end of the caption before it.
        rationale: The critic's.
        rewrite: What was accepted in its place, "" if nothing was.
        kind: Its kind of error.
    """

    p: float
    image: str
    text: str
    before: str = ""
    rationale: str = ""
    rewrite: str = ""
    kind: str = ""

    @classmethod
    def of(
        cls, p: float, image: str, caption: str, start: int, end: int, **more: str
    ) -> BehindScore:
        """The sentence `[start, end)` of a caption; long texts are cut."""
        before = caption[max(0, start - LONGEST // 3) : start]
        cut = {name: text[:LONGEST] for name, text in more.items()}
        return cls(p, image, caption[start:end][:LONGEST], before, **cut)


@dataclass(frozen=True, slots=True)
class StoredEvidence:
    """`BoardEvidence` in a leaderboard's file."""

    worst: dict[str, list[BehindScore]] = field(default_factory=dict)
    unscored: dict[str, dict[str, int]] = field(default_factory=dict)


@dataclass(slots=True)
class BoardEvidence:
    """The worst sentences of each captioner, and its unscored ones by reason."""

    worst: dict[str, list[BehindScore]] = field(default_factory=dict)
    unscored: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))

    def add(self, captioner: str, wrong: Iterable[BehindScore], unscored: Sequence[str]) -> None:
        """Adds a caption's."""
        kept = [*self.worst.get(captioner, ()), *wrong]
        self.worst[captioner] = heapq.nsmallest(KEPT, kept)
        if unscored:
            self.unscored[captioner].update(unscored)

    def joined(self, other: BoardEvidence) -> BoardEvidence:
        """Both, of different captioners."""
        unscored = defaultdict(Counter, {**self.unscored, **other.unscored})
        return BoardEvidence({**self.worst, **other.worst}, unscored)

    def as_json(self) -> dict[str, Any]:
        """What `StoredEvidence` describes."""
        return {
            "worst": {who: [asdict(one) for one in found] for who, found in self.worst.items()},
            "unscored": {who: dict(found) for who, found in self.unscored.items()},
        }

    @classmethod
    def read(cls, stored: StoredEvidence) -> BoardEvidence:
        """What `as_json` wrote, checked."""
        unscored = {who: Counter(reasons) for who, reasons in stored.unscored.items()}
        return cls(stored.worst, defaultdict(Counter, unscored))
