"""A critic and a reviser that are pure functions of text, and runs of the loop with them."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from PIL import Image

from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.pipelines.draft import new_draft, revision_of
from revise_captions.pipelines.job import rounds as loop
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings, run_stages
from revise_captions.records import Rationale, Span, Verdict
from revise_captions.reviser.protocol import RewriteRequest

IMAGE = Image.new("RGB", (8, 8))
THRESHOLD = 0.5


@dataclass
class FakeCritic:
    """P(factual) is `p(context, sentence)`; the rationale repeats the sentence."""

    p: Callable[[str, str], float]
    threshold: float = THRESHOLD
    judged: int = 0

    @property
    def settings(self) -> dict[str, str]:
        return {"critic": "fake"}

    def judge(self, paragraphs: Sequence[JudgeRequest]) -> list[list[Verdict]]:
        self.judged += sum(len(p.spans) - p.first for p in paragraphs)
        return [
            [Verdict(round(self.p(q.text[: s.start], s.of(q.text)), 4)) for s in q.spans[q.first :]]
            for q in paragraphs
        ]

    def explain(self, claims: Sequence[ExplainRequest]) -> list[Rationale]:
        return [Rationale(f"wrong: {c.spans[c.index].of(c.text)}") for c in claims]


@dataclass
class FakeReviser:
    rewriter: Callable[[RewriteRequest], str | None]
    strict: bool = False

    @property
    def settings(self) -> dict[str, str]:
        return {"reviser": "fake"}

    def rewrite(self, requests: Sequence[RewriteRequest]) -> list[str | None]:
        return [self.rewriter(request) for request in requests]


def spans_of(text: str) -> tuple[Span, ...]:
    """One span per run of non-blank characters: every word is a sentence of its own."""
    spans, start = [], None
    for index, character in enumerate(text + " "):
        if not character.isspace() and start is None:
            start = index
        elif character.isspace() and start is not None:
            spans.append(Span(start, index))
            start = None
    return tuple(spans)


def run(text: str, critic: FakeCritic, reviser: FakeReviser, **settings: object) -> loop.Draft:
    tools = LoadedModels(critic, reviser, "")
    draft = new_draft(IMAGE, text, spans_of(text))
    return run_stages([draft], tools, RevisionSettings(guard="warn", **settings))[0]  # type: ignore[arg-type]


def revised(draft: loop.Draft) -> str:
    return revision_of(draft, "").revised_caption


def good_unless_bad(_: str, sentence: str) -> float:
    return 0.1 if "bad" in sentence else 0.9


def chaos(seed: int) -> Callable[[str, str], float]:
    """A critic that is arbitrary but fixed: P from a hash of context and sentence."""

    def p(context: str, sentence: str) -> float:
        digest = hashlib.sha256(f"{seed}|{context}|{sentence}".encode()).digest()
        return int.from_bytes(digest[:4]) / 2**32

    return p


def chaotic_rewriter(seed: int) -> Callable[[RewriteRequest], str | None]:
    def rewrite(request: RewriteRequest) -> str | None:
        rng = random.Random(f"{seed}|{request}")
        return rng.choice([None, "", "x.", f"{rng.randrange(99)}.", request.sentence + "!"])

    return rewrite
