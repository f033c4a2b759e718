"""The linear model that weighs evidence, and its file."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

WEIGHTS = Path(__file__).parent / "bundled" / "weights.json"
#: With a language model's log-odds among the evidence.
WITH_LANGUAGE = WEIGHTS.with_name("weights-language.json")


#: As if each caption had this many more sentences of which nothing is known.
UNKNOWN_SENTENCES = 1.5


@dataclass(frozen=True, slots=True)
class EvidenceWeights:
    """A logistic regression on a sentence's evidence, and one on what that says of its caption.

    Attributes:
        weights: By the name in `evidence.NAMES`; what is missing has none.
        bias: The log-odds of a sentence without evidence.
        own: What multiplies a sentence's own log-odds.
        others: What multiplies the mean of the other sentences': captions err in whole.
        shift: What is added to both.
        threshold: P(factual) below which a sentence is nonfactual.
        digest: The first 12 hex digits of the file's SHA-256.
    """

    weights: Mapping[str, float]
    bias: float
    own: float
    others: float
    shift: float
    threshold: float
    digest: str = ""

    def probabilities(
        self, names: Sequence[str], evidence: Sequence[Sequence[float]]
    ) -> list[float]:
        """P(factual) of the sentences of one caption, to four decimals.

        Args:
            names: What the values are.
            evidence: The values of each sentence.
        """
        weights = [self.weights.get(name, 0.0) for name in names]
        odds = [
            self.bias + sum(w * value for w, value in zip(weights, values, strict=True))
            for values in evidence
        ]
        both = [
            self.shift + self.own * one + self.others * other
            for one, other in zip(odds, of_the_others(odds), strict=True)
        ]
        return [round(1 / (1 + math.exp(-max(-30.0, min(30.0, x)))), 4) for x in both]


def of_the_others(odds: Sequence[float]) -> list[float]:
    """For each sentence of a caption, the mean log-odds of the others, drawn toward 0 if few."""
    total = sum(odds)
    return [(total - one) / (len(odds) - 1 + UNKNOWN_SENTENCES) for one in odds]


def read_weights(path: Path = WEIGHTS) -> EvidenceWeights:
    """The weights of a file, by default those that `scripts.research.chart_critic.fit` made."""
    data = path.read_bytes()
    row = json.loads(data)
    return EvidenceWeights(**row, digest=hashlib.sha256(data).hexdigest()[:12])
