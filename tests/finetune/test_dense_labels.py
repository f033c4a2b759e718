"""The tower's head that asks for places."""

from __future__ import annotations

import torch

from revise_captions.finetune.models.dense_labels import Heads, patch_positions


def test_places_are_rows_then_columns_from_one_edge_to_the_other():
    assert patch_positions(4).tolist() == [[-1, -1], [-1, 1], [1, -1], [1, 1]]
    assert patch_positions(9)[5].tolist() == [0, 1]


def test_features_without_columns_cost_what_columns_vary_by():
    """Nothing is labelled, so the labels' loss goes to zero: what is left is the places'."""
    torch.manual_seed(0)
    labels = torch.zeros(2, 16, 1, dtype=torch.long)
    place = patch_positions(16).expand(2, 16, 2)
    left = {}
    for name, shown in (("both", place), ("rows", place * torch.tensor([1.0, 0.0]))):
        heads = Heads(2, (3,))
        optimizer = torch.optim.LBFGS(heads.parameters(), max_iter=300)

        def loss(heads: Heads = heads, shown: torch.Tensor = shown) -> torch.Tensor:
            heads.zero_grad()
            found = heads(shown, labels)[0]
            found.backward()
            return found

        optimizer.step(loss)
        left[name] = float(heads(shown, labels)[0].detach())
    variance = float(place[..., 1].square().mean())
    assert left["both"] < 0.01
    assert abs(left["rows"] - variance / 2) < 0.01  # the mean over rows and columns
