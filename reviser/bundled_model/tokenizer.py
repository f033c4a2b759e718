"""The bundled reviser's tokenizer, and how a request becomes token ids.

    <context> …last words before it <sentence> … <rationale> … (<failed> …)* <rewrite>

The answer is the rewrite and `<eos>`, or `<delete><eos>`. The pieces between the tags are encoded
one by one without special tokens, so that no caption can close a tag or order a deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from revise_captions.outside_text import encodable
from revise_captions.reviser.protocol import RewriteRequest

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

VERSION = "edit/1"
PAD, EOS = "<pad>", "<eos>"
CONTEXT, SENTENCE, RATIONALE = "<context>", "<sentence>", "<rationale>"
FAILED, REWRITE, DELETE = "<failed>", "<rewrite>", "<delete>"
SPECIAL = (PAD, EOS, CONTEXT, SENTENCE, RATIONALE, FAILED, REWRITE, DELETE)
#: The longest parts of its training, in tokens. The context is trimmed to its end, failed rewrites
#: to the latest; a request with a longer sentence or rationale is refused.
CONTEXT_TOKENS = 32
SENTENCE_TOKENS = 96
RATIONALE_TOKENS = 128
FAILED_TRIES = 3
LONGEST = 640
#: One word, digit, run of punctuation or of white space at a time, the space leading.
_WORDS = r" ?\p{L}+| ?[^\s\p{L}\p{N}]+|\p{N}|\s+(?!\S)|\s+"
#: Words in capitals are spelled out, so that the text of any sign can be copied.
_CAPITALS = r"\p{Lu}(?=\p{Lu})|(?<=\p{Lu})\p{Lu}"


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer on `texts`: every byte is covered, so any text round-trips.

    `vocab_size` bounds the vocabulary, the tags and 256 bytes included.
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
        min_frequency=2,
        special_tokens=[AddedToken(tag, special=True, normalized=False) for tag in SPECIAL],
        initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return as_transformers(tokenizer)


def as_transformers(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer as transformers saves and loads it."""
    from transformers import PreTrainedTokenizerFast

    wrap: Callable[..., PreTrainedTokenizerFast] = PreTrainedTokenizerFast
    return wrap(
        tokenizer_object=tokenizer,
        pad_token=PAD,
        eos_token=EOS,
        clean_up_tokenization_spaces=False,
        model_max_length=LONGEST,
    )


class RewriteTokenizer:
    """Requests to ids, and ids to text.

    Attributes:
        pretrained: transformers' tokenizer.
        tag: Id of each of `SPECIAL`.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        from tokenizers import Tokenizer

        self.pretrained = tokenizer
        self._plain = Tokenizer.from_str(tokenizer.backend_tokenizer.to_str())
        self._plain.encode_special_tokens = True
        vocabulary = tokenizer.get_vocab()
        self.tag: dict[str, int] = {tag: vocabulary[tag] for tag in SPECIAL}
        self.pad, self.eos = self.tag[PAD], self.tag[EOS]

    def texts(self, texts: Sequence[str]) -> list[list[int]]:
        """Ids of user texts, each encoded on its own: nothing in them becomes a tag."""
        encodings = self._plain.encode_batch_fast(
            list(map(encodable, texts)), add_special_tokens=False
        )
        return [encoding.ids for encoding in encodings]

    def prompts(self, requests: Sequence[RewriteRequest]) -> list[list[int] | None]:
        """Ids up to and including `<rewrite>`; None for requests over the model's limits."""
        pieces: list[str] = []
        for request in requests:
            failed = request.failed[-FAILED_TRIES:]
            context = request.context[-8 * CONTEXT_TOKENS :]
            pieces += [context, request.sentence, request.rationale, *failed]
        encoded = iter(self.texts(pieces))
        prompts: list[list[int] | None] = []
        for request in requests:
            before, sentence, rationale = next(encoded), next(encoded), next(encoded)
            tried = [next(encoded) for _ in request.failed[-FAILED_TRIES:]]
            if len(sentence) > SENTENCE_TOKENS or len(rationale) > RATIONALE_TOKENS:
                prompts.append(None)
                continue
            prompt = [self.tag[CONTEXT], *before[-CONTEXT_TOKENS:]]
            prompt += [self.tag[SENTENCE], *sentence, self.tag[RATIONALE], *rationale]
            for ids in tried:
                prompt += [self.tag[FAILED], *ids[:SENTENCE_TOKENS]]
            prompts.append([*prompt, self.tag[REWRITE]])
        return prompts

    def answer(self, rewrite: str, ids: Sequence[int] | None = None) -> list[int]:
        """The answer to train on: the rewrite's ids (encoded unless given) and `<eos>`."""
        if not rewrite:
            return [self.tag[DELETE], self.eos]
        return [*(self.texts([rewrite])[0] if ids is None else ids), self.eos]

    def decode(self, ids: Sequence[int]) -> str | None:
        """The rewrite in generated ids: "" for a deletion, None where the answer is unusable.

        Unusable are answers without `<eos>`, with a stray tag, or with bytes that are not text.
        """
        if self.eos not in ids:
            return None
        body = list(ids[: list(ids).index(self.eos)])
        if body == [self.tag[DELETE]]:
            return ""
        if set(body) & set(self.tag.values()):
            return None
        text: str = self.pretrained.backend_tokenizer.decode(
            body, skip_special_tokens=False
        ).strip()
        return None if not text or "\ufffd" in text else text
