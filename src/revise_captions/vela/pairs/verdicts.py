"""What a critic's verdicts say of a caption, as features for VELA's linear layer.

The critic judges each sentence. What a caption tells truly is then the sum of its tokens'
embeddings, each weighted by P(factual) of its sentence; divided by the length of the reference, it
is a share, and a linear layer can weigh kinds of words. The same sum over distinct tokens does not
reward repetition. Beside them stands the distribution of P(factual) over the sentences.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float32]
#: Slopes and offsets of the sigmoids that P(factual) is spread over, on the scale of logits.
_SLOPES, _OFFSETS = (0.5, 1.0, 2.0, 4.0), (-2.0, 0.0, 2.0)
_SPREAD = len(_SLOPES) * len(_OFFSETS)
#: Features beside the two sums of embeddings.
STATISTICS = 3 * _SPREAD + 8
_PART = re.compile(r"[,.;]")


def verdict_features(
    p: npt.ArrayLike, tokens: Sequence[Sequence[int]], embeddings: Floats, reference: str
) -> Floats:
    """Features of one caption.

    Args:
        p: P(factual) of each sentence that was judged, at least one.
        tokens: Token ids of each of them.
        embeddings: The token embeddings, (vocabulary, hidden).
        reference: The reference caption, of which only the length counts.

    Returns:
        (2 × hidden + `STATISTICS`,).
    """
    shares = np.asarray(p, dtype=np.float64)
    parts = max(1, len(_PART.findall(reference)))
    words = max(1, len(reference.split()))
    best: dict[int, float] = {}
    for share, ids in zip(shares, tokens, strict=True):
        for token in ids:
            best[token] = max(best.get(token, 0.0), float(share))
    told = sum(s * embeddings[list(ids)].sum(0) for s, ids in zip(shares, tokens, strict=True))
    distinct = np.array(list(best.values())) @ embeddings[list(best)]
    spread = _spread(shares)
    true_tokens = float(shares @ np.array([len(ids) for ids in tokens]))
    numbers = [np.log(shares.sum() + 0.1), len(shares), shares.min()]
    lengths = [np.log(parts), 1 / parts, np.log(words)]
    ratios = [np.log(true_tokens / parts + 0.05), np.log(shares.sum() / parts + 0.005)]
    sums = spread.sum(0)
    return np.concatenate(
        [
            np.asarray(told) / parts,
            distinct / parts,
            *(spread.mean(0), sums, sums / parts),
            *(numbers, lengths, ratios),
        ]
    ).astype(np.float32)


def _spread(p: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """P through sigmoids of several slopes: (sentences, 12). Their sums are any smooth function."""
    clipped = np.clip(p, 1e-4, 1 - 1e-4)
    logits = np.log(clipped / (1 - clipped))
    slopes, offsets = (grid.ravel() for grid in np.meshgrid(_SLOPES, _OFFSETS))
    return np.asarray(1 / (1 + np.exp(-(logits[:, None] * slopes + offsets))))
