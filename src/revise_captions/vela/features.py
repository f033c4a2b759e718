"""Both branches together: captions to the features that the linear layer reads.

Either branch may be off (Table 2's ablation), and the prompt may be reference-free (Table 7).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from revise_captions.vela.branches import PairEncoder, VelaItem
from revise_captions.vela.feature_cache import FeatureCache
from revise_captions.vela.head import Floats, stacked
from revise_captions.vela.language import LanguageBranch


@dataclass(frozen=True, slots=True)
class Computed:
    """Features of captions.

    Attributes:
        features: float32 (captions, perspectives, width).
        cut_prompt: For each caption, how many tokens its longest prompt lost.
        cut_pair: For each caption, how many tokens the text tower lost.
    """

    features: Floats
    cut_prompt: tuple[int, ...]
    cut_pair: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Branches:
    """The branches of a metric; one of them may be None.

    Attributes:
        language: The R2C branch.
        pair: The I2C branch.
        perspectives: Names of the scores.
        references: Whether the prompts hold references.
    """

    language: LanguageBranch | None
    pair: PairEncoder | None
    perspectives: tuple[str, ...]
    references: bool = True

    @property
    def width(self) -> int:
        """Length of a feature vector."""
        return (self.language.width if self.language else 0) + (self.pair.width if self.pair else 0)

    @property
    def sees(self) -> bool:
        """Whether captions need their images."""
        return self.pair is not None and self.pair.sees

    @property
    def compares(self) -> bool:
        """Whether captions need references."""
        reads = self.language is not None and self.references
        return reads or (self.pair is not None and self.pair.compares)

    def problem(self, item: VelaItem) -> str:
        """Why a caption cannot be scored; "" if it can."""
        if not item.candidate.strip():
            return "the caption is empty"
        if self.sees and item.image is None:
            return "there is no image"
        if self.compares and not item.references:
            return "there is no reference; a metric trained without references needs none"
        return ""

    def compute(self, items: Sequence[VelaItem], cache: FeatureCache) -> Computed:
        """Features of captions that have no `problem`."""
        r2c, i2c = None, None
        cut_prompt, cut_pair = [0] * len(items), [0] * len(items)
        if self.language is not None:
            texts = [(i.candidate, i.references if self.references else ()) for i in items]
            r2c = []
            for perspective in self.perspectives:
                encoded = self.language.encode(perspective, texts, cache)
                r2c.append(np.stack([one.vector for one in encoded]))
                cut_prompt = [max(n, e.cut) for n, e in zip(cut_prompt, encoded, strict=True)]
        if self.pair is not None:
            pairs = self.pair.encode(items, cache)
            i2c = np.stack([one.vector for one in pairs])
            cut_pair = [one.cut for one in pairs]
        features = stacked(r2c, i2c, len(self.perspectives))
        return Computed(features, tuple(cut_prompt), tuple(cut_pair))
