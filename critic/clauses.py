"""What a critic asks itself about the clauses of a sentence, each in its place.

    judge    a sentence of which a clause is nonfactual is no more factual than that clause: a small
             critic overlooks one wrong clause of five
    explain  each clause that is nonfactual, else the least factual one; they are named as wrong

With five clauses to a sentence, five times as often a true one seems wrong; and a critic that sees
amiss explains what it sees, and believes the rewrite, too. So only a clause that is wrong without
doubt is to be rewritten. Another one goes: what is left is as true as it was.

A clause is asked about as a sentence of its own, in the caption with its sentence taken apart.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from PIL.Image import Image

from revise_captions.critic.protocol import Critic, ExplainRequest, JudgeRequest
from revise_captions.records import CLAUSE, DOUBTED_CLAUSE, Fix, Rationale, Span, Verdict
from revise_captions.runs.window_images import prepare
from revise_captions.text.clauses import VERSION, SpokenPart, clauses

#: Speaks of what was named before. Other clauses are judged without those before them in their
#: sentence: on scenes for development that missed fewer wrong ones, and flagged fewer true ones.
_BACK = re.compile(
    r"\b(?:it|its|he|she|they|him|her|his|hers|them|their|one|ones|other|another|both)\b",
    re.IGNORECASE,
)


#: P(factual) up to which a clause is wrong without doubt; chosen on scenes for development.
UNDOUBTED = 0.01


class ClauseCritic:
    """A critic whose verdicts and rationales are about clauses, too; see the module.

    Args:
        critic: Of whole sentences.
    """

    def __init__(self, critic: Critic) -> None:
        self.critic, self.threshold = critic, critic.threshold
        self.settings: Mapping[str, str] = {**critic.settings, "clauses": VERSION}

    def prepare(self, image: Image) -> None:
        prepare(self.critic, image)

    def judge(self, requests: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        """The critic's verdicts, those on sentences of several clauses bounded by their clauses'.

        What is unscored stays so, and statements `instead` are not taken apart.
        """
        found = self.critic.judge(requests)
        joined = [
            (k, n, view)
            for k, request in enumerate(requests)
            if request.instead is None
            for n, (index, said) in enumerate(request.asked)
            if found[k][n].p_factual is not None
            and (view := _taken_apart(request, index, clauses(said))) is not None
        ]
        answers = self.critic.judge([view for _, _, view in joined]) if joined else []
        for (k, n, _), of_clauses in zip(joined, answers, strict=True):
            found[k][n] = self._bounded(found[k][n], of_clauses)
        return found

    def explain(self, requests: Sequence[ExplainRequest]) -> list[Rationale]:
        """A rationale per request; of a sentence of several clauses about those that are wrong,
        with a fix for each that says where it stands."""
        parts = [clauses(request.spans[request.index].of(request.text)) for request in requests]
        views = [
            _taken_apart(JudgeRequest(r.image, r.text, r.spans), r.index, own)
            for r, own in zip(requests, parts, strict=True)
        ]
        apart = [view for view in views if view is not None]
        answers = iter(self.critic.judge(apart) if apart else [])
        named: list[list[Fix]] = []
        asked: list[ExplainRequest] = []
        for request, view, own in zip(requests, views, parts, strict=True):
            wrong = {} if view is None else self._wrong(next(answers))
            if view is None or not wrong:
                named.append([])
                asked.append(request)
                continue
            named.append([_named(own[k].span, p) for k, p in wrong.items()])
            asked += [
                replace(request, text=view.text, spans=view.spans, index=request.index + k)
                for k in wrong
            ]
        told = iter(self.critic.explain(asked))
        return [
            _joined([replace(fix, basis=next(told).text) for fix in fixes]) if fixes else next(told)
            for fixes in named
        ]

    def _wrong(self, verdicts: Sequence[Verdict]) -> dict[int, float]:
        """P(factual) of the clauses that are nonfactual, by number; of the least factual one where
        only the whole sentence is; {} where no clause could be judged."""
        known = {k: v.p_factual for k, v in enumerate(verdicts) if v.p_factual is not None}
        found = {k: p for k, p in known.items() if p < self.threshold}
        return found or dict(sorted(known.items(), key=lambda one: one[1])[:1])

    def _bounded(self, whole: Verdict, of_clauses: Sequence[Verdict]) -> Verdict:
        known = [v.p_factual for v in of_clauses if v.p_factual is not None]
        assert whole.p_factual is not None
        bound = min(known, default=1.0)
        if bound >= min(whole.p_factual, self.threshold):
            return whole
        return replace(whole, p_factual=bound, assessable=True)


def _named(place: Span, p_factual: float) -> Fix:
    kind = CLAUSE if p_factual <= UNDOUBTED else DOUBTED_CLAUSE
    return Fix(place, "", kind, certain=False)


def _joined(fixes: Sequence[Fix]) -> Rationale:
    """What is wrong in each clause, as one rationale."""
    texts = dict.fromkeys(fix.basis for fix in fixes if fix.basis)
    return Rationale(" ".join(texts), tuple(fixes))


def _taken_apart(
    request: JudgeRequest, index: int, parts: Sequence[SpokenPart]
) -> JudgeRequest | None:
    """The question about each clause of a sentence in its place; None if it has one."""
    if not parts:
        return None
    text, spans = request.text[: request.spans[index].start], list(request.spans[:index])
    for part in parts:
        start = len(text)
        text = f"{text}{part.text} "
        spans.append(Span(start, start + len(part.text)))
    asked = tuple(
        (index + k if _BACK.search(part.text) else index, part.text) for k, part in enumerate(parts)
    )
    return JudgeRequest(request.image, text.rstrip(), tuple(spans), index, asked)
