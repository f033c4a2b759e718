"""The linear model that weighs evidence, and its file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

WEIGHTS = Path(__file__).parent / "bundled" / "weights.json"


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """A logistic regression on evidence.

    Attributes:
        weights: By the name in `evidence.NAMES`; what is missing has none.
        bias: The log-odds of a sentence without evidence.
        threshold: P(factual) below which a sentence is nonfactual.
        digest: The first 12 hex digits of the file's SHA-256.
    """

    weights: Mapping[str, float]
    bias: float
    threshold: float
    digest: str = ""

    def probability(self, names: Sequence[str], values: Sequence[float]) -> float:
        """P(factual) of a sentence, to four decimals."""
        odds = self.bias + sum(
            self.weights.get(name, 0.0) * value for name, value in zip(names, values, strict=True)
        )
        return round(1 / (1 + math.exp(-max(-30.0, min(30.0, odds)))), 4)


def read_weights(path: Path = WEIGHTS) -> EvidenceWeights:
    """The weights of a file, by default those that `scripts.research.chart_critic.fit` made."""
    data = path.read_bytes()
    row = json.loads(data)
    digest = hashlib.sha256(data).hexdigest()[:12]
    return EvidenceWeights(row["weights"], row["bias"], row["threshold"], digest)
