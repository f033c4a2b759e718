"""VELA's I2C branch over a critic of ours, which has an image tower and no text tower.

Three ways to features, chosen by the name; the first two are of a pair (a, b):

- `bundled#late`, as in the paper: a is the mean of the image's tokens as the language model gets
  them, b the mean of its states over the caption alone. Image and text meet in the features only.
- `bundled#early`: a is the state from which the critic answers whether a sentence is true, b the
  same for a blank image, and the features are averaged over the caption's sentences. Here image and
  text meet in the model: a departure from the paper, which fuses late to be fast. P(factual) itself
  is no feature; the states that it is read from are.
- `bundled#verdict`: the critic's verdicts themselves (`verdicts`). P(factual) is a feature,
  and so this is a critic with a trained read-out rather than the paper's branch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from revise_captions.critic.protocol import Critic, JudgeRequest
from revise_captions.critic.states import HiddenStates
from revise_captions.records import Verdict
from revise_captions.text.sentences import split
from revise_captions.vela.branches import BranchFeatures, VelaItem
from revise_captions.vela.feature_cache import FeatureCache, Vector, content_key
from revise_captions.vela.pairs.dual_encoder import image_key, pair_features
from revise_captions.vela.pairs.verdicts import STATISTICS, verdict_features

if TYPE_CHECKING:
    from PIL.Image import Image

WAYS = ("late", "early", "verdict")
_UNJUDGED = "the critic can judge none of its sentences"
#: Captions of one call of the critic.
_TOGETHER = 32


class CriticPair:
    """A `PairEncoder` over a critic. Made by `load_pair`.

    Args:
        critic: The critic.
        states: Of its language model.
        way: One of `WAYS`.
        identity: `name@digest` of the critic.
    """

    sees = True

    def __init__(self, critic: Critic, states: HiddenStates, way: str, identity: str) -> None:
        self.critic, self.states, self.way = critic, states, way
        self.width = 2 * states.width
        self.width += STATISTICS if way == "verdict" else 0
        self.compares = way == "verdict"
        self.settings: Mapping[str, str] = {"pair": identity, "features": way}
        self._key = repr(sorted({**critic.settings, **self.settings}.items()))

    def encode(self, items: Sequence[VelaItem], cache: FeatureCache) -> list[BranchFeatures]:
        """See `PairEncoder`."""
        keys = []
        for item in items:
            assert item.image is not None
            told = item.references if self.compares else ()
            keys.append(content_key(self._key, image_key(item.image), item.candidate, *told))
        known = cache.get(keys)
        missing = {k: i for k, i in zip(keys, items, strict=True) if k not in known}
        for start in range(0, len(missing), _TOGETHER):
            part = list(missing)[start : start + _TOGETHER]
            vectors = self._computed([missing[key] for key in part])
            new = dict(zip(part, vectors, strict=True))
            cache.put(new)
            known |= new
        nothing = np.zeros(self.width, dtype=np.float32)
        return [
            BranchFeatures(nothing, reason=_UNJUDGED)
            if np.isnan(known[key]).any()
            else BranchFeatures(known[key])
            for key in keys
        ]

    def _computed(self, items: Sequence[VelaItem]) -> list[Vector]:
        """A vector of each caption; NaN where the critic can judge none of its sentences."""
        images = [item.image for item in items if item.image is not None]
        if self.way == "late":
            seen = self.states.image_means(images)
            read = self.states.text_means([item.candidate for item in items])
            return [pair_features(a, b) for a, b in zip(seen, read, strict=True)]
        blank = _blank(images[0])
        asked = [(item.candidate, tuple(split(item.candidate))) for item in items]
        nothing = np.full(self.width, np.nan, dtype=np.float32)
        if self.way == "verdict":
            requests = [JudgeRequest(i, *a) for i, a in zip(images, asked, strict=True)]
            return [
                self._verdict(item, request, verdicts)
                for item, request, verdicts in zip(
                    items, requests, self.critic.judge(requests), strict=True
                )
            ]
        shown = self.states.answers(
            [JudgeRequest(i, *a) for i, a in zip(images, asked, strict=True)]
        )
        hidden = self.states.answers([JudgeRequest(blank, *a) for a in asked])
        return [
            pair_features(a, b).mean(0) if len(a) else nothing
            for a, b in zip(shown, hidden, strict=True)
        ]

    def _verdict(
        self, item: VelaItem, request: JudgeRequest, verdicts: Sequence[Verdict]
    ) -> Vector:
        judged = [
            (v.p_factual, span)
            for v, span in zip(verdicts, request.spans, strict=True)
            if v.p_factual is not None
        ]
        if not judged:
            return np.full(self.width, np.nan, dtype=np.float32)
        tokens = [self.states.tokens(" " + span.of(item.candidate)) for _, span in judged]
        reference = max(item.references, key=len)
        return verdict_features([p for p, _ in judged], tokens, self.states.embeddings, reference)


def _blank(like: Image) -> Image:
    from PIL import Image as pillow

    return pillow.new("RGB", like.size, (127, 127, 127))
