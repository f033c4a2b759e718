"""From names to a decomposer and a verifier of its units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from revise_captions.critic.load import load_critic
from revise_captions.critic.unit_verifier import CriticVerifier
from revise_captions.critic.units.sentence_verifier import SentenceVerifier
from revise_captions.dcscore.sentence_decomposer import SentenceDecomposer
from revise_captions.dcscore.units import Decomposer, UnitVerdict, UnitVerifier, VerifyTask
from revise_captions.errors import UserError

UNITS = ("graph", "sentences")
NO_MAJORITY = "the verifiers disagree, one against one"


@dataclass(frozen=True, slots=True)
class UnitScoring:
    """Takes captions apart, and says which units are true of the image."""

    decomposer: Decomposer
    verifier: UnitVerifier

    @property
    def settings(self) -> Mapping[str, str]:
        """Everything that decides a score, by name."""
        return {**self.decomposer.settings, **self.verifier.settings}


class MajorityVerifier:
    """Several verifiers that vote (FeedQuill, section 4.1). A tie is no verdict.

    Args:
        members: The verifiers; one that has no verdict does not vote.
    """

    def __init__(self, members: Sequence[UnitVerifier]) -> None:
        self.members = tuple(members)

    @property
    def settings(self) -> Mapping[str, str]:
        """Each member's, under its number."""
        return {
            f"{name}-{number}": value
            for number, member in enumerate(self.members, start=1)
            for name, value in member.settings.items()
        }

    def verify(self, tasks: Sequence[VerifyTask]) -> list[tuple[UnitVerdict, ...]]:
        """One verdict per unit, with the votes."""
        answers = [member.verify(tasks) for member in self.members]
        return [
            tuple(_majority(votes) for votes in zip(*own, strict=True))
            for own in zip(*answers, strict=True)
        ]


def _majority(verdicts: Sequence[UnitVerdict]) -> UnitVerdict:
    votes = tuple(verdict.correct for verdict in verdicts)
    yes, no = votes.count(True), votes.count(False)
    if not yes and not no:
        return UnitVerdict(None, unscored=verdicts[0].unscored, votes=votes)
    if yes == no:
        return UnitVerdict(None, unscored=NO_MAJORITY, votes=votes)
    known = [verdict.p_correct for verdict in verdicts if verdict.p_correct is not None]
    return UnitVerdict(yes > no, fmean(known) if known else None, votes=votes)


def load_unit_scoring(
    units: str,
    verifiers: Sequence[str],
    *,
    engine: str = "transformers",
    device: str = "auto",
    dtype: str = "auto",
    batch_size: int = 16,
    trust_remote_code: bool = False,
) -> UnitScoring:
    """Loads what scores units.

    Args:
        units: `graph` takes captions apart by scene graphs; `sentences` leaves sentences whole, to
            be judged in their caption.
        verifiers: Critics that judge units; several vote.
        engine: See `load_critic`; likewise the others.

    Raises:
        UserError: A model cannot be loaded.
    """
    if not verifiers:
        raise UserError("no verifier is named", hint="name one with --verifier")
    critics = [
        load_critic(
            name,
            engine=engine,
            device=device,
            dtype=dtype,
            batch_size=batch_size,
            trust_remote_code=trust_remote_code,
        )
        for name in verifiers
    ]
    kind = SentenceVerifier if units == "sentences" else CriticVerifier
    members: list[UnitVerifier] = [kind(critic) for critic in critics]
    verifier = members[0] if len(members) == 1 else MajorityVerifier(members)
    if units == "sentences":
        return UnitScoring(SentenceDecomposer(), verifier)
    from revise_captions.dcscore.graph_decomposer import GraphDecomposer

    return UnitScoring(GraphDecomposer(), verifier)
