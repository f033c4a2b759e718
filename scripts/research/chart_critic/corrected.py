"""Corrected shares of true sentences: a run's, and those of captioners that are left out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from revise_captions.critic.profile import MeasuredSentences
from revise_captions.stats.bootstrap import REPLICATES
from revise_captions.stats.error_correction import (
    CorrectedShare,
    ErrorRates,
    MeasuredShare,
    RevisedParts,
    as_written,
    revised,
    rogan_gladen,
)
from revise_captions.stats.verdict_levels import fitted_levels


def corrected(
    counts: NDArray[np.float64], rates: ErrorRates
) -> tuple[CorrectedShare, CorrectedShare]:
    """Shares of true sentences before and after a run, with intervals over images.

    Args:
        counts: (images, 5): sentences, those called factual, and of those that stand in the end,
            kept, flagged and rewritten ones.
        rates: What is known of the critic.
    """
    images = len(counts)
    rng = np.random.default_rng(0)
    drawn = rng.multinomial(images, np.full(images, 1 / images), REPLICATES) @ counts
    total, said = counts.sum(0), drawn[:, 1] / drawn[:, 0]
    whole = RevisedParts(total[1] / total[0], *total[2:])
    before = as_written(whole.said, said, rates)
    after = revised(whole, RevisedParts(said, *drawn[:, 2:].T), rates)
    assert before is not None
    assert after is not None
    return before, after


def left_out(own: MeasuredSentences, threshold: float) -> str:
    """How near each population of CHOCOLATE's share comes, by what is known of the others."""
    every = own.populations(threshold)
    errors, plain, covered = [], [], 0
    for k, one in enumerate(every):
        others = [*every[:k], *every[k + 1 :]]
        levels, true = fitted_levels(others), (one.kept_true + one.flagged_true) / one.size
        kept, true_of, wrong = (np.array([getattr(o, name) for o in others], dtype=float)
                                for name in ("kept", "kept_true", "flagged_true"))  # fmt: skip
        sizes = np.array([o.size for o in others], dtype=float)
        r = true_of.sum() / (true_of + wrong).sum()
        q = (kept - true_of).sum() / (sizes - true_of - wrong).sum()
        assert levels is not None
        of_kept, of_flagged = levels.true_of(np.array(one.said))
        errors.append(one.said * of_kept + (1 - one.said) * of_flagged - true)
        plain.append(rogan_gladen(np.array(one.said), r, q) - true)
        said = MeasuredShare(one.said, one.size, one.size).draws(k)
        of_kept, of_flagged = levels.drawn(said, k)
        low, high = np.quantile(said * of_kept + (1 - said) * of_flagged, (0.025, 0.975))
        covered += bool(low <= true <= high)
    off, before = (float(np.sqrt(np.mean(np.square(found)))) for found in (errors, plain))
    return (
        f"Captions of each captioner of CHOCOLATE about charts of one source, by what is known of "
        f"the others: off by {off:.3f} (root mean square; by Rogan and Gladen's estimator "
        f"{before:.3f}), covered {covered} of {len(every)}."
    )
