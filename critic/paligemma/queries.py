"""The questions to a PaliGemma critic about a caption, and its answers' meaning, on any engine."""

from __future__ import annotations

import numpy as np

from revise_captions.critic.gates.language import Vocabulary
from revise_captions.critic.paligemma.packing import Branch, Trunk, context_trunk, question
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.protocol import LEAST_MASS, ExplainRequest, JudgeRequest
from revise_captions.records import Span, UnknownWord, Unscored, Verdict
from revise_captions.stats.probability_maps import ProbabilityMap

#: The most new tokens of a rationale.
MAX_RATIONALE = 64


def judge_queries(
    tokenizer: PromptTokenizer,
    vocabulary: Vocabulary,
    request: JudgeRequest,
    images: int,
    longest: int,
) -> tuple[list[Verdict], list[tuple[int, Branch]], Trunk]:
    """The questions about those of a caption's sentences that the critic can judge.

    Args:
        tokenizer: The critic's.
        vocabulary: The words it knows: sentences in another language, or with an unknown word, are
            not asked about.
        request: The caption.
        images: Image tokens before the text.
        longest: Most tokens of a prompt with its answer, image tokens included.

    Returns:
        A verdict for each text of `asked`, which says why it is unscored or is a placeholder for
        the answer; the branches to ask, each with its index among the verdicts and ending in the
        answer Yes; and the trunk that they fork from.
    """
    spans = request.spans
    text = vocabulary.in_case(request.text, spans)
    trunk = context_trunk(tokenizer, text, spans)
    foreign = _foreign(vocabulary, request)
    verdicts, asked = [], []
    for number, (index, said) in enumerate(request.asked):
        if foreign[number]:
            verdicts.append(Verdict(None, Unscored.LANGUAGE))
            continue
        if word := vocabulary.unknown_word(said):
            verdicts.append(Verdict(None, UnknownWord(word)))
            continue
        # forks only grow: once one is too long, later sentences need not be tokenized
        verdicts.append(Verdict(None, Unscored.TOO_LONG))
        if images + trunk.forks[index] >= longest:
            continue
        read = vocabulary.in_case(said, (Span(0, len(said)),))
        branch = question(
            tokenizer, trunk, text, spans, index, answer=tokenizer.answer_yes, instead=read
        )
        if images + branch.fork + len(branch.ids) <= longest:
            asked.append((number, branch))
    return verdicts, asked, trunk


def _foreign(vocabulary: Vocabulary, request: JudgeRequest) -> list[bool]:
    """Which of the texts asked about are in a language that the critic does not know."""
    if request.instead is None:
        return list(vocabulary.foreign(request.text, request.spans))[request.first :]
    return [vocabulary.foreign(said, (Span(0, len(said)),))[0] for _, said in request.instead]


def rationale_query(
    tokenizer: PromptTokenizer,
    vocabulary: Vocabulary,
    request: ExplainRequest,
    images: int,
    longest: int,
) -> tuple[Trunk, Branch] | None:
    """The question of what is wrong with a sentence; None if its prompt exceeds `longest` tokens.

    `images`: image tokens before the text.
    """
    spans, index = request.spans, request.index
    text = vocabulary.in_case(request.text, spans)
    trunk = context_trunk(tokenizer, text, spans[: index + 1])
    branch = question(tokenizer, trunk, text, spans, index, rationale=True)
    return (trunk, branch) if images + branch.fork + len(branch.ids) <= longest else None


def verdict_of(
    p_yes: float, mass: float, nothing: bool, threshold: float, map_: ProbabilityMap
) -> Verdict:
    """The verdict in an answer.

    Args:
        p_yes: P(Yes) given that the answer is Yes or No.
        mass: The probability of Yes and No together.
        nothing: Whether “, nothing to assess” is likelier than the end of the answer after a Yes.
        threshold: The P(factual) below which a sentence is nonfactual.
        map_: Maps P(Yes) to P(factual).
    """
    mass = round(min(1.0, mass), 4)
    if mass < LEAST_MASS:
        return Verdict(None, Unscored.NO_ANSWER, answer_mass=mass)
    p = float(map_(np.float64(round(p_yes, 4))))  # maps are fitted on four decimals
    return Verdict(p, assessable=not (nothing and p >= threshold), answer_mass=mass)
