"""Similarity of image and description, with or without the context.

    clipscore              2.5 · max(d·i, 0) for CLIP, with texts after “A photo depicts” (Hessel et
                           al. 2021, section 3); for other towers d·i of the unchanged text
    blip2                  the highest d·i over BLIP-2's query tokens (Li et al. 2023)
    contextual-clipscore   d·c + d·n(i − c) (ContextRef, section 3.2), for any of these towers

d, i, c: unit-length features of description, image and context; n normalizes a vector to length 1.
Without n the context would cancel out: d·c + d·(i − c) = d·i.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from revise_captions.metrics.protocol import ImageSource, Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions, scored_alone
from revise_captions.metrics.towers import Towers, load_towers
from revise_captions.records import Span

if TYPE_CHECKING:
    import torch


class Similarity:
    """Cosine of image and description (`clipscore`, `blip2`), or the same in context."""

    threshold: float | None = None

    def __init__(self, name: str, towers: Towers, *, contextual: bool = False) -> None:
        self.name, self.towers, self.contextual = name, towers, contextual
        self.clip = towers.kind == "clip" and not contextual
        formula = "d·c + d·n(i − c)" if contextual else "2.5 · max(d·i, 0)" if self.clip else "d·i"
        self.settings = {"metric": formula, **towers.settings}
        self.needs = frozenset({Needs.IMAGE, *([Needs.CONTEXT] if contextual else [])})

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        values = self.values(items).tolist()
        found = [2.5 * max(value, 0.0) if self.clip else value for value in values]
        return [
            MetricScore(value, truncated=sum(map(self.towers.left_out, self.texts_of(item))))
            for value, item in zip(found, items, strict=True)
        ]

    def score_parts(
        self, items: Sequence[MetricInput], spans: Sequence[Sequence[Span]]
    ) -> list[list[MetricScore]]:
        """Scores each part as a separate text."""
        return scored_alone(self, items, spans)

    def texts_of(self, item: MetricInput) -> list[str]:
        """What the text tower reads: the description, and the context if it counts."""
        text = f"A photo depicts {item.text}" if self.clip else item.text
        return [text, *([item.context] if self.contextual else [])]

    def values(self, items: Sequence[MetricInput]) -> torch.Tensor:
        """Similarities, of shape (items,)."""
        sources: list[ImageSource] = [item.image for item in items if item.image is not None]
        texts = [self.texts_of(item) for item in items]
        images = self.towers.images(sources)
        descriptions = self.towers.texts([own[0] for own in texts])
        if not self.contextual:
            return similarity(descriptions, images)
        return similarity(descriptions, images, self.towers.texts([own[1] for own in texts]))


def similarity(
    descriptions: torch.Tensor, images: torch.Tensor, contexts: torch.Tensor | None = None
) -> torch.Tensor:
    """The formulas at the top of this module.

    Args:
        descriptions: (n, dimensions), of unit length, like the others.
        images: (n, vectors of an image, dimensions).
        contexts: (n, dimensions), if they count.

    Returns:
        Similarities, of shape (n,): the highest over an image's vectors.
    """
    import torch

    if contexts is None:
        return torch.einsum("nd,nvd->nv", descriptions, images).amax(1)
    added = torch.nn.functional.normalize(images - contexts[:, None], dim=-1)
    seen = torch.einsum("nd,nvd->nv", descriptions, added).amax(1)
    return (descriptions * contexts).sum(-1) + seen


def _load(name: str, model: str, options: MetricOptions, *, contextual: bool = False) -> Metric:
    where = options.placement
    towers = load_towers(model, device=where.device, batch_size=where.batch_size or 16)
    return Similarity(name, towers, contextual=contextual)


def load_clipscore(argument: str, options: MetricOptions) -> Metric:
    """CLIPScore, or the cosine of SigLIP and other pairs of towers =MODEL."""
    return _load("clipscore", argument, options)


def load_blip2(argument: str, options: MetricOptions) -> Metric:
    """BLIP-2's similarity of image and text =MODEL."""
    return _load("blip2", argument, options)


def load_contextual(argument: str, options: MetricOptions) -> Metric:
    """CLIPScore in context, for CLIP, SigLIP or BLIP-2 =MODEL."""
    return _load("contextual-clipscore", argument, options, contextual=True)
