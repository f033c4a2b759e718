"""Verifiers: a critic that judges each unit as a sentence, and ensembles of verifiers.

A unit takes the place of the sentence that says it, after the text before that sentence, so that
"the dog" is the caption's. All units of a caption go to the critic at once: a packing critic
computes them as branches of one trunk, the image and the caption.

An ensemble decides by majority, or by the mean of its members' probabilities.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum

from revise_captions.critic.protocol import Critic, JudgeRequest, chosen
from revise_captions.dcscore.units import UnitVerdict, UnitVerifier, VerifyTask
from revise_captions.records import Verdict

#: The reason for a sentence in which the critic finds nothing to assess.
NO_CLAIM = "makes no claim about the image"


class CriticVerifier:
    """Verifies units by a critic; a unit is correct at P(factual) >= the critic's threshold.

    Args:
        critic: Judges.
        claims_only: Whether a unit without a claim gets no verdict. Decomposers leave such units
            out, or mark them; whole sentences cannot be distinguished otherwise.
    """

    def __init__(self, critic: Critic, *, claims_only: bool = False) -> None:
        self.critic, self.claims_only = critic, claims_only

    @property
    def settings(self) -> Mapping[str, str]:
        kind = "critic, of claims" if self.claims_only else "critic"
        own = {"verifier": kind, "threshold": f"{self.critic.threshold:.4f}"}
        return {**self.critic.settings, **own}

    def verify(self, tasks: Sequence[VerifyTask]) -> list[tuple[UnitVerdict, ...]]:
        """One verdict per unit; captions without units are not asked about."""
        asked = [_request(task) for task in tasks if task.caption.units]
        whose = chosen(self.critic, [request.image for request in asked])
        answers = zip(self.critic.judge(asked) if asked else [], whose, strict=True)

        def verdicts() -> tuple[UnitVerdict, ...]:
            found, who = next(answers)
            return tuple(self._verdict(one, who.threshold) for one in found)

        return [verdicts() if task.caption.units else () for task in tasks]

    def _verdict(self, found: Verdict, threshold: float) -> UnitVerdict:
        p = found.p_factual
        if p is None:
            return UnitVerdict(None, unscored=str(found.unscored))
        if self.claims_only and found.assessable is False:
            return UnitVerdict(None, unscored=NO_CLAIM)
        return UnitVerdict(p >= threshold, p)


def _request(task: VerifyTask) -> JudgeRequest:
    caption = task.caption
    statements = tuple((unit.sentence, unit.text) for unit in caption.units)
    return JudgeRequest(task.image, caption.text, caption.sentences, instead=statements)


DISAGREEMENT = "the verifiers are divided"
NO_VOTE = "no verifier answered"


class VotingRule(StrEnum):
    """How an ensemble decides."""

    MAJORITY = "majority"
    MEAN = "mean"


class EnsembleVerifier:
    """Asks every member about every unit (2503.07906, section 4.1).

    A member that does not answer has no vote. A tied vote is `unscored`. Under `mean`, a bare yes
    or no counts as a probability of 1 or 0, and a unit is correct from a mean of one half.
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
    """Share of units on which all members that voted agree; None if no unit has two votes."""
    asked = [[v for v in verdict.votes if v is not None] for verdict in verdicts]
    several = [votes for votes in asked if len(votes) > 1]
    return sum(len(set(votes)) == 1 for votes in several) / len(several) if several else None
