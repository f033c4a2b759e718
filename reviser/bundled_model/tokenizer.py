"""The bundled reviser's tokenizer, and how a request becomes token ids.

    <context> …last words before it <sentence> … <rationale> … (<failed> …)* <rewrite>

The answer is the rewrite and `<eos>`, or `<delete><eos>`. Each text between the tags is encoded on
its own without special tokens, so that no caption can close a tag or order a deletion.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.text.tokens import PlainText, train_bytes

if TYPE_CHECKING:
    from tokenizers import Tokenizer
    from transformers import PreTrainedTokenizerFast

VERSION = "edit/1"
PAD, EOS = "<pad>", "<eos>"
CONTEXT, SENTENCE, RATIONALE = "<context>", "<sentence>", "<rationale>"
FAILED, REWRITE, DELETE = "<failed>", "<rewrite>", "<delete>"
SPECIAL = (PAD, EOS, CONTEXT, SENTENCE, RATIONALE, FAILED, REWRITE, DELETE)
#: Length limits of the parts in training, in tokens. The context keeps its last tokens, failed
#: rewrites the latest; a request with a longer sentence or rationale is refused.
CONTEXT_TOKENS = 32
SENTENCE_TOKENS = 96
RATIONALE_TOKENS = 128
FAILED_TRIES = 3
LONGEST = 640


def train_tokenizer(texts: Iterable[str], vocab_size: int) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer on `texts`: every byte is covered, so any text round-trips.

    `vocab_size` bounds the vocabulary, the tags and 256 bytes included.
    """
    return as_transformers(train_bytes(texts, SPECIAL, vocab_size, min_frequency=2))


def as_transformers(tokenizer: Tokenizer) -> PreTrainedTokenizerFast:
    """The tokenizer in the form that transformers saves and loads."""
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
        texts: Ids of user texts, each encoded on its own: nothing in them becomes a tag.
        tag: Id of each of `SPECIAL`.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerFast) -> None:
        self.pretrained = tokenizer
        self.texts = PlainText(tokenizer).ids
        vocabulary = tokenizer.get_vocab()
        self.tag: dict[str, int] = {tag: vocabulary[tag] for tag in SPECIAL}
        self.pad, self.eos = self.tag[PAD], self.tag[EOS]

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
        return decoded(self.pretrained, body, self.tag.values()) or None


def decoded(
    tokenizer: PreTrainedTokenizerFast, ids: Sequence[int], stray: Iterable[int]
) -> str | None:
    """The text of ids; None if they hold one of `stray`, or bytes that are not text."""
    if set(ids) & set(stray):
        return None
    text: str = tokenizer.backend_tokenizer.decode(list(ids), skip_special_tokens=False).strip()
    return None if "\ufffd" in text else text
