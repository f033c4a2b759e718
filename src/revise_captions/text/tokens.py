"""Token ids of untrusted text, never of special tokens; and small tokenizers of our own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from revise_captions.outside_text import encodable

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer
    from transformers import PreTrainedTokenizerBase, PreTrainedTokenizerFast

#: One word, digit, or run of punctuation or white space at a time, with its leading space.
_WORDS = r" ?\p{L}+| ?[^\s\p{L}\p{N}]+|\p{N}|\s+(?!\S)|\s+"
#: Words in capitals are spelled out, as signs show words never seen in training.
_CAPITALS = r"\p{Lu}(?=\p{Lu})|(?<=\p{Lu})\p{Lu}"


def train_bytes(
    texts: Iterable[str], special: Sequence[str], vocab_size: int, min_frequency: int = 0
) -> Tokenizer:
    """A byte-level BPE tokenizer on `texts`: every byte is covered, so any text round-trips.

    `vocab_size` bounds the vocabulary, the `special` tokens and 256 bytes included;
    `min_frequency` is how often two pieces must be adjacent to be merged.
    """
    from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_WORDS), "isolated"),
            pre_tokenizers.Split(Regex(_CAPITALS), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        special_tokens=[AddedToken(text, special=True, normalized=False) for text in special],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


class PlainText:
    """Encodes texts with the special tokens switched off, so that nothing in them becomes one."""

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        from tokenizers import Tokenizer

        self._backend = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._backend.encode_special_tokens = True

    def encoded(self, text: str) -> Encoding:
        """The ids of a text, with their offsets in it."""
        return self._backend.encode(encodable(text), add_special_tokens=False)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of texts, each encoded on its own."""
        encodings = self._backend.encode_batch_fast(
            list(map(encodable, texts)), add_special_tokens=False
        )
        return [encoding.ids for encoding in encodings]


def plain_ids(tokenizer: PreTrainedTokenizerBase, added: re.Pattern[str], text: str) -> list[int]:
    """Ids of untrusted text from any transformers tokenizer, never of an added token.

    The text is split inside whatever `added` matches as an added token, and each part is encoded
    on its own without special tokens.
    """
    parts, start = [], 0
    while found := added.search(text, start):
        parts.append(text[start : found.start() + 1])
        start = found.start() + 1
    encoded = [
        tokenizer(encodable(part), add_special_tokens=False, split_special_tokens=True)["input_ids"]
        for part in (*parts, text[start:])
    ]
    return [one for ids in encoded for one in ids]
