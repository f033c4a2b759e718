"""New tokens for words that a small critic's tokenizer splits into pieces.

A vocabulary of a thousand tokens splits unknown words: “rocket” becomes five pieces, four of which
“robot” has too. A small language model would first have to learn spelling, and a few hundred
sentences are not enough for that.

The embeddings of new words are drawn from a normal distribution with the mean and covariance of
known whole words. The mean of a word's pieces, the usual initialization, gives similarly spelled
words nearly the same embedding, far from any known word.

Other text is tokenized as before: whole words of the vocabulary take precedence (`ignore_merges`),
and the merges stay unchanged.
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
from revise_captions.io.writing import write_text
from revise_captions.pretrained import load_pretrained

if TYPE_CHECKING:
    from transformers import PaliGemmaForConditionalGeneration, PreTrainedTokenizerFast

#: Least frequency of a new word: with fewer updates, its embedding would stay random.
OFTEN = 5
#: With fewer whole words than this, the moments of all tokens are used.
ENOUGH = 100
#: Whole words of the byte-level vocabulary, by their form ("Ġ" is the space before a word).
_WHOLE = re.compile(r"Ġ[a-z]{3,}")
_WORD = re.compile(r"Ġ?[A-Za-z]{2,}")


def new_words(codec: PromptTokenizer, texts: Iterable[str], limit: int) -> list[str]:
    """At most `limit` words that are split into pieces, as tokens, most frequent first."""
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
    """Adds a token for each word; the model's embeddings grow in place.

    Raises:
        UserError: The tokenizer was not trained by this project, or embeddings are frozen.
    """
    if len(codec.special(OPEN)) != 1:
        raise UserError(
            "--new-words is for small critics with a tokenizer that captions finetune trained",
            hint="leave it out: large models can spell any word",
        )
    if settings.lora.method != "full" or "language" not in settings.model.targets:
        raise UserError(
            "--new-words needs trainable embeddings, and adapters freeze them",
            hint="add --method full, with language in --targets; or leave --new-words out",
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
    """The tokenizer with more words. Existing tokens keep their ids."""
    from transformers import AutoTokenizer

    with tempfile.TemporaryDirectory(prefix="new-words-") as folder:
        codec.pretrained.save_pretrained(folder)
        path = Path(folder) / "tokenizer.json"
        state = json.loads(path.read_text(encoding="utf-8"))
        vocabulary = state["model"]["vocab"]
        # added tokens outside the vocabulary would be renumbered from its end
        for token in state["added_tokens"]:
            vocabulary.setdefault(token["content"], token["id"])
        first = len(codec.pretrained)
        vocabulary.update({word: first + number for number, word in enumerate(words)})
        state["model"]["ignore_merges"] = True
        write_text(path, json.dumps(state, ensure_ascii=False))
        larger: PreTrainedTokenizerFast = load_pretrained(AutoTokenizer, folder)
        return larger


def _like_whole_words(
    model: PaliGemmaForConditionalGeneration, codec: PromptTokenizer, count: int, seed: int
) -> torch.Tensor:
    """(count, hidden) draws from a normal distribution with the moments of known whole words."""
    vocabulary = codec.pretrained.get_vocab()
    whole = sorted(number for word, number in vocabulary.items() if _WHOLE.fullmatch(word))
    if len(whole) < ENOUGH:
        whole = list(range(len(codec.pretrained)))
    table = model.get_input_embeddings().weight[whole].detach().float().cpu()
    spread = torch.cov(table.T) + 1e-6 * torch.eye(table.shape[1])
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(count, table.shape[1], generator=generator)
    return table.mean(0) + noise @ torch.linalg.cholesky(spread).T
