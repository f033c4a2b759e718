"""Any vision–language model that follows instructions as a critic, through any engine.

P(factual) is P(Yes) / (P(Yes) + P(No)) of the answer's first token (VNLI-Critique, section 4.2),
over every one-token spelling of the two words. If their total probability, the answer mass, is
below `LEAST_MASS`, the model did not answer the question and the sentence is unscored.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from revise_captions.critic import chat_prompts
from revise_captions.critic.profile import CALIBRATION, UNCALIBRATED
from revise_captions.critic.protocol import LEAST_MASS, ExplainRequest, JudgeRequest
from revise_captions.critic.reading.rationale import with_named_fixes
from revise_captions.engines.protocol import AnswerScores, Engine, Failed
from revise_captions.records import Rationale, Unscored, Verdict

#: The most new tokens of a rationale.
MAX_RATIONALE = 96


class InstructCritic:
    """A critic over any engine. Made by `load_critic`.

    Args:
        engine: What computes the answers; its settings become the critic's.
        threshold: P(factual) below which a sentence is nonfactual.
        calibrated: Whether a card gives the calibration of its P(factual).
    """

    def __init__(self, engine: Engine, *, threshold: float = 0.5, calibrated: bool = False) -> None:
        self.engine, self.threshold = engine, threshold
        own = {"critic" if key == "model" else key: v for key, v in engine.settings.items()}
        self.settings: Mapping[str, str] = {
            **own,
            "prompt": chat_prompts.VERSION,
            "attention-mode": "the model's own",
            **({} if calibrated else {CALIBRATION: UNCALIBRATED}),
        }
        self._answers, self._mass = 0, 0.0

    @property
    def answer_mass(self) -> float | None:
        """The mean answer mass of all answers so far: low where the prompt does not suit the model.
        None before the first answer."""
        return self._mass / self._answers if self._answers else None

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """One verdict per sentence of `spans[first:]`, in input order."""
        asked = [
            chat_prompts.classification(request.image, request.text, request.spans, index, said)
            for request in requests
            for index, said in request.asked
        ]
        answers = iter(self.engine.answer_logprobs(asked, chat_prompts.WORDS) if asked else [])
        return [[self._verdict(next(answers)) for _ in request.asked] for request in requests]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        """A rationale per request, with the fixes that it names; "" where the engine gave none."""
        asked = [chat_prompts.rationale(r.image, r.text, r.spans, r.index) for r in requests]
        written = self.engine.generate(asked, MAX_RATIONALE) if asked else []
        texts = ["" if isinstance(w, Failed) else rationale_in(w.text) for w in written]
        return [
            with_named_fixes(text, r.spans[r.index].of(r.text))
            for text, r in zip(texts, requests, strict=True)
        ]

    def _verdict(self, answer: AnswerScores | Failed) -> Verdict:
        if isinstance(answer, Failed):
            return Verdict(None, answer.reason)
        self._answers += 1
        self._mass += answer.answer_mass
        mass = round(answer.answer_mass, 4)
        if mass < LEAST_MASS:
            return Verdict(None, Unscored.NO_ANSWER, answer_mass=mass)
        return Verdict(round(factual(answer), 4), answer_mass=mass)


def factual(answer: AnswerScores) -> float:
    """P(Yes) given that the answer is Yes or No."""
    yes, no = answer.logprobs
    if no == -math.inf:
        return 1.0
    if yes == -math.inf:
        return 0.0
    return 1 / (1 + math.exp(min(no - yes, 700.0)))


def rationale_in(text: str) -> str:
    """The rationale in a model's answer, as one line and without its `<think>` block."""
    if "<think>" in text and "</think>" not in text:
        return ""
    return " ".join(text.rpartition("</think>")[2].split())
