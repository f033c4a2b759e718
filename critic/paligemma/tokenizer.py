"""Tokens: the bundled critic's own tokenizer, and how prompt pieces become token ids.

Pieces are encoded one by one, never as concatenated text. A template piece is a single token of our
own tokenizer (plus a plain `"\\n"` if it ends in one, which vLLM's PaliGemma insists on); a
tokenizer without those tokens encodes it as ordinary text. User text is always encoded with the
special tokens switched off, so `</TARGET>` or `<image>` in a caption remains plain bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from revise_captions.critic import prompts
from revise_captions.critic.prompts import Piece, Special
from revise_captions.text.tokens import PlainText, train_bytes

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast

#: Asks for a dense description of the image: only a training task, to teach the tower to see.
DESCRIBE = "describe the image\n"
TEMPLATES = (
    prompts.OPEN,
    prompts.ASK_FACTUAL,
    prompts.END_FACTUAL,
    prompts.ASK_RATIONALE,
    prompts.END_RATIONALE,
    DESCRIBE,
)
PAD, EOS, BOS, IMAGE, NEWLINE = "<pad>", "<eos>", "<bos>", "<image>", "\n"
#: The most characters of a text whose ids are cached, and the most texts cached.
SHORT, REMEMBERED = 300, 20_000
#: PaliGemma's processor appends this many tokens (`<loc…>`, `<seg…>`) to any tokenizer it loads.
PROCESSOR_TOKENS = 1152


def train_tokenizer(texts: Iterable[str], vocab_size: int = 2048) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer on `texts` with the critic's template pieces as single tokens.

    `vocab_size` bounds the learned vocabulary, special tokens included. Every byte is covered, so
    any text round-trips. `Yes` and `No` are guaranteed to be single tokens.
    """
    from tokenizers import AddedToken
    from transformers import PreTrainedTokenizerFast

    def corpus() -> Iterable[str]:
        yield from texts
        yield from [prompts.YES, prompts.NO, prompts.YES + prompts.NOTHING] * 10_000

    special = [PAD, EOS, BOS, IMAGE, *(text.rstrip("\n") for text in TEMPLATES)]
    tokenizer = train_bytes(corpus(), special, vocab_size - 1)
    tokenizer.add_tokens([AddedToken(NEWLINE, special=False, normalized=False)])
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        bos_token=BOS,
        extra_special_tokens={"image_token": IMAGE},
        clean_up_tokenization_spaces=False,
        model_max_length=4096,
    )


def vocabulary_size(tokenizer: PreTrainedTokenizerFast) -> int:
    """Embedding rows of a small critic: all tokens, the processor's too, rounded up to 64s."""
    return -(-(len(tokenizer) + PROCESSOR_TOKENS) // 64) * 64


class PromptTokenizer:
    """Prompt pieces to ids, and ids to text.

    Attributes:
        pretrained: transformers' tokenizer.
        answer_yes: Ids of Yes; likewise `answer_no`, and `answer_nothing` of “, nothing to assess”.
        yes: The first of them; likewise `no` and `nothing`.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        from tokenizers import Tokenizer

        self.pretrained = tokenizer
        self._template = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._plain = PlainText(tokenizer)
        self.bos, self.eos = int(tokenizer.bos_token_id), int(tokenizer.eos_token_id)
        self.pad = int(tokenizer.pad_token_id)
        self.image = int(tokenizer.convert_tokens_to_ids(IMAGE))
        self.special = lru_cache(maxsize=64)(self._special)
        self._short = lru_cache(maxsize=REMEMBERED)(self._text)
        self.answer_yes, self.answer_no = self.special(prompts.YES), self.special(prompts.NO)
        self.answer_nothing = self.special(prompts.NOTHING)
        self.yes, self.no, self.nothing = (
            self.answer_yes[0],
            self.answer_no[0],
            self.answer_nothing[0],
        )

    def _special(self, text: str) -> tuple[int, ...]:
        return tuple(self._template.encode(text, add_special_tokens=False).ids)

    def _text(self, text: str) -> tuple[int, ...]:
        return tuple(self._plain.encoded(text).ids)

    def text(self, text: str) -> tuple[int, ...]:
        """Ids of user text: nothing in it can become a special token.

        Short texts are cached: a sentence is judged, explained, and judged again after a rewrite,
        and white space is nearly always one space.
        """
        return self._short(text) if len(text) <= SHORT else self._text(text)

    def forget(self) -> None:
        """Empties the cache of texts."""
        self._short.cache_clear()

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Half-open character spans of `text(…)`'s tokens, a leading space included."""
        spans: list[tuple[int, int]] = self._plain.encoded(text).offsets
        return spans

    def pieces(self, pieces: Iterable[Piece]) -> list[int]:
        """Ids of prompt pieces, each encoded on its own."""
        ids: list[int] = []
        for piece in pieces:
            ids += self.special(piece.text) if isinstance(piece, Special) else self.text(piece.text)
        return ids

    def decode(self, ids: Sequence[int]) -> str:
        """Text of generated ids, without special tokens."""
        text: str = self._template.decode(list(ids), skip_special_tokens=True)
        return text
