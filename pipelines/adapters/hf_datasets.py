"""Hugging Face `datasets`: a function for `Dataset.map`.

dataset = dataset.map(MapBatches(critic="Qwen/Qwen3-VL-8B-Instruct"), batched=True)
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from revise_captions.pipelines.adapters.columns import COLUMNS, revised, rows_of
from revise_captions.pipelines.api import BatchReviser


class MapBatches:
    """A batch's new columns: `revised_caption`, `revision` (JSON) and `revision_problem`."""

    def __init__(self, **options: Any) -> None:
        """Options of `revise_captions.revise`. Raises `UserError`, TypeError for unknown ones."""
        self.revise = BatchReviser(**options)

    def __call__(self, batch: Mapping[str, Sequence[Any]]) -> dict[str, list[str]]:
        found = revised(self.revise, rows_of(batch))
        return {name: [row[name] for row in found] for name in COLUMNS}
