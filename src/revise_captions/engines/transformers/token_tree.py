"""Prompts with a common beginning as one tree of tokens, which computes what they share once.

The sentences of a caption are asked about with the same image and a growing context. A causal model
gives a token the same hidden state whatever comes after it, so these prompts can share a sequence:
it has every token once, each seeing only the tokens before it in its own prompt, at the position it
has there. Tokens are compared, not text: if the tokenizer merges the end of a context with what
follows, the prompts diverge a token earlier and no answer changes.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from revise_captions.engines.transformers.inputs import EncodedPrompt, stacked

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import torch

#: Most tokens of a tree: its attention mask grows with their square.
LARGEST = 4096
#: Model types in which an image's tokens attend to each other in both directions.
BOTH_WAYS = frozenset({"gemma3"})


@dataclass(frozen=True, slots=True)
class TokenTree:
    """Prompts as a tree; a token's index is higher than its parent's.

    Attributes:
        ids: One token id per node.
        parents: The preceding node, -1 for the first.
        leaves: For each prompt, the node of its last token.
        kinds: Per-token inputs, one value per node.
        first: One of the prompts, which all have the same pictures.
    """

    ids: list[int]
    parents: list[int]
    leaves: list[int]
    kinds: Mapping[str, list[int]]
    first: EncodedPrompt

    def __len__(self) -> int:
        return len(self.ids)

    def depths(self) -> list[int]:
        """How many tokens precede each node in its prompt."""
        depths: list[int] = []
        for parent in self.parents:
            depths.append(depths[parent] + 1 if parent >= 0 else 0)
        return depths

    def paths(self) -> list[list[int]]:
        """The nodes of each prompt, in order."""
        found = []
        for leaf in self.leaves:
            path = [leaf]
            while (parent := self.parents[path[-1]]) >= 0:
                path.append(parent)
            found.append(path[::-1])
        return found

    def visible(self, *, both_ways: bool) -> npt.NDArray[np.bool_]:
        """What each node attends to: itself and all before it in its prompt.

        Args:
            both_ways: Whether tokens of one image attend to each other in both directions.

        Returns:
            Shape (nodes, nodes); the row attends to the column.
        """
        import numpy as np

        seen = np.zeros((len(self), len(self)), dtype=np.bool_)
        for node, parent in enumerate(self.parents):
            if parent >= 0:
                seen[node, : parent + 1] = seen[parent, : parent + 1]
            seen[node, node] = True
        if both_ways:
            for start, end in self._images():
                seen[start:end, start:end] = True
        return seen

    def within(self, window: int | None, *, both_ways: bool) -> npt.NDArray[np.bool_]:
        """Which nodes are less than `window` tokens apart, or in one image if `both_ways`; of shape
        (nodes, nodes), and all true without a window.
        """
        import numpy as np

        depths = np.asarray(self.depths())
        near = depths[:, None] - depths[None] < (window or len(self) + 1)
        if both_ways:
            for start, end in self._images():
                near[start:end, start:end] = True
        return near

    def spread(self, positions: torch.Tensor) -> torch.Tensor:
        """Positions of all nodes from those of the first prompt's tokens, of shape (axes, tokens).

        Prompts diverge after their pictures, in text, where every axis rises by one per token.
        """
        import torch

        spread = torch.zeros((len(positions), len(self)), dtype=torch.long)
        for node, parent in enumerate(self.parents):
            if node < positions.shape[1]:
                spread[:, node] = positions[:, node]
            else:
                spread[:, node] = spread[:, parent] + 1
        return spread

    def _images(self) -> Iterable[tuple[int, int]]:
        """Half-open runs of image tokens. They are in the part that all prompts share."""
        kinds = self.kinds.get("token_type_ids", [])
        start = None
        for node, kind in enumerate([*kinds, 0]):
            if kind == 1 and start is None:
                start = node
            elif kind != 1 and start is not None:
                yield start, node
                start = None


def grow(rows: Sequence[EncodedPrompt]) -> TokenTree:
    """The tree of prompts with the same pictures."""
    children: dict[tuple[int, int], int] = {}
    ids: list[int] = []
    parents: list[int] = []
    leaves: list[int] = []
    kinds: dict[str, list[int]] = {name: [] for name in rows[0].kinds}
    for row in rows:
        node = -1
        for place, token in enumerate(row.ids):
            found = children.get((node, token))
            if found is None:
                found = children[node, token] = len(ids)
                ids.append(token)
                parents.append(node)
                for name, values in kinds.items():
                    values.append(row.kinds[name][place])
            node = found
        leaves.append(node)
    return TokenTree(ids, parents, leaves, kinds, rows[0])


def groups(rows: Sequence[EncodedPrompt]) -> list[list[int]]:
    """The indices of each tree's rows, with the same pictures and at most `LARGEST` tokens.

    A row without pictures is on its own.
    """
    by_pictures: dict[int, list[int]] = {}
    for index, row in enumerate(rows):
        by_pictures.setdefault(id(row.pictures) if row.pictures else -1 - index, []).append(index)
    found: list[list[int]] = []
    for members in by_pictures.values():
        size = LARGEST
        for before, index in zip([None, *members], members, strict=False):
            shared = 0 if before is None else common(rows[before].ids, rows[index].ids)
            size += len(rows[index]) - shared
            if size > LARGEST:
                found.append([])
                size = len(rows[index])
            found[-1].append(index)
    return found


def common(one: Sequence[int], two: Sequence[int]) -> int:
    """How many tokens two prompts share at the beginning."""
    pairs = enumerate(zip(one, two, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(two)))


def tree_inputs(model: Any, trees: Sequence[TokenTree], pad: int) -> dict[str, Any]:
    """Inputs of a batch of trees, one per row, for a transformers model.

    Returns:
        As `collate` gives for prompts, but with an additive attention mask of shape (trees, 1,
        width, width), one per type of layer if the model has several, and positions.
    """
    import numpy as np
    import torch

    width = max(map(len, trees))
    text = model.config.get_text_config()
    types = set(getattr(text, "layer_types", None) or ())
    window = getattr(text, "sliding_window", None)
    both_ways = model.config.model_type in BOTH_WAYS
    full = np.zeros((len(trees), width, width), dtype=np.bool_)
    near = np.zeros_like(full)
    inputs: dict[str, Any] = {"input_ids": torch.full((len(trees), width), pad)}
    for name in trees[0].kinds:
        inputs[name] = torch.zeros((len(trees), width), dtype=torch.long)
    for k, tree in enumerate(trees):
        size = len(tree)
        full[k] = near[k] = np.eye(width, dtype=np.bool_)  # padding has to attend to something
        full[k, :size, :size] = tree.visible(both_ways=both_ways)
        near[k, :size, :size] = full[k, :size, :size] & tree.within(window, both_ways=both_ways)
        inputs["input_ids"][k, :size] = torch.tensor(tree.ids)
        for name, values in tree.kinds.items():
            inputs[name][k, :size] = torch.tensor(values)
    for name in trees[0].first.pictures:
        inputs[name] = stacked([tree.first.pictures[name] for tree in trees])
    if "sliding_attention" in types:
        inputs["attention_mask"] = {
            "full_attention": _additive(full, model.dtype),
            "sliding_attention": _additive(near, model.dtype),
        }
    else:
        inputs["attention_mask"] = _additive(near if window else full, model.dtype)
    inputs["position_ids"] = _positions(model, trees, width)
    return inputs


def _additive(seen: npt.NDArray[np.bool_], dtype: torch.dtype) -> torch.Tensor:
    import torch

    mask = torch.zeros((len(seen), 1, *seen.shape[1:]), dtype=dtype)
    return mask.masked_fill_(~torch.from_numpy(seen)[:, None], torch.finfo(dtype).min)


def _positions(model: Any, trees: Sequence[TokenTree], width: int) -> torch.Tensor:
    """Positions of shape (trees, width), or (3, trees, width) for multimodal rotary embeddings."""
    import torch

    index = getattr(getattr(model, "model", None), "get_rope_index", None)
    positions = torch.zeros((3 if index else 1, len(trees), width), dtype=torch.long)
    for k, tree in enumerate(trees):
        if index is None:
            positions[0, k, : len(tree)] = torch.tensor(tree.depths())
            continue
        row = tree.first
        known = inspect.signature(index).parameters
        kinds = {name: torch.tensor([kind]) for name, kind in row.kinds.items() if name in known}
        pictures = {name: value for name, value in row.pictures.items() if name in known}
        found, _ = index(input_ids=torch.tensor([row.ids]), **kinds, **pictures)
        positions[:, k, : len(tree)] = tree.spread(found[:, 0])
    return positions if index else positions[0]
