"""The chart critic's language model, its answers kept in a file for commands that ask again; and
the blocks of pages that have figures with it and without."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from revise_captions.charts import as_json
from revise_captions.critic.charts.critic import ChartCritic
from revise_captions.critic.charts.language import ADAPTER, AskedCaption, ChartLanguage


class KeptAnswers(ChartLanguage):
    """Asks only what the file has no answer to, and adds that to it.

    Args:
        file: JSON lines, or None to keep nothing.
        folder: The adapter: what it answered is known by its digest.
    """

    def __init__(self, file: Path | None, folder: Path = ADAPTER) -> None:
        super().__init__(folder)
        self.file = file
        lines = file.read_text().splitlines() if file is not None and file.exists() else []
        self._known = {row["asked"]: row["odds"] for row in map(json.loads, lines)}
        self._own = self.name

    def log_odds(self, captions: Sequence[AskedCaption]) -> list[list[float]]:
        """As `ChartLanguage.log_odds`."""
        keys = [self._key(one) for one in captions]
        new = {k: one for k, one in zip(keys, captions, strict=True) if k not in self._known}
        answers = dict(zip(new, super().log_odds([*new.values()]), strict=True)) if new else {}
        self._known |= answers
        if self.file is not None:
            with self.file.open("a") as out:
                for key, odds in answers.items():
                    out.write(json.dumps({"asked": key, "odds": odds}) + "\n")
        return [list(self._known[key]) for key in keys]

    def _key(self, one: AskedCaption) -> str:
        asked = [self._own, [as_json(c) for c in one.charts], [*one.lines], [*one.sentences]]
        return hashlib.sha256(json.dumps(asked).encode()).hexdigest()


def block_of(name: str, critic: ChartCritic) -> str:
    """The block of a page that has the figures of this critic, with SmolLM2 or without."""
    return name if critic.language is None else f"{name}-smollm2"
