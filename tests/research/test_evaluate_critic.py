"""The critic's figures, on answers small enough to count by hand."""

from __future__ import annotations

import numpy as np

from scripts.research.bundled_models.critic_figures import SentenceScores, by_error


def test_errors_are_counted_by_kind_and_what_was_not_judged_is_not_found():
    error = np.array(["", "relation", "relation", "count", "relation", "", "count"])
    p = np.array([0.1, 0.1, 0.9, 0.2, np.nan, 0.9, 0.3])
    true, zeros = error == "", np.zeros(7, dtype=bool)
    judged = SentenceScores(p, true, np.arange(7), zeros, zeros, ~zeros, ~zeros, error)
    assert by_error(judged, 0.25) == {"relation": (1 / 3, 3), "count": (0.5, 2)}
    assert list(by_error(judged, 0.25)) == ["relation", "count"]
