"""The R2C branch: a text-only language model reads each prompt once and generates nothing.

Its features of a prompt are [mean of the last hidden states; the last token's] (VELA, section 4.1).
"""

from __future__ import annotations

import array
import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from revise_captions.engines.model_files import explained, find_model, named
from revise_captions.engines.placement import device_and_dtype
from revise_captions.engines.transformers.engine import MASKED
from revise_captions.engines.transformers.inputs import PromptEncoder
from revise_captions.errors import EngineDead
from revise_captions.outside_text import encodable
from revise_captions.pretrained import load_pretrained, load_weights
from revise_captions.vela.branches import BranchFeatures
from revise_captions.vela.feature_cache import FeatureCache, Vector, content_key
from revise_captions.vela.pooling import pooled_states
from revise_captions.vela.prompts import ANSWER, VERSION, prompt_for

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)
#: Tokens per forward pass, unless one prompt is longer.
BATCH_TOKENS = 16_384
#: The template for base models, which have no chat template.
_PLAIN = "{% for m in messages %}{{ m.content }}\n{% endfor %}"
#: Types of layers that a mask for each pair of tokens can confine to a tree of tokens.
_MASKED_LAYERS = {"full_attention", "sliding_attention"}
#: Prompts encoded between two writes to the cache.
_WRITTEN = 64


@dataclass(frozen=True, slots=True)
class _Row:
    """A prompt's tokens, and how many of its texts' tokens did not fit."""

    ids: list[int]
    cut: int


class LanguageBranch:
    """A language model as the R2C branch. Made by `load_language`.

    Args:
        model: The model, without its head.
        encoder: Of its prompts.
        settings: Everything that determines a feature, by name.
        max_tokens: The longest prompt; longer ones lose text, but never instructions.
        batch_size: Prompts per forward pass.
    """

    def __init__(
        self,
        model: Any,
        encoder: PromptEncoder,
        settings: Mapping[str, str],
        *,
        max_tokens: int,
        batch_size: int = 16,
    ) -> None:
        self.model, self.encoder, self.settings = model.eval(), encoder, settings
        self.max_tokens, self.batch_size = max_tokens, batch_size
        self.width = 2 * int(model.config.hidden_size)
        kinds = set(getattr(model.config, "layer_types", None) or ())
        self.shares = model.config._attn_implementation in MASKED and kinds <= _MASKED_LAYERS
        self._identity = repr(sorted(settings.items()))
        self._answer = encoder._ids(ANSWER)

    def encode(
        self,
        perspective: str,
        texts: Sequence[tuple[str, Sequence[str]]],
        cache: FeatureCache,
    ) -> list[BranchFeatures]:
        """Features of candidates with their references, in order.

        Raises:
            EngineDead: The device has no memory for a single prompt.
        """
        rows = [self.row(perspective, *text) for text in texts]
        keys = [content_key(self._identity, array.array("I", row.ids).tobytes()) for row in rows]
        known = cache.get(keys)
        missing = {key: row.ids for key, row in zip(keys, rows, strict=True) if key not in known}
        # neighbors share a prefix, so they are computed together
        ordered = sorted(missing.items(), key=lambda item: item[1])
        for start in range(0, len(ordered), _WRITTEN):
            part = dict(ordered[start : start + _WRITTEN])
            new = dict(zip(part, self._computed(list(part.values())), strict=True))
            cache.put(new)
            known |= new
        return [BranchFeatures(known[key], row.cut) for key, row in zip(keys, rows, strict=True)]

    def _computed(self, rows: Sequence[list[int]]) -> list[Vector]:
        import torch

        try:
            with torch.inference_mode():
                return list(self.pooled(rows).cpu().numpy())
        except torch.OutOfMemoryError:
            if len(rows) == 1:
                raise EngineDead(
                    f"not enough memory for a prompt of {len(rows[0]):,} tokens: lower --max-tokens"
                ) from None
        torch.cuda.empty_cache()
        middle = len(rows) // 2
        return self._computed(rows[:middle]) + self._computed(rows[middle:])

    def pooled(self, rows: Sequence[Sequence[int]]) -> torch.Tensor:
        """Features of prompts' tokens, float32 (prompts, width); with gradients in training."""
        pad = self.encoder.tokenizer.pad_token_id
        return pooled_states(
            self.model,
            rows,
            pad=int(pad or 0),
            batch_size=self.batch_size,
            batch_tokens=BATCH_TOKENS,
            share=self.shares and not self.model.training,
        )

    def row(self, perspective: str, candidate: str, references: Sequence[str]) -> _Row:
        """A prompt's tokens. If it is too long, the references lose their ends first."""
        texts = [encodable(text) for text in (*references, candidate)]
        ids = self._ids(perspective, texts[-1], texts[:-1])
        over = len(ids) - self.max_tokens
        if over <= 0:
            return _Row(ids, 0)
        lengths = [len(self.encoder.plain(text)) for text in texts]
        kept = _shares(lengths, over)
        while True:
            shorter = [self._cut(text, n) for text, n in zip(texts, kept, strict=True)]
            ids = self._ids(perspective, shorter[-1], shorter[:-1])
            over = len(ids) - self.max_tokens
            if over <= 0 or not any(kept):
                return _Row(ids, sum(lengths) - sum(kept))
            kept = _shares(kept, over)  # joined pieces may take a few more tokens than counted

    def _ids(self, perspective: str, candidate: str, references: Sequence[str]) -> list[int]:
        (row,) = self.encoder.rows([prompt_for(perspective, candidate, references)])
        return [*row.ids, *self._answer]

    def _cut(self, text: str, tokens: int) -> str:
        ids = self.encoder.plain(text)
        return text if len(ids) <= tokens else str(self.encoder.tokenizer.decode(ids[:tokens]))


