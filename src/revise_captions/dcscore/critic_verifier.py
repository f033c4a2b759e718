"""A critic as DCScore's verifier: each unit is judged as a sentence of its own.

A unit stands in the place of the sentence that says it, after the text before that sentence, so
that "the dog" is the caption's. All units of a caption go to the critic at once: a packing critic
computes them as branches of one trunk, the image and the caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from revise_captions.critic.protocol import Critic, JudgeRequest, chosen
from revise_captions.dcscore.units import UnitVerdict, VerifyTask
from revise_captions.records import Verdict

#: Why a sentence that the critic finds nothing to assess in has no verdict.
NO_CLAIM = "makes no claim about the image"


class CriticVerifier:
    """Verifies units by a critic; a unit is correct at P(factual) >= the critic's threshold.

    Args:
        critic: Judges.
        claims_only: Whether a unit without a claim has no verdict. Decomposers leave such units
            out, or mark them; sentences as they stand are not told apart otherwise.
    """

    def __init__(self, critic: Critic, *, claims_only: bool = False) -> None:
        self.critic, self.claims_only = critic, claims_only

    @property
    def settings(self) -> Mapping[str, str]:
        kind = "critic, of claims" if self.claims_only else "critic"
        own = {"verifier": kind, "threshold": f"{self.critic.threshold:.4f}"}
        return {**self.critic.settings, **own}

    def verify(self, tasks: Sequence[VerifyTask]) -> list[tuple[UnitVerdict, ...]]:
        """One verdict per unit; a caption without units is not asked about."""
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
