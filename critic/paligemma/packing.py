"""Packing: a caption and all questions about it as one sequence under a tree mask.

    <image>×N <bos> OPEN S0 " S1" … " Sn-1"     the trunk: image and growing context, once
        └ [white space] ASK Si END [answer]     a branch: one sentence's question, off the trunk

A branch attends to the trunk up to its fork and, causally, to itself, and its positions continue
from the fork, so every token attends to what it would in a separate prompt. The answers are those
of one prompt per sentence, at a fraction of the tokens. This holds for attention modes in which no
token attends to a later one except within the image: `image-prefix` (the image attends to itself in
both directions, text is causal) and `causal`. Under `prefix` (PaliGemma's own: image and prompt all
attend to each other) each branch needs its own row: `unpack`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from revise_captions.critic import prompts
from revise_captions.critic.paligemma.tokenizer import PromptTokenizer
from revise_captions.records import Span

if TYPE_CHECKING:
    import torch

Ints = NDArray[np.int64]


class AttentionMode(StrEnum):
    """Which tokens attend to which. Part of a checkpoint: another mode gives other scores."""

    PREFIX = "prefix"
    IMAGE_PREFIX = "image-prefix"
    CAUSAL = "causal"


@dataclass(frozen=True, slots=True)
class Branch:
    """One sentence's question off a trunk.

    Attributes:
        fork: Text tokens of the trunk that the question follows.
        ids: The question, and the answer if any.
        prompt: Tokens of the question alone.
    """

    fork: int
    ids: tuple[int, ...]
    prompt: int


@dataclass(frozen=True, slots=True)
class PackedRow:
    """One packed sequence: image tokens, the trunk, and the branches one after another.

    Attributes:
        images: Image tokens.
        trunk: Text tokens of the trunk.
        branches: The branches off it.
        block: How many leading positions attend to each other in both directions.
    """

    images: int
    trunk: tuple[int, ...]
    branches: tuple[Branch, ...]
    block: int

    def __len__(self) -> int:
        return self.images + len(self.trunk) + sum(len(branch.ids) for branch in self.branches)

    def starts(self) -> list[int]:
        """Where in the sequence each branch begins."""
        start, starts = self.images + len(self.trunk), []
        for branch in self.branches:
            starts.append(start)
            start += len(branch.ids)
        return starts


@dataclass(frozen=True, slots=True)
class Trunk:
    """The shared context of a caption. `forks[i]`: text tokens before sentence i's white space."""

    ids: tuple[int, ...]
    forks: tuple[int, ...]


def context_trunk(tokenizer: PromptTokenizer, caption: str, spans: Sequence[Span]) -> Trunk:
    """The trunk up to the last sentence's fork; the same pieces as `prompts.context_pieces`."""
    ids = [tokenizer.bos, *tokenizer.special(prompts.OPEN)]
    forks = [len(ids)]
    cuts = [0, *(span.end for span in spans[:-1])]
    for start, end in pairwise(cuts):
        ids += tokenizer.text(caption[start:end])
        forks.append(len(ids))
    return Trunk(tuple(ids), tuple(forks))


def question(
    tokenizer: PromptTokenizer,
    trunk: Trunk,
    caption: str,
    spans: Sequence[Span],
    index: int,
    *,
    rationale: bool = False,
    answer: Sequence[int] = (),
    instead: str | None = None,
) -> Branch:
    """The branch that asks about a sentence.

    Args:
        tokenizer: Of the prompts.
        trunk: The caption's trunk.
        caption: Its text.
        spans: Its sentences, half-open `[start, end)` in code points.
        index: Which of `spans` to ask about.
        rationale: Asks for a rationale instead of Yes or No.
        answer: Ids of an answer to append.
        instead: Text to ask about in place of the sentence.
    """
    previous = spans[index - 1].end if index else 0
    space = caption[previous : spans[index].start]
    ask, end = (
        (prompts.ASK_RATIONALE, prompts.END_RATIONALE)
        if rationale
        else (prompts.ASK_FACTUAL, prompts.END_FACTUAL)
    )
    ids = [
        *(tokenizer.text(space) if space else ()),
        *tokenizer.special(ask),
        *tokenizer.text(spans[index].of(caption) if instead is None else instead),
        *tokenizer.special(end),
    ]
    return Branch(trunk.forks[index], (*ids, *answer), len(ids))


