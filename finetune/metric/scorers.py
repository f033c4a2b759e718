"""Scores with gradients, equal to those of the metrics of the same name."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from revise_captions.critic.checkpoints import read_card, save_critic
from revise_captions.critic.gates.image_domain import read_gate
from revise_captions.critic.gates.language import WORDS_FILE, read_vocabulary
from revise_captions.critic.gates.taught_words import TAUGHT_FILE
from revise_captions.critic.locate import critic_folders
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.load import load_model
from revise_captions.critic.paligemma.model import hidden_states, logits_at, tower_output
from revise_captions.critic.paligemma.packing import collate
from revise_captions.critic.paligemma.rows import ScheduledRow
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.critic.paligemma.vision_cache import pixels_of
from revise_captions.critic_metric.metric import CriticMetric
from revise_captions.engines.placement import device_and_dtype
from revise_captions.errors import UserError
from revise_captions.metrics.protocol import Metric, MetricInput
from revise_captions.metrics.similarity import Similarity, similarity
from revise_captions.metrics.towers import load_towers
from revise_captions.pretrained import load_pretrained, without_bars


class TrainableScorer(Protocol):
    """A metric under training.

    Attributes:
        model: The network whose parameters with gradients are trained.
    """

    @property
    def model(self) -> Any: ...

    def scores(self, items: Sequence[MetricInput]) -> torch.Tensor:
        """Scores of shape (items,), with gradients; NaN where there is none."""
        ...

    def metric(self) -> Metric:
        """The model in its current state, as the metric that users load."""
        ...

    def save(self, folder: Path) -> None:
        """Writes the files that the metric loads."""
        ...


class SimilarityScorer:
    """`clipscore`, `blip2` or `contextual-clipscore`; both towers are trained.

    CLIPScore is cut off at 0, but the scores here continue below it, as a constant has no gradient.
    """

    def __init__(self, name: str, source: str, device: str) -> None:
        self.name, self.towers = name, load_towers(source, device=device)
        self.contextual = name == "contextual-clipscore"
        self.model = self.towers.model

    def scores(self, items: Sequence[MetricInput]) -> torch.Tensor:
        """See `TrainableScorer`. Each distinct image and text goes through its tower once."""
        own = self._metric()
        texts = [own.texts_of(item) for item in items]
        distinct = list(dict.fromkeys(text for found in texts for text in found))
        vectors = self.towers.text_features(distinct)
        at = {text: k for k, text in enumerate(distinct)}
        sources = {item.image.key: item.image for item in items if item.image is not None}
        seen = self.towers.image_features([source.load() for source in sources.values()])
        place = {key: k for k, key in enumerate(sources)}
        images = seen[[place[item.image.key] for item in items if item.image is not None]]
        parts = [vectors[[at[found[k]] for found in texts]] for k in range(len(texts[0]))]
        values = similarity(parts[0], images, *parts[1:])
        return 2.5 * values if own.clip else values

    def _metric(self) -> Similarity:
        return Similarity(self.name, self.towers, contextual=self.contextual)

    def metric(self) -> Metric:
        self.towers.forget()
        return self._metric()

    def save(self, folder: Path) -> None:
        with without_bars():
            self.towers.model.save_pretrained(folder)
        self.towers.processor.save_pretrained(folder)


class CriticScorer:
    """`critic` or `contextual-critic` of a PaliGemma 2; its language model is trained.

    The tower is frozen, so that the domain gate, which reads it, stays valid and its output needs
    to be computed only once per image.
    """

    def __init__(self, name: str, source: str, device: str) -> None:
        from transformers import AutoTokenizer

        self.own, self.folder, adapter = critic_folders(source or "bundled")
        if adapter is not None:
            raise UserError(f"{source} is an adapter", hint="merge it: captions finetune --merge")
        self.card = read_card(self.own)
        place, _ = device_and_dtype(device, "float32")
        self.model: Any = load_model(self.folder, torch.float32, None).to(place)
        self.model.model.vision_tower.requires_grad_(False)
        self.critic = PaliGemmaCritic(
            self.model,
            PromptTokenizer(load_pretrained(AutoTokenizer, self.folder)),
            self.card,
            vocabulary=read_vocabulary(self.own),
            gate=read_gate(self.own),
            threshold=self.card.threshold,
            settings={"critic": "in training"},
            batch_size=16,
        )
        self.asks = CriticMetric(self.critic, contextual=name == "contextual-critic")
        self._towers: dict[str, torch.Tensor] = {}

    def scores(self, items: Sequence[MetricInput]) -> torch.Tensor:
        """See `TrainableScorer`."""
        images = {item.image.key: item.image.load() for item in items if item.image is not None}
        requests = [self.asks.request(item, images) for item in items]
        tower = torch.stack([self._tower(item, images) for item in items])
        found: list[list[torch.Tensor]] = [[] for _ in items]
        for rows in self.critic.batches(requests, packed=self.critic.packed):
            for row, p in zip(_repeated(rows), self._p_factual(rows, tower), strict=True):
                found[row.request].append(p)
        none = torch.full((), torch.nan, device=tower.device)
        return torch.stack([torch.stack(own).mean() if own else none for own in found])

    def _tower(self, item: MetricInput, images: dict[str, Any]) -> torch.Tensor:
        assert item.image is not None
        key = item.image.key
        if key not in self._towers:
            with torch.no_grad():
                (pixels,) = pixels_of(self.model, [images[key]])
                self._towers[key] = tower_output(self.model, pixels)[0]
        return self._towers[key]

    def _p_factual(self, rows: Sequence[ScheduledRow], tower: torch.Tensor) -> torch.Tensor:
        """P(Yes) given Yes or No, for each branch of the rows, in order."""
        tokenizer = self.critic.tokenizer
        batch = collate([row.row for row in rows], tokenizer)
        of_row = torch.tensor([row.image for row in rows], device=tower.device)
        hidden = hidden_states(self.model, tower, of_row, batch)
        at = [
            batch.at(r, b, branch.prompt - 1)
            for r, row in enumerate(rows)
            for b, branch in enumerate(row.row.branches)
        ]
        logits = logits_at(self.model, hidden, torch.tensor(at, device=hidden.device))
        return logits[:, [tokenizer.yes, tokenizer.no]].softmax(-1)[:, 0]

    def metric(self) -> Metric:
        self.critic.forget()
        return self.asks

    def save(self, folder: Path) -> None:
        save_critic(self.model, self.critic.tokenizer.pretrained, self.card, folder)
        for name in ("domain.safetensors", WORDS_FILE, TAUGHT_FILE):
            if (self.own / name).is_file():
                shutil.copy(self.own / name, folder / name)


def _repeated(rows: Sequence[ScheduledRow]) -> Iterator[ScheduledRow]:
    """Each row as often as it has branches."""
    for row in rows:
        for _ in row.sentences:
            yield row


SCORERS: dict[str, type[SimilarityScorer] | type[CriticScorer]] = {
    "clipscore": SimilarityScorer,
    "contextual-clipscore": SimilarityScorer,
    "blip2": SimilarityScorer,
    "critic": CriticScorer,
    "contextual-critic": CriticScorer,
}


def load_scorer(given: str, device: str = "auto") -> TrainableScorer:
    """The metric `NAME` or `NAME=MODEL`, to be trained. Raises UserError if it cannot be."""
    name, _, source = given.partition("=")
    if name not in SCORERS:
        raise UserError(
            f"{given} cannot be trained", hint=f"expected one of {', '.join(SCORERS)}, =MODEL"
        )
    return SCORERS[name](name, source, device)
