"""A stand-in for the I2C branch without an image: sentence embeddings of references and candidate.

For use without a CLIP at hand. The candidate is compared with the nearest reference, by the same
[|a − b|, a ⊙ b].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from revise_captions.text.sentence_encoder import SentenceEncoder, load_encoder
from revise_captions.vela.branches import BranchFeatures, VelaItem
from revise_captions.vela.feature_cache import FeatureCache
from revise_captions.vela.pairs.dual_encoder import pair_features

#: Its name.
NAME = "minilm"


class TextPair:
    """A `PairEncoder` over texts only. Made by `load_text_pair`."""

    sees, compares = False, True

    def __init__(self, encoder: SentenceEncoder) -> None:
        self.encoder = encoder
        self.width = 2 * int(encoder.model.config.hidden_size)

    @property
    def settings(self) -> Mapping[str, str]:
        return {"pair": self.encoder.settings["encoder"], "features": "nearest reference"}

    def encode(self, items: Sequence[VelaItem], cache: FeatureCache) -> list[BranchFeatures]:
        """See `PairEncoder`. The encoder has a cache of its own, so `cache` is not used."""
        texts = [text for item in items for text in (item.candidate, *item.references)]
        vectors = iter(self.encoder(texts))
        found = []
        for item in items:
            candidate = next(vectors)
            references = np.stack([next(vectors) for _ in item.references])
            nearest = references[int((references @ candidate).argmax())]
            cut = self.encoder.left_out(item.candidate)
            found.append(BranchFeatures(pair_features(nearest, candidate), cut))
        return found


def load_text_pair(device: str = "auto") -> TextPair:
    """The stand-in over all-MiniLM-L6-v2.

    Raises:
        UserError: The sentence encoder cannot be loaded.
    """
    return TextPair(load_encoder(device="cpu" if device == "auto" else device))