def pack(
    images: int, trunk: Trunk, branches: Sequence[Branch], attention_mode: AttentionMode
) -> PackedRow:
    """One row for all branches, with the trunk cut after the last fork.

    Raises:
        ValueError: The attention mode is prefix, which shares nothing between sentences.
    """
    if attention_mode is AttentionMode.PREFIX:
        raise ValueError("the prefix attention mode shares nothing between sentences: use unpack")
    last = max(branch.fork for branch in branches)
    return PackedRow(
        images,
        trunk.ids[:last],
        tuple(branches),
        images if attention_mode is AttentionMode.IMAGE_PREFIX else 0,
    )


def unpack(
    images: int, trunk: Trunk, branches: Sequence[Branch], attention_mode: AttentionMode
) -> list[PackedRow]:
    """One row per branch, which makes it a plain prompt, in any attention mode."""
    blocks = {AttentionMode.CAUSAL: lambda _: 0, AttentionMode.IMAGE_PREFIX: lambda _: images}
    block = blocks.get(attention_mode, lambda branch: images + branch.fork + branch.prompt)
    return [
        PackedRow(images, trunk.ids[: branch.fork], (branch,), block(branch)) for branch in branches
    ]


@dataclass(frozen=True, slots=True)
class PackedBatch:
    """Rows padded to one length, as arrays of shape (rows, length).

    Attributes:
        ids: Token ids.
        positions: From 1, as PaliGemma counts them.
        segment: 0 for the trunk, 1… for branches, -1 for padding.
        fork: Leading positions that a token's branch shares with the trunk.
        block: `PackedRow.block`, (rows,).
        starts: Where the branches of each row begin.
    """

    ids: Ints
    positions: Ints
    segment: Ints
    fork: Ints
    block: Ints
    starts: tuple[tuple[int, ...], ...]

    def at(self, row: int, branch: int, offset: int) -> int:
        """Flat index, into (rows × length), of token `offset` of a branch."""
        return row * self.ids.shape[1] + self.starts[row][branch] + offset


def collate(
    rows: Sequence[PackedRow], tokenizer: PromptTokenizer, multiple: int = 1
) -> PackedBatch:
    """Pads rows at the end to a multiple of `multiple`; no real token attends to padding."""
    length = -(-max(map(len, rows)) // multiple) * multiple
    shape = (len(rows), length)
    ids, positions = np.full(shape, tokenizer.pad), np.ones(shape, dtype=np.int64)
    segment, fork = np.full(shape, -1), np.zeros(shape, dtype=np.int64)
    starts = []
    for r, row in enumerate(rows):
        shared = row.images + len(row.trunk)
        ids[r, : row.images] = tokenizer.image
        ids[r, row.images : shared] = row.trunk
        positions[r, :shared] = np.arange(1, shared + 1)
        segment[r, :shared] = 0
        starts.append(tuple(row.starts()))
        for b, (branch, start) in enumerate(zip(row.branches, starts[r], strict=True), start=1):
            end, visible = start + len(branch.ids), row.images + branch.fork
            ids[r, start:end] = branch.ids
            positions[r, start:end] = np.arange(visible + 1, visible + 1 + end - start)
            segment[r, start:end], fork[r, start:end] = b, visible
    block = np.array([row.block for row in rows])
    return PackedBatch(ids, positions, segment, fork, block, tuple(starts))


def tree_mask(
    batch: PackedBatch,
    dtype: torch.dtype,
    device: torch.device | str = "cpu",
    window: int | None = None,
) -> torch.Tensor:
    """The additive tree mask of a batch.

    Args:
        batch: The rows.
        dtype: Of the mask.
        device: Of the mask.
        window: How many positions back a token attends, for sliding-window layers.

    Returns:
        (rows, 1, length, length): 0 where query q attends to key k, else the lowest number.
    """
    import torch

    # small integers, as the device compares all pairs; only the vectors are copied to it
    small = torch.int16 if batch.ids.shape[1] < 2**15 else torch.int32

    def there(values: Ints) -> torch.Tensor:
        return torch.from_numpy(values).to(small).to(device)

    segment, fork = there(batch.segment), there(batch.fork)
    index = torch.arange(segment.shape[1], device=device, dtype=small)
    q, k = segment[:, :, None], segment[:, None, :]
    shared = (k == 0) & (index[None, None, :] < fork[:, :, None])
    visible = (index[None, :] <= index[:, None]) & ((q == k) | shared)
    if window is not None:
        position = there(batch.positions)
        visible &= position[:, :, None] - position[:, None, :] < window
    block = index[None, :] < there(batch.block)[:, None]
    visible |= block[:, :, None] & block[:, None, :]
    mask = torch.zeros(visible.shape, dtype=dtype, device=device)
    return mask.masked_fill_(~visible, torch.finfo(dtype).min)[:, None]
