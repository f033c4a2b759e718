"""Words of new data that a small critic's tokenizer takes to pieces become tokens of their own.

A tokenizer of a thousand tokens spells what it was not trained on: “rocket” comes as five pieces,
four of which “robot” has too. A small language model then has to learn to read before it can learn
what a rocket looks like, and from a few hundred sentences it learns neither. With a token for each,
it asks of a new word what it asks of those it knows.

The embeddings of new words are drawn like those of whole words that the critic knows (their mean
and covariance). A mean of the pieces, the usual start, leaves words that are spelled alike nearly
the same, far from any word that the critic knows.

Nothing else is spelled differently from before: a whole word that is in the vocabulary is taken as
it is (`ignore_merges`), and pieces are merged as they were.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from revise_captions.critic.paligemma.tokenizer import PromptTokenizer, vocabulary_size
from revise_captions.critic.prompts import OPEN
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration, PreTrainedTokenizerFast

#: A word is worth a token from so many times on: one seen less often would stay as it was drawn.
OFTEN = 5
#: From so many whole words on they tell what a word's embedding is like; else all tokens do.
ENOUGH = 100
#: Whole words of the byte-level vocabulary, by their form ("Ġ" is the space before a word).
_WHOLE = re.compile(r"Ġ[a-z]{3,}")
_WORD = re.compile(r"Ġ?[A-Za-z]{2,}")


def new_words(codec: PromptTokenizer, texts: Iterable[str], limit: int) -> list[str]:
    """At most `limit` words that are taken to pieces, the most frequent first, as tokens."""
    split = codec.pretrained.backend_tokenizer.pre_tokenizer
    known = codec.pretrained.get_vocab()
    counted: Counter[str] = Counter()
    for text in texts:
        counted.update(word for word, _ in split.pre_tokenize_str(text))
    torn = [
        (-count, word)
        for word, count in counted.items()
        if count >= OFTEN and word not in known and _WORD.fullmatch(word)
    ]
    return [word for _, word in sorted(torn)[:limit]]


def add_words(
    model: PaliGemmaForConditionalGeneration,
    codec: PromptTokenizer,
    words: list[str],
    settings: TrainingSettings,
) -> PromptTokenizer:
    """The codec with a token for each of `words`; the model's embeddings grow, in place.

    Raises UserError where the tokenizer is not of this project's own kind, and where embeddings
    would not learn.
    """
    if len(codec.special(OPEN)) != 1:
        raise UserError(
            "--new-words is for small critics with a tokenizer of this project's own kind",
            hint="leave it out: a large model can spell",
        )
    if settings.lora.method != "full" or "language" not in settings.model.targets:
        raise UserError(
            "--new-words needs embeddings that learn, and adapters leave them as they are",
            hint="add --method full, with language among --targets; or leave --new-words out",
        )
    if not words:
        return codec
    size = len(codec.pretrained)
    larger = PromptTokenizer(_with_words(codec, words))
    drawn = _like_whole_words(model, codec, len(words), settings.seed)
    model.resize_token_embeddings(vocabulary_size(larger.pretrained), mean_resizing=False)
    model.config.vocab_size = model.config.text_config.vocab_size
    with torch.no_grad():
        table = model.get_input_embeddings().weight
        table[size : size + len(words)] = drawn.to(table.dtype)
    return larger


def _with_words(codec: PromptTokenizer, words: list[str]) -> PreTrainedTokenizerFast:
    """The tokenizer with more words. Tokens that were there keep their ids."""
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory(prefix="new-words-") as folder:
        codec.pretrained.save_pretrained(folder)
        path = Path(folder) / "tokenizer.json"
        state = json.loads(path.read_text(encoding="utf-8"))
        vocabulary = state["model"]["vocab"]
        # what was added behind the vocabulary is counted from its end, unless it is in it
        for token in state["added_tokens"]:
            vocabulary.setdefault(token["content"], token["id"])
        first = len(codec.pretrained)
        vocabulary.update({word: first + number for number, word in enumerate(words)})
        state["model"]["ignore_merges"] = True
        path.write_text(json.dumps(state, ensure_ascii=False), encoding="utf-8")
        larger: PreTrainedTokenizerFast = AutoTokenizer.from_pretrained(folder)
        return larger


def _like_whole_words(
    model: PaliGemmaForConditionalGeneration, codec: PromptTokenizer, count: int, seed: int
) -> torch.Tensor:
    """(count, hidden): draws from a normal distribution with the whole words' two moments."""
    vocabulary = codec.pretrained.get_vocab()
    whole = sorted(number for word, number in vocabulary.items() if _WHOLE.fullmatch(word))
    if len(whole) < ENOUGH:
        whole = list(range(len(codec.pretrained)))
    table = model.get_input_embeddings().weight[whole].detach().float().cpu()
    spread = torch.cov(table.T) + 1e-6 * torch.eye(table.shape[1])
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(count, table.shape[1], generator=generator)
    return table.mean(0) + noise @ torch.linalg.cholesky(spread).T