def _shares(lengths: Sequence[int], over: int) -> list[int]:
    """Lengths that are shorter by `over` in total: the longest reference is cut first, and the
    candidate, which is last, only when the references are gone."""
    kept = list(lengths)
    while over > 0 and any(kept):
        references = kept[:-1]
        k = references.index(max(references)) if any(references) else len(kept) - 1
        others = sorted(references, reverse=True)[1:2] or [0]
        # down to the next longest reference, then in equal steps
        step = min(over, kept[k], max(kept[k] - others[0], -(-over // max(len(references), 1)), 1))
        kept[k] -= step
        over -= step
    return kept


def load_language(
    name: str,
    *,
    device: str = "auto",
    dtype: str = "auto",
    max_tokens: int = 2048,
    batch_size: int = 16,
    option: str = "--language",
    trusted: bool = False,
) -> LanguageBranch:
    """Loads a language model as the R2C branch.

    Args:
        name: A folder, a hub id, or `smollm2`.
        device: See `ModelSpec`.
        dtype: See `ModelSpec`.
        max_tokens: The longest prompt.
        batch_size: Prompts per forward pass.
        option: The option that gave the name, for messages.
        trusted: Whether code that comes with the model may run.

    Raises:
        UserError: It cannot be loaded.
    """
    import transformers

    began = time.monotonic()
    folder = find_model(name, option)
    place, number = device_and_dtype(device, dtype)
    model, encoder = _loaded(folder, name, trusted, number)
    longest = int(getattr(model.config, "max_position_embeddings", 0) or max_tokens)
    limit = min(max_tokens, longest)
    settings = {
        "language": named(name, folder),
        "dtype": str(number).removeprefix("torch."),
        "transformers": transformers.__version__,
        "prompts": VERSION + (" plain" if encoder.tokenizer.chat_template == _PLAIN else ""),
        "max-tokens": str(limit),
    }
    logger.info("loaded %s in %.1f s: %s", name, time.monotonic() - began, settings)
    return LanguageBranch(
        model.to(place), encoder, settings, max_tokens=limit, batch_size=batch_size
    )


def _loaded(folder: Path, name: str, trusted: bool, number: Any) -> tuple[Any, PromptEncoder]:
    import transformers

    try:
        tokenizer = load_pretrained(transformers.AutoTokenizer, folder, name=name, trusted=trusted)
        model = load_weights(
            transformers.AutoModel, folder, name=name, trusted=trusted, dtype=number
        )
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise explained(name, error, "AutoModel") from error
    tokenizer.chat_template = tokenizer.chat_template or _PLAIN
    return model, PromptEncoder(tokenizer, None, name)
