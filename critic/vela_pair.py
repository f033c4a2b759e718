"""VELA's I2C branch over a critic of ours, which has an image tower and no text tower.

Two ways to a pair (a, b), chosen by the name:

- `bundled#late`, as in the paper: a is the mean of the image's tokens as the language model gets
  them, b the mean of its states over the caption alone. Image and text meet in the features only.
- `bundled#early`: a is the state from which the critic answers whether a sentence is true, b the
  same for a blank image, and the features are averaged over the caption's sentences. Here image and
  text meet in the model: a departure from the paper, which fuses late to be fast. P(factual) itself
  is no feature; the states that it is read from are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from revise_captions.critic.answer_states import (
    answer_states,
    image_means,
    text_means,
)
from revise_captions.critic.load import load_critic
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.errors import UserError
from revise_captions.text.sentences import split
from revise_captions.vela import text_pair
from revise_captions.vela.branches import BranchFeatures, PairEncoder, VelaItem
from revise_captions.vela.dual_encoder import image_key, load_dual_encoder, pair_features
from revise_captions.vela.feature_cache import FeatureCache, Vector, content_key

if TYPE_CHECKING:
    from PIL.Image import Image

WAYS = ("late", "early")
#: Captions of one call of the critic.
_TOGETHER = 32


class CriticPair:
    """A `PairEncoder` over a PaliGemma critic. Made by `load_pair`.

    Args:
        critic: The critic.
        way: One of `WAYS`.
        identity: `name@digest` of the critic.
    """

    sees = True

    def __init__(self, critic: PaliGemmaCritic, way: str, identity: str) -> None:
        self.critic, self.way = critic, way
        self.width = 2 * int(critic.model.config.text_config.hidden_size)
        self.settings: Mapping[str, str] = {"pair": identity, "features": way}
        self._key = repr(sorted({**critic.settings, **self.settings}.items()))

    def encode(self, items: Sequence[VelaItem], cache: FeatureCache) -> list[BranchFeatures]:
        """See `PairEncoder`. A caption with no sentence that the critic can read gives zeros."""
        keys = []
        for item in items:
            assert item.image is not None
            keys.append(content_key(self._key, image_key(item.image), item.candidate))
        known = cache.get(keys)
        missing = {k: i for k, i in zip(keys, items, strict=True) if k not in known}
        for start in range(0, len(missing), _TOGETHER):
            part = list(missing)[start : start + _TOGETHER]
            vectors = self._computed([missing[key] for key in part])
            new = dict(zip(part, vectors, strict=True))
            cache.put(new)
            known |= new
        return [BranchFeatures(known[key]) for key in keys]

    def _computed(self, items: Sequence[VelaItem]) -> list[Vector]:
        images = [item.image for item in items if item.image is not None]
        if self.way == "late":
            seen = image_means(self.critic, images)
            read = text_means(self.critic, [item.candidate for item in items])
            return [pair_features(a, b) for a, b in zip(seen, read, strict=True)]
        blank = _blank(images[0])
        asked = [(item.candidate, tuple(split(item.candidate))) for item in items]
        shown = answer_states(
            self.critic, [JudgeRequest(i, *a) for i, a in zip(images, asked, strict=True)]
        )
        hidden = answer_states(self.critic, [JudgeRequest(blank, *a) for a in asked])
        nothing = np.zeros(self.width, dtype=np.float32)
        return [
            pair_features(a, b).mean(0) if len(a) else nothing
            for a, b in zip(shown, hidden, strict=True)
        ]


def _blank(like: Image) -> Image:
    from PIL import Image as pillow

    return pillow.new("RGB", like.size, (127, 127, 127))


def load_pair(name: str, *, device: str = "auto", dtype: str = "auto") -> PairEncoder:
    """VELA's I2C branch by name.

    Args:
        name: A CLIP-like pair of towers (a folder or hub id); `bundled`, or a critic's folder, with
            `#late` or `#early` behind it; or `minilm`, which compares with references.
        device: See `ModelSpec`.
        dtype: Of a critic, see `ModelSpec`; towers of other pairs compute in float32.

    Raises:
        UserError: It cannot be loaded.
    """
    if name == text_pair.NAME:
        return text_pair.load_text_pair(device)
    place, mark, way = name.partition("#")
    if place != "bundled" and not mark:
        return load_dual_encoder(name, device=device)
    if (way or "early") not in WAYS:
        raise UserError(f"--pair {name}: expected {' or '.join(f'{place}#{w}' for w in WAYS)}")
    critic = load_critic(place, device=device, dtype=dtype)
    if not isinstance(critic, PaliGemmaCritic):
        raise UserError(f"--pair {name} is no PaliGemma critic in this process")
    return CriticPair(critic, way or "early", critic.settings.get("critic", place))
