"""Ray Data: a class for `map_batches`, of which each actor makes its own.

dataset = dataset.map_batches(
    ReviseActor, fn_constructor_kwargs={"critic": "Qwen/Qwen3-VL-8B-Instruct"},
    compute=ActorPoolStrategy(size=4), num_gpus=1, batch_size=64,
)
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from revise_captions.pipelines.adapters.columns import COLUMNS, revised, rows_of
from revise_captions.pipelines.api import BatchReviser

Batch = dict[str, npt.NDArray[Any]]


class ReviseActor:
    """Adds `revised_caption`, `revision` (JSON) and `revision_problem` to batches of arrays.

    An image may be what `ray.data.read_images` gives: uint8 of shape (height, width, 3).
    """

    def __init__(self, **options: Any) -> None:
        """Options of `revise_captions.revise`. Raises `UserError`, TypeError for unknown ones."""
        self.revise = BatchReviser(**options)

    def __call__(self, batch: Batch) -> Batch:
        rows = [{name: _plain(value) for name, value in row.items()} for row in rows_of(batch)]
        found = revised(self.revise, rows)
        added = {name: np.array([row[name] for row in found], dtype=object) for name in COLUMNS}
        return {**batch, **added}


def _plain(value: Any) -> Any:
    """A value as it was before Ray made an array of it; images stay arrays."""
    if isinstance(value, np.generic) or (isinstance(value, np.ndarray) and value.ndim < 2):
        return value.tolist()
    return value
