"""The I2C branch over a CLIP-like pair of towers: CLIP, Long-CLIP, SigLIP.

Long-CLIP is a `CLIPModel` with 248 text positions. The checkpoint's positions determine how much of
a caption is read, not the tokenizer's limit, which is often still CLIP's 77. Tokens that do not fit
are counted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from revise_captions.metrics.towers import Towers, load_towers
from revise_captions.vela.branches import BranchFeatures, VelaItem
from revise_captions.vela.feature_cache import FeatureCache, Vector, content_key

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image


def pair_features(a: Vector, b: Vector) -> Vector:
    """[|a − b|, a ⊙ b] along the last dimension (VELA, section 4.2)."""
    return np.concatenate([np.abs(a - b), a * b], axis=-1).astype(np.float32)


def image_key(image: Image) -> bytes:
    """The content of an image: its size and pixels."""
    return content_key(repr(image.size), image.tobytes())


class DualEncoder:
    """A `PairEncoder` over two towers. Made by `load_dual_encoder`."""

    sees, compares = True, False

    def __init__(self, towers: Towers) -> None:
        self.towers = towers
        positions = getattr(towers.model.config.text_config, "max_position_embeddings", 0)
        towers.limit = int(positions or towers.limit)
        settings = {**towers.settings, "features": f"{towers.limit} positions"}
        settings["pair"] = settings.pop("towers")
        self.settings: Mapping[str, str] = settings
        self._key = repr(sorted(settings.items()))
        self.width = 2 * len(self._text_vectors(["a"])[0])

    def encode(self, items: Sequence[VelaItem], cache: FeatureCache) -> list[BranchFeatures]:
        """See `PairEncoder`. Each distinct image and text goes through its tower once."""
        images: dict[bytes, Image] = {}
        texts: dict[bytes, str] = {}
        keys = []
        for item in items:
            assert item.image is not None
            seen = content_key(self._key, "image", image_key(item.image))
            read = content_key(self._key, "text", item.candidate)
            images[seen], texts[read] = item.image, item.candidate
            keys.append((seen, read))
        a = self._known(images, cache, self._image_vectors)
        b = self._known(texts, cache, self._text_vectors)
        return [
            BranchFeatures(pair_features(a[seen], b[read]), self.towers.left_out(item.candidate))
            for (seen, read), item in zip(keys, items, strict=True)
        ]

    def _known(
        self,
        content: Mapping[bytes, Any],
        cache: FeatureCache,
        compute: Callable[[list[Any]], list[Vector]],
    ) -> dict[bytes, Vector]:
        known = cache.get(list(content))
        missing = [key for key in content if key not in known]
        size = self.towers.batch_size
        for start in range(0, len(missing), size):
            part = missing[start : start + size]
            new = dict(zip(part, compute([content[key] for key in part]), strict=True))
            cache.put(new)
            known |= new
        return known

    def _image_vectors(self, images: list[Image]) -> list[Vector]:
        import torch

        with torch.inference_mode():
            return _rows(self.towers.image_features(images)[:, 0])

    def _text_vectors(self, texts: list[str]) -> list[Vector]:
        import torch

        with torch.inference_mode():
            return _rows(self.towers.text_features(texts))


def _rows(vectors: torch.Tensor) -> list[Vector]:
    return list(vectors.float().cpu().numpy())


def load_dual_encoder(name: str, *, device: str = "auto", batch_size: int = 16) -> DualEncoder:
    """Loads a CLIP-like pair of towers by folder or hub id.

    Raises:
        UserError: It cannot be loaded, or is not such a pair.
    """
    return DualEncoder(load_towers(name, device=device, batch_size=batch_size))
