"""How a request becomes the token ids of SmolLM2, a small language model taught to edit.

    <|im_start|>context … <|im_end|><|im_start|>rationale … <|im_end|><|im_start|>sentence …
    <|im_end|><|im_start|>rewrite …<|im_end|>

An empty rewrite deletes the sentence. Each text between the tags is encoded on its own without
special tokens, so that no caption or rationale can close a tag.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.engines.smollm2 import load_merged
from revise_captions.reviser.bundled_model.tokenizer import decoded
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.text.tokens import PlainText

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

VERSION = "edit-chat/1"
START, END = "<|im_start|>", "<|im_end|>"
#: Length limits of the parts, in tokens. The context keeps its last tokens; a request with a longer
#: sentence or rationale is refused.
CONTEXT_TOKENS = 48
SENTENCE_TOKENS = 160
RATIONALE_TOKENS = 256


class ChatRewriteTokenizer:
    """Requests to ids, and ids to text.

    Attributes:
        pretrained: transformers' tokenizer.
        texts: Ids of user texts, each encoded on its own: nothing in them becomes a tag.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.pretrained = tokenizer
        self.texts = PlainText(tokenizer).ids
        self._start, self.eos = tokenizer.convert_tokens_to_ids([START, END])
        self.pad = self.eos
        self._special = {self._start, self.eos, *tokenizer.all_special_ids}
        names = ("context", "rationale", "sentence", "rewrite")
        self._heads = dict(zip(names, self.texts([f"{name}\n" for name in names]), strict=True))

    def prompts(self, requests: Sequence[RewriteRequest]) -> list[list[int] | None]:
        """Ids up to the rewrite; None for requests over the model's limits."""
        pieces = [
            text
            for request in requests
            for text in (
                request.context[-8 * CONTEXT_TOKENS :],
                request.rationale,
                request.sentence,
            )
        ]
        encoded = iter(self.texts(pieces))
        prompts: list[list[int] | None] = []
        for _ in requests:
            context, rationale, sentence = next(encoded), next(encoded), next(encoded)
            if len(sentence) > SENTENCE_TOKENS or len(rationale) > RATIONALE_TOKENS:
                prompts.append(None)
                continue
            parts = {
                "context": context[-CONTEXT_TOKENS:], "rationale": rationale, "sentence": sentence,
            }  # fmt: skip
            prompt: list[int] = []
            for name, ids in parts.items():
                if ids:
                    prompt += [self._start, *self._heads[name], *ids, self.eos]
            prompts.append([*prompt, self._start, *self._heads["rewrite"]])
        return prompts

    def answer(self, rewrite: str, ids: Sequence[int] | None = None) -> list[int]:
        """The answer to train on: the rewrite's ids (encoded unless given) and the end."""
        return [*(self.texts([rewrite])[0] if ids is None else ids), self.eos]

    def decode(self, ids: Sequence[int]) -> str | None:
        """The rewrite in generated ids: "" for a deletion, None where the answer is unusable.

        Unusable are answers without an end, with a stray tag, or with bytes that are not text.
        """
        if self.eos not in ids:
            return None
        return decoded(self.pretrained, ids[: list(ids).index(self.eos)], self._special)


def load_adapted(folder: Path, dtype: str) -> tuple[ChatRewriteTokenizer, PreTrainedModel]:
    """SmolLM2 with the LoRA adapter of a folder merged into its weights.

    Args:
        folder: Has `adapter_config.json` and `adapter_model.safetensors`, in PEFT's format.
        dtype: What it computes in.

    Raises:
        UserError: SmolLM2 is not installed, or the adapter cannot be read or does not fit.
    """
    tokenizer, model = load_merged(folder, dtype)
    return ChatRewriteTokenizer(tokenizer), model
