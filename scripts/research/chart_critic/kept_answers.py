"""The chart critic's language model, its answers kept in a file for commands that ask again."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from revise_captions.charts import Chart, as_json
from revise_captions.critic.charts.language import ADAPTER, ChartLanguage


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

    def log_odds(
        self, charts: Sequence[Chart], lines: Sequence[str], sentences: Sequence[str]
    ) -> list[float]:
        """As `ChartLanguage.log_odds`."""
        asked = [self._own, [as_json(chart) for chart in charts], [*lines], [*sentences]]
        key = hashlib.sha256(json.dumps(asked).encode()).hexdigest()
        if key not in self._known:
            self._known[key] = super().log_odds(charts, lines, sentences)
            if self.file is not None:
                with self.file.open("a") as out:
                    out.write(json.dumps({"asked": key, "odds": self._known[key]}) + "\n")
        return list(self._known[key])
