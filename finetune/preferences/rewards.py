"""Rewards for GRPO: FeedQuill's c_p and c_r, POSH, and trained reward models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from revise_captions.dcscore.score import UnitCounts, score
from revise_captions.dcscore.units import Decomposer, UnitVerifier, VerifyTask
from revise_captions.errors import UserError
from revise_captions.io.fields import said

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.graphs.grading.judge import Judge

#: r = c_p + 0.5 c_r (A.3.1).
DEFAULT = ("c_p", "c_r=0.5")


class UnitRewards:
    """c_p, the share of a caption's units that are true, and c_r, their number (section 4.1).

    A unit stated twice counts once. c_p is over units with a verdict, c_r counts all. A caption
    without units has c_p = 0, so that silence earns nothing.
    """

    def __init__(self, decomposer: Decomposer, verifier: UnitVerifier) -> None:
        self.decomposer, self.verifier = decomposer, verifier
        self._last: tuple[tuple[object, ...], list[UnitCounts]] = ((), [])

    def c_p(
        self, completions: Sequence[object], images: Sequence[Sequence[Image]], **_: Any
    ) -> list[float | None]:
        """Shares of true units, in [0, 1]; None if none of a caption's units has a verdict."""
        return [precision(counts) for counts in self._counts(completions, images)]

    def c_r(
        self, completions: Sequence[object], images: Sequence[Sequence[Image]], **_: Any
    ) -> list[float | None]:
        """Numbers of units."""
        return [
            float(counts.units + counts.unscored) for counts in self._counts(completions, images)
        ]

    def _counts(
        self, completions: Sequence[object], images: Sequence[Sequence[Image]]
    ) -> list[UnitCounts]:
        texts, pictures = [said(turns) for turns in completions], [one[0] for one in images]
        key = (*texts, *map(id, pictures))
        if self._last[0] != key:
            self._last = key, self.counts(texts, pictures)
        return self._last[1]

    def counts(self, texts: Sequence[str], images: Sequence[Image]) -> list[UnitCounts]:
        """Unit counts of captions of images."""
        found = self.decomposer.decompose(texts)
        tasks = [VerifyTask(image, one) for image, one in zip(images, found, strict=True)]
        verdicts = self.verifier.verify(tasks)
        return [score(one.units, own).all for one, own in zip(found, verdicts, strict=True)]


def precision(counts: UnitCounts) -> float | None:
    """c_p: 0 for a caption without units, None if its units have no verdicts."""
    if not counts.units:
        return None if counts.unscored else 0.0
    return counts.precision


@dataclass(frozen=True, slots=True)
class PoshReward:
    """POSH's overall score against the row's reference (POSH, A.3.5)."""

    judge: Judge

    def __call__(
        self, completions: Sequence[object], reference: Sequence[str], **_: Any
    ) -> list[float | None]:
        """Scores in [0.2, 1]; 0 for an empty caption, None if nothing was graded."""
        from revise_captions.posh.scoring import Pair, score_captions

        texts = [said(turns) for turns in completions]
        pairs = [Pair(text, (one,)) for text, one in zip(texts, reference, strict=True)]
        scored = [found.overall for found in score_captions(pairs, self.judge)]
        return [found if text.strip() else 0.0 for text, found in zip(texts, scored, strict=True)]


def parsed(texts: Sequence[str]) -> list[tuple[str, float]]:
    """Names and weights of `NAME` or `NAME=WEIGHT`.

    Raises:
        UserError: A weight is not a number, or a name is repeated.
    """
    found: list[tuple[str, float]] = []
    for text in texts or DEFAULT:
        name, equals, weight = text.rpartition("=")
        if not equals:
            name, weight = text, "1"
        try:
            found.append((name, float(weight)))
        except ValueError:
            raise UserError(
                f"--reward {text}: {weight!r} is not a weight", hint="c_r=0.5"
            ) from None
    names = [name for name, _ in found]
    if len(set(names)) < len(names):
        raise UserError(f"--reward names one reward twice: {', '.join(names)}")
    return found
