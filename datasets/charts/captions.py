"""Captions of tables in the style of people and captioners, with each sentence's truth."""

from __future__ import annotations

import random
from dataclasses import dataclass

from revise_captions.chart_world.shares import shares
from revise_captions.chart_world.statements import ChartStatement
from revise_captions.chart_world.tables import Table
from revise_captions.chart_world.trends import EVERY_MAKER, overview

#: CHOCOLATE's types of error, with how often each is tried.
ERRORS = (
    ("value", 4.0), ("label", 4.0), ("trend", 1.5), ("magnitude", 0.7), ("ooc", 2.5),
    ("nonsense", 1.8),
)  # fmt: skip
_LINKS = (
    ("In addition, ", 0.3), ("Meanwhile, ", 0.3), ("By contrast, ", 0.4), ("In comparison, ", 0.2),
    ("Overall, ", 0.3), ("According to the chart, ", 0.4), ("Notably, ", 0.3), ("However, ", 0.3),
    ("Interestingly, ", 0.2), ("The chart shows that ", 0.4), ("It can be seen that ", 0.2),
    ("Looking at the data, ", 0.2), ("On the other hand, ", 0.2), ("Furthermore, ", 0.2),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class ChartCaption:
    """A caption of a table.

    Attributes:
        table: What the chart shows.
        statements: Its sentences in order.
    """

    table: Table
    statements: tuple[ChartStatement, ...]

    @property
    def text(self) -> str:
        """The sentences, joined by spaces."""
        return " ".join(s.text for s in self.statements)


def sample_caption(rng: random.Random, table: Table) -> ChartCaption:
    """A caption of one to nine sentences.

    Its error rate is drawn first, in the same way for long and short captions, so that neither
    length nor wording shows what is wrong.
    """
    count = rng.choice((1, 2, 2, 3, 3, 4, 5, 5, 6, 7, 9))
    rate = rng.betavariate(1.1, 1.3)
    made: list[ChartStatement] = []
    if rng.random() < 0.5:
        first = overview(rng, table, "label" if rng.random() < rate * 0.6 else None)
        made += [first] if first else []
    while len(made) < count:
        error = _error(rng) if rng.random() < rate else None
        statement = _statement(rng, table, error)
        said = {s.text.split(" ", 3)[-1] for s in made}
        if statement is None or statement.text.split(" ", 3)[-1] in said:
            continue
        made.append(_linked(rng, statement) if made and rng.random() < 0.3 else statement)
    return ChartCaption(table, tuple(made))


def _error(rng: random.Random) -> str:
    return rng.choices([e for e, _ in ERRORS], [w for _, w in ERRORS])[0]


def _statement(rng: random.Random, table: Table, error: str | None) -> ChartStatement | None:
    """A statement with this error, from a maker drawn by weight; None if none makes it."""
    order = [*EVERY_MAKER, *([(shares, 5.0)] if table.kind == "pie" else [])]
    while order:
        at = rng.choices(range(len(order)), [weight for _, weight in order])[0]
        made = order.pop(at)[0](rng, table, error)
        if made is not None:
            return made
    return None


def _linked(rng: random.Random, statement: ChartStatement) -> ChartStatement:
    """The statement with a linking phrase before it."""
    link = rng.choices([link for link, _ in _LINKS], [w for _, w in _LINKS])[0]

    def joined(text: str) -> str:
        keep = text[:2].isupper() or not text.startswith(_LOWERED)
        return link + (text if keep else text[0].lower() + text[1:]) if text else ""

    return ChartStatement(
        joined(statement.text), statement.error, statement.rationale, joined(statement.rewrite),
        statement.cells,
    )  # fmt: skip


#: Openings that lose their capital after a linking phrase; names keep theirs.
_LOWERED = ("The ", "In ", "Among ", "For ", "About ", "Nearly ", "Values ", "With ", "There ")
