"""What every family of vision–language models has to pass: the same answers as a plain, unbatched
forward pass of transformers, through the load path that users take.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tinyvlm
import torch
import transformers
from PIL import Image

from revise_captions.critic import chat_prompts, instruct
from revise_captions.critic.instruct import InstructCritic
from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.engines.protocol import AnswerScores, Prompt
from revise_captions.records import Span
from revise_captions.text.sentences import split


@dataclass(frozen=True)
class FamilyCheck:
    """What was compared for one family: the largest difference of P(factual), prompt tokens one by
    one and as trees, and how many rationales were equal."""

    apart: float
    tokens: int
    nodes: int
    rationales: int


CAPTIONS = (
    "There is a red circle. It is on the left, and “it” isn't 2 cm wide! Two people walk.",
    "A sign reads CAFE. Both wear hats.",
    "Two people walk.",
)
QUESTION = (
    "Given the image and the prompt prefix <PREFIX>{context}</PREFIX>, does the following text "
    "align with the image: <TARGET>{sentence}</TARGET>?\nAnswer with one word: Yes or No."
)
EXPLANATION = (
    "Given the image and the prompt prefix <PREFIX>{context}</PREFIX>, the text <TARGET>{sentence}"
    "</TARGET> is considered inaccurate. Explain the misalignments and factual inaccuracies that "
    "make it inaccurate.\nAnswer with one short sentence: what is wrong, and what the image shows "
    "instead. Do not repeat the text."
)


def images() -> list[Image.Image]:
    rng = np.random.default_rng(0)
    sizes = ((60, 90), (100, 50), (70, 70))
    return [Image.fromarray(rng.integers(0, 255, (*size, 3), dtype=np.uint8)) for size in sizes]


@cache
def paragraphs() -> tuple[JudgeRequest, ...]:
    return tuple(
        JudgeRequest(image, text, tuple(split(text)))
        for image, text in zip(images(), CAPTIONS, strict=True)
    )


def message(image: Image.Image, text: str) -> list[dict[str, Any]]:
    content = [{"type": "image", "image": image}, {"type": "text", "text": text}]
    return [{"role": "user", "content": content}]


class Plain:
    """The reference: transformers as its documentation shows it, one prompt at a time."""

    def __init__(self, folder: Path) -> None:
        self.processor = transformers.AutoProcessor.from_pretrained(folder)
        self.model = transformers.AutoModelForImageTextToText.from_pretrained(folder).eval()
        ids = range(len(self.processor.tokenizer))
        texts = [self.processor.tokenizer.decode([i]).strip().lower() for i in ids]
        self.words = [[i for i in ids if texts[i] == word] for word in ("yes", "no")]

    def inputs(self, image: Image.Image, text: str) -> Any:
        return self.processor.apply_chat_template(
            message(image, text),
            add_generation_prompt=True,
            tokenize=True,
            return_dict=True,
            return_tensors="pt",
        )

    @torch.inference_mode()
    def masses(self, image: Image.Image, text: str) -> list[float]:
        """Log-probability of each word, its spellings summed."""
        whole = self.model(**self.inputs(image, text)).logits[0, -1].double().log_softmax(-1)
        return [float(whole[ids].logsumexp(-1)) for ids in self.words]

    @torch.inference_mode()
    def written(self, image: Image.Image, text: str, limit: int) -> str:
        inputs = self.inputs(image, text)
        made = self.model.generate(**inputs, max_new_tokens=limit, do_sample=False)
        new = made[0, inputs["input_ids"].shape[1] :]
        return " ".join(self.processor.tokenizer.decode(new, skip_special_tokens=True).split())


def asked(template: str) -> list[tuple[Image.Image, str]]:
    return [
        (p.image, template.format(context=p.text[: s.start], sentence=s.of(p.text)))
        for p in paragraphs()
        for s in p.spans
    ]


def prompts_about_all() -> list[Prompt]:
    """The engine's prompts about every sentence."""
    return [
        chat_prompts.classification(p.image, p.text, p.spans, index)
        for p in paragraphs()
        for index in range(len(p.spans))
    ]


