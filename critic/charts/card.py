"""What was measured of the critic of charts, for correcting the shares that it reports.

The file beside the weights holds P(factual) of sentences that people labeled, and of rewrites that
were read beside their charts (`scripts/research/chart_critic/read_rewrites.py` writes it), for the
critic with its language model and without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

MEASURED = Path(__file__).parent / "bundled" / "measured.json"
#: The settings of a critic that have to be those of the card: weights, rules, language model.
DECIDING = ("critic", "prompt", "language")


@dataclass(frozen=True, slots=True)
class ChartCard:
    """What was measured of one critic of charts.

    Attributes:
        critic: Its deciding settings.
        reviser: The settings of the reviser of the rewrites.
        sentences: As `profile.MeasuredSentences.as_json`.
        origin: What they are, in words.
        elsewhere: `origin` and `sentences` of captions of another kind; None where nobody measured
            them. Corrected shares widen their intervals by it.
    """

    critic: Mapping[str, str]
    reviser: Mapping[str, str]
    sentences: Mapping[str, Any]
    origin: str
    elsewhere: Mapping[str, Any] | None = None

    def is_of(self, settings: Mapping[str, str]) -> bool:
        """Whether it is the card of the critic with these settings, asked about sentences alone; in
        what number format its language model computes (`/bfloat16`) hardly changes an answer."""
        return all(
            settings.get(key, "").split("/")[0] == value.split("/")[0]
            for key, value in {"clauses": "", **self.critic}.items()
        )


def read_cards(path: Path = MEASURED) -> tuple[ChartCard, ...]:
    """The cards in a file; () where it is missing."""
    if not path.exists():
        return ()
    return tuple(ChartCard(**row) for row in json.loads(path.read_text(encoding="utf-8")))


def with_card(cards: tuple[ChartCard, ...], card: ChartCard) -> str:
    """The file's text with a card in the place of an older one of as much of a critic."""
    kind = card.critic["language"] == "none"
    kept = [one for one in cards if (one.critic["language"] == "none") is not kind]
    rows = [
        asdict(one)
        for one in sorted([*kept, card], key=lambda one: one.critic["language"] != "none")
    ]
    return json.dumps(rows, separators=(",", ":")) + "\n"
