"""VELA in the registry of metrics: one perspective of a trained metric."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from revise_captions.errors import UserError
from revise_captions.metrics.protocol import Metric, MetricInput, MetricScore, Needs
from revise_captions.metrics.registry import MetricOptions
from revise_captions.vela.branches import VelaItem
from revise_captions.vela.trained import Vela, load_vela

if TYPE_CHECKING:
    from PIL.Image import Image

_WINDOW = 64


class VelaMetric:
    """One perspective of a `Vela`, or the mean of all for `perspective` ""."""

    def __init__(self, vela: Vela, perspective: str) -> None:
        self.vela, self.perspective = vela, perspective
        self.name = f"vela {perspective}".strip()
        self.settings = {**vela.settings, "perspective": perspective or "mean"}
        branches = vela.branches
        self.needs = frozenset({Needs.IMAGE} if branches.sees else set()) | frozenset(
            {Needs.REFERENCES} if branches.compares else set()
        )

    def on(self, perspective: str) -> VelaMetric:
        """The same metric for another perspective; itself if there is none of that name."""
        known = perspective in self.vela.card.perspectives
        return self if self.perspective or not known else VelaMetric(self.vela, perspective)

    def score(self, items: Sequence[MetricInput]) -> list[MetricScore]:
        found: list[MetricScore] = []
        for start in range(0, len(items), _WINDOW):  # limits the images held at a time
            part = items[start : start + _WINDOW]
            images: dict[str, Image] = {}
            if self.vela.branches.sees:
                sources = {item.image.key: item.image for item in part if item.image is not None}
                images = {key: source.load() for key, source in sources.items()}
            scores = self.vela.score([_item(item, images) for item in part])
            for score in scores:
                values = score.values
                cut = score.cut_prompt + score.cut_pair
                if score.reason:
                    found.append(MetricScore(None, score.reason))
                elif self.perspective:
                    found.append(MetricScore(values[self.perspective], truncated=cut))
                else:
                    mean = sum(values.values()) / len(values)
                    found.append(MetricScore(mean, truncated=cut))
        return found


def _item(item: MetricInput, images: dict[str, Image]) -> VelaItem:
    image = images.get(item.image.key) if item.image is not None else None
    references = tuple(text for text in item.references if text.strip())
    return VelaItem(item.text, references, image)


def load(argument: str, options: MetricOptions) -> Metric:
    """A metric trained by captions train-vela =FOLDER[#PERSPECTIVE], by default the mean of all."""
    folder, _, perspective = argument.partition("#")
    if not folder:
        raise UserError(
            "vela needs a metric's folder", hint="vela=FOLDER, or vela=FOLDER#relevance"
        )
    vela = load_vela(
        Path(folder),
        device=options.placement.device,
        batch_size=options.placement.batch_size or 16,
    )
    if perspective and perspective not in vela.card.perspectives:
        known = ", ".join(vela.card.perspectives)
        raise UserError(f"{folder} scores {known}, not {perspective!r}")
    return VelaMetric(vela, perspective)