def answers(critic: InstructCritic) -> list[AnswerScores]:
    """What the critic's engine says about every sentence, before it becomes a verdict."""
    found = critic.engine.answer_logprobs(prompts_about_all(), ("Yes", "No"))
    assert all(isinstance(answer, AnswerScores) for answer in found), found
    return [answer for answer in found if isinstance(answer, AnswerScores)]


def check(family: str, folder: Path) -> FamilyCheck:
    """All of it for one family."""
    tinyvlm.saved(folder, family)
    critic = load_critic(str(folder), CriticOptions(Placement(batch_size=4, device="cpu")))
    assert isinstance(critic, InstructCritic)
    assert critic.engine.shares, "no trunk is shared"  # type: ignore[attr-defined]
    plain = Plain(folder)
    expected = [plain.masses(image, text) for image, text in asked(QUESTION)]
    found = answers(critic)
    np.testing.assert_allclose([answer.logprobs for answer in found], expected, atol=2e-4)
    verdicts = [v for group in critic.judge(paragraphs()) for v in group]
    ps = [1 / (1 + np.exp(no - yes)) for yes, no in expected]
    shares = [np.exp(yes) + np.exp(no) for yes, no in expected]
    assert len(set(np.round(ps, 3))) > 3, "the model does not look at its prompt"
    assert max(shares) > 0.5, "no sentence has a verdict"
    apart = max(abs(p_yes(answer) - p) for answer, p in zip(found, ps, strict=True))
    assert apart <= 1e-4
    for verdict, p, share in zip(verdicts, ps, shares, strict=True):
        if abs(share - 0.5) > 1e-3:
            assert (verdict.p_factual is None) == (share < 0.5)
        if verdict.p_factual is not None:
            assert abs(verdict.p_factual - p) <= 1e-4
    rationales = check_rationales(critic, plain)
    check_invariance(folder, found)
    return FamilyCheck(apart, *sizes(critic), rationales)


def p_yes(answer: AnswerScores) -> float:
    """P(factual), not rounded as a verdict's is."""
    return float(np.exp(answer.logprobs[0]) / answer.answer_mass)


def sizes(critic: InstructCritic) -> tuple[int, int]:
    """Prompt tokens about all sentences, one by one and as trees."""
    engine: Any = critic.engine
    rows = engine._encoded(prompts_about_all())
    trees, _ = engine._trees(rows)
    return sum(map(len, rows)), sum(map(len, trees))


def check_rationales(critic: InstructCritic, plain: Plain) -> int:
    """How many rationales there are; all are those of the reference."""
    claims = [
        ExplainRequest(p.image, p.text, p.spans, k)
        for p in paragraphs()
        for k in range(len(p.spans))
    ]
    limit = 24
    expected = [
        plain.written(c.image, _explanation(c.text, c.spans[c.index]), limit) for c in claims
    ]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(instruct, "MAX_RATIONALE", limit)
        found = [one.text for one in critic.explain(claims)]
    assert found == expected
    assert len(set(found)) > 1
    return len(found)


def _explanation(text: str, span: Span) -> str:
    return EXPLANATION.format(context=text[: span.start], sentence=span.of(text))


def check_invariance(folder: Path, found: list[AnswerScores]) -> None:
    """P(factual) does not depend on the batch that a sentence was in, nor on its place."""
    critic = load_critic(str(folder), CriticOptions(Placement(batch_size=1, device="cpu")))
    assert isinstance(critic, InstructCritic)
    critic.engine.shares = False  # type: ignore[attr-defined]
    alone = answers(critic)
    critic.engine.shares = True  # type: ignore[attr-defined]
    critic.engine.batch_size = 64  # type: ignore[attr-defined]
    turned = critic.engine.answer_logprobs(prompts_about_all()[::-1], ("Yes", "No"))[::-1]
    for one, many, other in zip(alone, found, turned, strict=True):
        assert isinstance(other, AnswerScores)
        for answer in (many, other):
            assert abs(p_yes(one) - p_yes(answer)) <= 1e-4
