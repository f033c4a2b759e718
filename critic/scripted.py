"""A critic with scripted answers: for tests, and to measure the cost of everything else."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.records import Rationale, Verdict

Judge = Callable[[JudgeRequest, int], Verdict]
Explain = Callable[[ExplainRequest], str | Rationale]


@dataclass(frozen=True, slots=True)
class ScriptedCritic:
    """`verdicts`: by sentence text, or a function of (request, sentence index). `rationales`:
    likewise, as text or with fixes.

    Sentences not in the mapping get `default`. `delay`: seconds that each call sleeps.
    """

    verdicts: Mapping[str, Verdict] | Judge = field(default_factory=dict)
    rationales: Mapping[str, str | Rationale] | Explain = field(default_factory=dict)
    default: Verdict = field(default_factory=lambda: Verdict(0.9, assessable=True))
    threshold: float = 0.5
    settings: Mapping[str, str] = field(default_factory=lambda: {"critic": "scripted"})
    delay: float = 0.0

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        time.sleep(self.delay)
        return [
            [self._verdict(request, index, said) for index, said in request.asked]
            for request in requests
        ]

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        time.sleep(self.delay)
        if callable(self.rationales):
            found = [self.rationales(request) for request in requests]
        else:
            found = [self.rationales.get(r.spans[r.index].of(r.text), "") for r in requests]
        return [one if isinstance(one, Rationale) else Rationale(one) for one in found]

    def _verdict(self, request: JudgeRequest, index: int, said: str) -> Verdict:
        if callable(self.verdicts):
            return self.verdicts(request, index)
        return self.verdicts.get(said, self.default)
