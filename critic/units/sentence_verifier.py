"""A critic as the verifier of sentences, each judged in its caption."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from revise_captions.critic.protocol import Critic, JudgeRequest
from revise_captions.dcscore.units import UnitVerdict, VerifyTask
from revise_captions.errors import UserError
from revise_captions.records import Verdict

NOTHING_TO_ASSESS = "makes no claim about the image"


class SentenceVerifier:
    """Judges units that are sentences of their caption, with the text before them as context.

    Args:
        critic: Judges; a sentence that it finds nothing to assess in has no verdict.
    """

    def __init__(self, critic: Critic) -> None:
        self.critic = critic

    @property
    def settings(self) -> Mapping[str, str]:
        """The critic's, and its threshold."""
        own = {"verifier": "critic-in-context", "threshold": f"{self.critic.threshold:.4f}"}
        return {**self.critic.settings, **own}

    def verify(self, tasks: Sequence[VerifyTask]) -> list[tuple[UnitVerdict, ...]]:
        """One verdict per unit. Raises UserError where a unit is not what its span covers."""
        for task in tasks:
            for unit in task.caption.units:
                if unit.span.of(task.caption.text) != unit.text:
                    raise UserError("this verifier judges whole sentences only")
        asked = [
            JudgeRequest(task.image, task.caption.text, tuple(u.span for u in task.caption.units))
            for task in tasks
        ]
        judged = iter(self.critic.judge([one for one in asked if one.spans]))
        return [
            tuple(self._verdict(verdict) for verdict in next(judged)) if one.spans else ()
            for one in asked
        ]

    def _verdict(self, verdict: Verdict) -> UnitVerdict:
        if verdict.p_factual is None:
            return UnitVerdict(None, unscored=str(verdict.unscored))
        if verdict.assessable is False:
            return UnitVerdict(None, unscored=NOTHING_TO_ASSESS)
        return UnitVerdict(verdict.p_factual >= self.critic.threshold, verdict.p_factual)
