"""The protocol of a judge, which grades how clearly a text describes each component of another.

Ψ in section 3 of POSH. A judge gets all tasks at once, to batch over texts, and grades by
its own means: questions to a language model, or similarity of components.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from revise_captions.graphs.graph import Graph

LEAST, MOST = 1.0, 5.0
#: An object with this score or more counts as present (POSH, section 5).
PRESENT = 2.0


@dataclass(frozen=True, slots=True)
class GradingTask:
    """A text whose components are to be graded.

    Attributes:
        source: Graph of that text.
        targets: Graphs, with their texts, of one or several descriptions of one scene: what any of
            them describes is described.
        precision: The source is the generation, so a low grade is a mistake; otherwise it is a
            reference, and a low grade an omission.
    """

    source: Graph
    targets: tuple[Graph, ...]
    precision: bool


@dataclass(frozen=True, slots=True)
class Grade:
    """How clearly a component is described in the other text.

    Attributes:
        score: From 1 (absent) to 5 (explicit); None exactly where `unscored` says why.
        unscored: Why there is no grade.
        identifier: What the object was called in the text when it was found, or asked about.
    """

    score: float | None
    unscored: str = ""
    identifier: str = ""

    @property
    def present(self) -> bool:
        return self.score is not None and self.score >= PRESENT


class Judge(Protocol):
    """Grades components.

    Attributes:
        settings: Everything that decides a grade, by name.
    """

    @property
    def settings(self) -> Mapping[str, str]: ...

    def grade(self, tasks: Sequence[GradingTask]) -> list[tuple[Grade, ...]]:
        """Grades everything at once, so that the judge can batch over texts.

        Args:
            tasks: Texts and what to look for them in.

        Returns:
            For each task a grade for each of `components(task.source)`, in their order.
        """
        ...
