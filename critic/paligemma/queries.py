"""What is asked about a caption, whatever computes the answers."""

from __future__ import annotations

from revise_captions.critic.gates.language import Vocabulary
from revise_captions.critic.paligemma.packing import (
    Branch,
    Trunk,
    context_trunk,
    question,
)
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.records import Unscored, Verdict


def queries(
    codec: PromptTokenizer, lexicon: Vocabulary, paragraph: JudgeRequest, images: int, longest: int
) -> tuple[list[Verdict], list[tuple[int, Branch]], Trunk]:
    """Verdicts of the sentences that need no model, and a branch for each that does.

    Each sentence of `spans[first:]` has a verdict, a stand-in where its branch, by sentence, will
    bring one. Branches end in the answer Yes. A prompt with its answer has at most `longest`
    tokens, the image's `images` among them.
    """
    text, spans = paragraph.text, paragraph.spans
    trunk = context_trunk(codec, text, spans)
    foreign = lexicon.foreign(text, spans)
    verdicts, asked = [], []
    for index in range(paragraph.first, len(spans)):
        if foreign[index]:
            verdicts.append(Verdict(None, Unscored.LANGUAGE))
            continue
        # the forks only grow, so a paragraph without end is not tokenised to its end
        verdicts.append(Verdict(None, Unscored.TOO_LONG))
        if images + trunk.forks[index] >= longest:
            continue
        branch = question(codec, trunk, text, spans, index, answer=codec.answer_yes)
        if images + branch.fork + len(branch.ids) <= longest:
            asked.append((index, branch))
    return verdicts, asked, trunk
