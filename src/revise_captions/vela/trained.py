"""A trained VELA metric: takes captions, gives a score for each perspective."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from revise_captions.engines.model_files import digest
from revise_captions.errors import UserError
from revise_captions.pretrained import with_adapter
from revise_captions.vela import card as cards
from revise_captions.vela.branches import PairEncoder, VelaItem
from revise_captions.vela.card import Backbone, VelaCard
from revise_captions.vela.feature_cache import FeatureCache
from revise_captions.vela.features import Branches
from revise_captions.vela.head import LinearHead
from revise_captions.vela.language import LanguageBranch, load_language
from revise_captions.vela.pairs.load import load_pair

logger = logging.getLogger(__name__)
_IDENTITY = ("language", "pair", "prompts", "max-tokens", "features")


@dataclass(frozen=True, slots=True)
class VelaScore:
    """The scores of one caption.

    Attributes:
        values: By perspective, in (0, 1); {} if it could not be scored.
        reason: Why not.
        cut_prompt: How many tokens did not fit into the language model's prompt.
        cut_pair: How many tokens did not fit into the text tower.
    """

    values: Mapping[str, float]
    reason: str = ""
    cut_prompt: int = 0
    cut_pair: int = 0


class Vela:
    """A trained metric. Made by `load_vela`.

    Args:
        card: Its card.
        head: Its linear layer.
        branches: Its backbones.
        cache: Keeps features.
        digest: Of its card and weights.
    """

    def __init__(
        self,
        card: VelaCard,
        head: LinearHead,
        branches: Branches,
        cache: FeatureCache,
        digest: str,
    ) -> None:
        self.card, self.head, self.branches, self.cache = card, head, branches, cache
        self.settings = {"metric": f"vela@{digest}", "references": str(card.references).lower()}
        for branch in (branches.language, branches.pair):
            self.settings |= dict(branch.settings) if branch is not None else {}

    def score(self, items: Sequence[VelaItem]) -> list[VelaScore]:
        """Scores captions, in order; those that cannot be scored have a reason."""
        problems = [self.branches.problem(item) for item in items]
        fine = [item for item, problem in zip(items, problems, strict=True) if not problem]
        if not fine:
            return [VelaScore({}, problem) for problem in problems]
        computed = self.branches.compute(fine, self.cache)
        values = self.head.scores(computed.features)
        cuts = zip(computed.cut_prompt, computed.cut_pair, strict=True)
        found = iter(zip(values.tolist(), cuts, strict=True))
        scores = []
        for problem in problems:
            if problem:
                scores.append(VelaScore({}, problem))
                continue
            row, (prompt, pair) = next(found)
            named = dict(zip(self.card.perspectives, row, strict=True))
            scores.append(VelaScore(named, "", prompt, pair))
        return scores


def load_vela(
    folder: Path,
    *,
    language: str = "",
    pair: str = "",
    device: str = "auto",
    batch_size: int = 16,
    cache: FeatureCache | None = None,
) -> Vela:
    """Loads a metric with its backbones.

    Args:
        folder: Written by `captions train-vela`.
        language: Current location of the language model; "": the card's.
        pair: Current location of the pair of towers; "": the card's.
        device: See `ModelSpec`.
        batch_size: Prompts per forward pass.
        cache: Keeps features; None: in memory.

    Raises:
        UserError: It cannot be loaded, or a backbone differs from the one that it was trained with.
    """
    card, tensors = cards.load(folder)
    branch: LanguageBranch | None = None
    if card.language is not None:
        branch = load_language(
            language or card.language.name,
            device=device,
            dtype=card.language.settings.get("dtype", "auto"),
            max_tokens=int(card.language.settings.get("max-tokens", 2048)),
            batch_size=batch_size,
        )
        _require_same(card.language, branch.settings, "--language")
        if card.adapter:
            branch = adapted(branch, folder)
    towers: PairEncoder | None = None
    if card.pair is not None:
        towers = load_pair(pair or card.pair.name, device=device)
        _require_same(card.pair, towers.settings, "--pair")
    branches = Branches(branch, towers, card.perspectives, card.references)
    head = LinearHead(len(card.perspectives), branches.width)
    if tensors["weight"].shape != head.weight.shape:
        raise UserError(f"{folder}: its weights do not fit the backbones that its card names")
    head.load(tensors)
    kept = cache if cache is not None else FeatureCache()
    return Vela(card, head, branches, kept, digest(folder))


def adapted(branch: LanguageBranch, folder: Path) -> LanguageBranch:
    """The branch with a metric folder's LoRA adapter; its features are cached separately."""
    place = folder / cards.ADAPTER
    model = with_adapter(branch.model, place)
    settings = {**branch.settings, "adapter": digest(place)}
    return LanguageBranch(
        model,
        branch.encoder,
        settings,
        max_tokens=branch.max_tokens,
        batch_size=branch.batch_size,
    )


def _require_same(expected: Backbone, found: Mapping[str, str], option: str) -> None:
    """Raises `UserError` if the model is a different one; warns if only versions differ."""
    for key, value in expected.settings.items():
        own = found.get(key, "")
        if own == value:
            continue
        if key in _IDENTITY and own.rpartition("@")[2] != value.rpartition("@")[2]:
            raise UserError(
                f"the metric was trained with {key} {value}, but this is {own or 'none'}",
                hint=f"name the model it was trained with by {option}",
            )
        if key not in _IDENTITY:
            logger.warning("trained with %s %s, now %s: scores may differ", key, value, own)
