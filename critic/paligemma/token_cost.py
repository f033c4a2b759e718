"""The token bill: how many tokens of the language model a set of captions costs.

    minimum   image, context and questions, every token that is needed once
    packed    what one row per caption computes: the answer tokens behind each question come on top
    single    what one prompt per sentence computes: image and context again and again

`padded` counts what the batches compute, `tokens` the same without padding. The tower's patches are
not in it: it runs once per image in either layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from revise_captions.critic.paligemma.critic import LocalCritic
from revise_captions.critic.paligemma.packing import PackedRow
from revise_captions.critic.protocol import JudgeRequest


@dataclass(frozen=True, slots=True)
class TokenCount:
    """Tokens of all rows, and with their padding."""

    tokens: int
    padded: int


@dataclass(frozen=True, slots=True)
class TokenCost:
    """For so many captions and sentences (only those that are asked about count)."""

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


def token_cost(critic: LocalCritic, paragraphs: Sequence[JudgeRequest]) -> TokenCost:
    """What judging these captions costs, in batches as the critic makes them.

    Raises ValueError for a critic in the prefix attention mode, which shares nothing between
    sentences.
    """
    packed = [[job.row for job in jobs] for jobs in critic.batches(paragraphs, packed=True)]
    single = [[job.row for job in jobs] for jobs in critic.batches(paragraphs, packed=False)]
    rows = [row for batch in packed for row in batch]
    return TokenCost(
        len(paragraphs),
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
