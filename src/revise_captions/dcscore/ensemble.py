"""Several verifiers as one: by majority, or by the mean of their probabilities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from revise_captions.dcscore.units import UnitVerdict, UnitVerifier, VerifyTask

DISAGREEMENT = "the verifiers are divided"
NO_VOTE = "no verifier answered"


class VotingRule(StrEnum):
    """How an ensemble decides."""

    MAJORITY = "majority"
    MEAN = "mean"


class EnsembleVerifier:
    """Asks every member about every unit (2503.07906, section 4.1).

    A member that does not answer has no vote. A tied majority is `unscored`. Under `mean` a bare
    yes or no counts as a probability of 1 or 0, and a unit is correct at a mean of one half.
    """

    def __init__(
        self, members: Sequence[UnitVerifier], vote: VotingRule = VotingRule.MAJORITY
    ) -> None:
        self.members, self.vote = tuple(members), vote

    @property
    def settings(self) -> Mapping[str, str]:
        own = {"vote": str(self.vote), "verifiers": str(len(self.members))}
        numbered = {
            f"verifier{n}-{key}": value
            for n, member in enumerate(self.members, 1)
            for key, value in member.settings.items()
        }
        return {**numbered, **own}

    def verify(self, tasks: Sequence[VerifyTask]) -> list[tuple[UnitVerdict, ...]]:
        """One verdict per unit, with the members' votes."""
        answers = [member.verify(tasks) for member in self.members]
        return [
            tuple(self._decided(votes) for votes in zip(*rows, strict=True))
            for rows in zip(*answers, strict=True)
        ]

    def _decided(self, votes: Sequence[UnitVerdict]) -> UnitVerdict:
        cast = tuple(vote.correct for vote in votes)
        known = [vote for vote in votes if vote.correct is not None]
        if not known:
            return UnitVerdict(None, unscored=votes[0].unscored or NO_VOTE, votes=cast)
        mean = sum(_probability(vote) for vote in known) / len(known)
        if self.vote is VotingRule.MEAN:
            return UnitVerdict(mean >= 0.5, round(mean, 4), votes=cast)
        yes = sum(bool(vote.correct) for vote in known)
        if 2 * yes == len(known):
            return UnitVerdict(None, unscored=DISAGREEMENT, votes=cast)
        return UnitVerdict(2 * yes > len(known), round(mean, 4), votes=cast)


def _probability(vote: UnitVerdict) -> float:
    return float(bool(vote.correct)) if vote.p_correct is None else vote.p_correct


def agreement(verdicts: Sequence[UnitVerdict]) -> float | None:
    """Share of units on which all members that voted agree; None without two votes anywhere."""
    asked = [[v for v in verdict.votes if v is not None] for verdict in verdicts]
    several = [votes for votes in asked if len(votes) > 1]
    return sum(len(set(votes)) == 1 for votes in several) / len(several) if several else None
