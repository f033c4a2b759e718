"""Five simulated raters per sentence, and the paper's protocol for combining their votes.

VNLI-Critique, section 3 and 4.1: five people judge each sentence independently; the majority
decides (`neutral` and `contradiction` together are non-entailment); the longest rationale of a
non-entailed sentence is the critique's training target.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

RATERS = 5


class SimulatedVote(StrEnum):
    ENTAILMENT = "entailment"
    NEUTRAL = "neutral"
    CONTRADICTION = "contradiction"
    NOTHING = "nothing to assess"


@dataclass(frozen=True, slots=True)
class SimulatedRating:
    """One rater's answer. `rationale` is "" unless the vote is neutral or contradiction."""

    vote: SimulatedVote
    rationale: str = ""


def rate(
    true: bool,
    assessable: bool,
    rationales: Sequence[str],
    rng: random.Random,
    *,
    slip: float = 0.08,
) -> tuple[SimulatedRating, ...]:
    """Simulates five ratings of one sentence.

    A rater who imagines an error in a true sentence has no rationale to copy and only says that it
    cannot be confirmed.

    Args:
        true: Whether the sentence is true.
        assessable: Whether it says anything that a picture can show.
        rationales: What is wrong with it, in several wordings.
        rng: Decides votes and wordings.
        slip: Probability that a rater misses or imagines an error.
    """
    return tuple(_one(true, assessable, rationales, rng, slip) for _ in range(RATERS))


def _one(
    true: bool, assessable: bool, rationales: Sequence[str], rng: random.Random, slip: float
) -> SimulatedRating:
    slipped = rng.random() < slip
    if not assessable:
        return SimulatedRating(SimulatedVote.ENTAILMENT if slipped else SimulatedVote.NOTHING)
    if true == slipped:
        if true or not rationales:
            return SimulatedRating(SimulatedVote.NEUTRAL, "I cannot confirm this from the picture.")
        wrong = SimulatedVote.CONTRADICTION if rng.random() < 0.8 else SimulatedVote.NEUTRAL
        return SimulatedRating(wrong, rng.choice(list(rationales)))
    return SimulatedRating(SimulatedVote.ENTAILMENT)


def majority(ratings: Sequence[SimulatedRating]) -> tuple[bool, bool, str | None]:
    """(factual, assessable, rationale): the paper's label and its longest rationale.

    Non-entailment needs more than half of the votes. `rationale` is None for a factual sentence.
    """
    against = [r for r in ratings if r.vote in (SimulatedVote.NEUTRAL, SimulatedVote.CONTRADICTION)]
    factual = 2 * len(against) <= len(ratings)
    assessable = 2 * sum(r.vote is SimulatedVote.NOTHING for r in ratings) <= len(ratings)
    longest = max((r.rationale for r in against), key=len, default=None)
    return factual, assessable, None if factual else longest
