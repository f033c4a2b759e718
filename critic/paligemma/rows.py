"""Which of a caption's questions share a row of a forward pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from revise_captions.critic.paligemma.packing import Branch, PackedRow

#: A caption is packed into several rows if the text of one would be longer than this.
ROW_TOKENS = 1536


@dataclass(frozen=True, slots=True)
class ScheduledRow:
    """A packed row, and where its verdicts belong.

    Attributes:
        row: Its tokens.
        image: Index into `VisionFeatures.tower`.
        request: Index of the judge request.
        sentences: Each branch's index among the texts that the request asks about.
    """

    row: PackedRow
    image: int
    request: int
    sentences: tuple[int, ...]

    def halves(self) -> list[ScheduledRow]:
        """The branches split over two rows; none if there is only one branch."""
        middle = len(self.sentences) // 2
        return [
            replace(
                self,
                row=replace(
                    self.row,
                    trunk=self.row.trunk[: max(branch.fork for branch in self.row.branches[part])],
                    branches=self.row.branches[part],
                ),
                sentences=self.sentences[part],
            )
            for part in (slice(0, middle), slice(middle, None))
            if middle
        ]


def row_groups(asked: Sequence[tuple[int, Branch]]) -> list[list[tuple[int, Branch]]]:
    """A caption's branches, with their indexes, in as few rows as `ROW_TOKENS` allows."""
    groups: list[list[tuple[int, Branch]]] = []
    tokens = 0
    for index, branch in asked:
        if not groups or branch.fork + tokens + len(branch.ids) > ROW_TOKENS:
            groups.append([])
            tokens = 0
        groups[-1].append((index, branch))
        tokens += len(branch.ids)
    return groups
