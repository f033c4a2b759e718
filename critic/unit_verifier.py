"""A critic as DCScore's verifier: each unit is judged as a sentence of its own.

A unit stands in the place of the sentence that says it, after the text before that sentence, so
that "the dog" is the caption's. All units of a caption go to the critic at once: a packing critic
computes them as branches of one trunk, the image and the caption.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from revise_captions.critic.protocol import Critic, JudgeRequest
from revise_captions.dcscore.units import UnitVerdict, VerifyTask
from revise_captions.records import Verdict


class CriticVerifier:
    """Verifies units by a critic; a unit is correct at P(factual) >= the critic's threshold."""

    def __init__(self, critic: Critic) -> None:
        self.critic = critic

    @property
    def settings(self) -> Mapping[str, str]:
        own = {"verifier": "critic", "threshold": f"{self.critic.threshold:.4f}"}
        return {**self.critic.settings, **own}

    def verify(self, tasks: Sequence[VerifyTask]) -> list[tuple[UnitVerdict, ...]]:
        """One verdict per unit; a caption without units is not asked about."""
        asked = [_request(task) for task in tasks if task.caption.units]
        answers = iter(self.critic.judge(asked) if asked else [])
        return [
            tuple(self._verdict(found) for found in next(answers)) if task.caption.units else ()
            for task in tasks
        ]

    def _verdict(self, found: Verdict) -> UnitVerdict:
        p = found.p_factual
        if p is None:
            return UnitVerdict(None, unscored=str(found.unscored))
        return UnitVerdict(p >= self.critic.threshold, p)


def _request(task: VerifyTask) -> JudgeRequest:
    caption = task.caption
    statements = tuple((unit.sentence, unit.text) for unit in caption.units)
    return JudgeRequest(task.image, caption.text, caption.sentences, instead=statements)
