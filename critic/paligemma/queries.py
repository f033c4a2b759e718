"""What a PaliGemma critic is asked about a caption, and what its answers mean, on any engine."""

from __future__ import annotations

import numpy as np

from revise_captions.critic.gates.language import Vocabulary
from revise_captions.critic.paligemma.packing import Branch, Trunk, context_trunk, question
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.protocol import LEAST_MASS, ExplainRequest, JudgeRequest
from revise_captions.records import Span, UnknownWord, Unscored, Verdict
from revise_captions.stats.probability_maps import ProbabilityMap

#: New tokens of a rationale.
MAX_RATIONALE = 64


def judge_queries(
    tokenizer: PromptTokenizer,
    vocabulary: Vocabulary,
    request: JudgeRequest,
    images: int,
    longest: int,
) -> tuple[list[Verdict], list[tuple[int, Branch]], Trunk]:
    """The questions about a caption's sentences, for those that the critic can judge.

    Args:
        tokenizer: The critic's.
        vocabulary: The words it knows: sentences in another language, or with an unknown word, are
            not asked about.
        request: The caption.
        images: Image tokens in front of the text.
        longest: Most tokens of a prompt with its answer, image tokens included.

    Returns:
        A verdict for each text of `asked`, which says why it is unscored or holds the
        place of the answer; the branches to ask, each with its number among the verdicts and
        ending in the answer Yes; and the trunk they leave.
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
        # forks only grow: once one is too long, no later sentence needs to be tokenized
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
    """The question what is wrong with a sentence; None where its prompt has over `longest` tokens.

    `images`: image tokens in front of the text.
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
        map_: What P(Yes) goes through to become P(factual).
    """
    mass = round(min(1.0, mass), 4)
    if mass < LEAST_MASS:
        return Verdict(None, Unscored.NO_ANSWER, answer_mass=mass)
    p = float(map_(np.float64(round(p_yes, 4))))  # of four decimals, as maps are fitted
    return Verdict(p, assessable=not (nothing and p >= threshold), answer_mass=mass)
