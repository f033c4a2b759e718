"""Token cost: how many tokens the language model computes to judge a set of captions.

    minimum   image, context and questions, each token once
    packed    one row per caption: the answer's tokens behind each question come on top
    single    one prompt per sentence: image and context are computed for each

`padded` counts what the batches compute, `tokens` the same without padding. The vision tower is
left out: it runs once per image in either layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.packing import PackedRow
from revise_captions.critic.protocol import JudgeRequest


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of all rows, without padding and with it."""

    tokens: int
    padded: int


@dataclass(frozen=True, slots=True)
class TokenCost:
    """Tokens by layout. `sentences` counts those that the model is asked about."""

    captions: int
    sentences: int
    minimum: int
    packed: TokenCount
    single: TokenCount

    @property
    def ratio(self) -> float:
        """How many times fewer tokens packing computes, padding included."""
        return self.single.padded / self.packed.padded

    def figures(self) -> dict[str, float]:
        """Tokens per caption, and the ratio, for a benchmark's JSON."""
        each = {
            "minimum": self.minimum,
            "packed": self.packed.tokens,
            "packed_padded": self.packed.padded,
            "per_sentence": self.single.tokens,
            "per_sentence_padded": self.single.padded,
        }
        found = {f"tokens_{name}": round(n / self.captions, 1) for name, n in each.items()}
        return {**found, "token_ratio": round(self.ratio, 3)}


def token_cost(critic: PaliGemmaCritic, requests: Sequence[JudgeRequest]) -> TokenCost:
    """What judging these captions costs, in the batches that the critic makes.

    Raises:
        ValueError: The critic's attention mode is prefix, which shares nothing between sentences.
    """
    packed = [[row.row for row in rows] for rows in critic.batches(requests, packed=True)]
    single = [[row.row for row in rows] for rows in critic.batches(requests, packed=False)]
    rows = [row for batch in packed for row in batch]
    return TokenCost(
        len(requests),
        sum(len(row.branches) for row in rows),
        sum(_needed(row) for row in rows),
        _layout(packed),
        _layout(single),
    )


def _needed(row: PackedRow) -> int:
    return row.images + len(row.trunk) + sum(branch.prompt for branch in row.branches)


def _layout(batches: Sequence[Sequence[PackedRow]]) -> TokenCount:
    return TokenCount(
        sum(len(row) for batch in batches for row in batch),
        sum(len(batch) * max(map(len, batch)) for batch in batches),
    )
