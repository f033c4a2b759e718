"""The critic's figures, on answers small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.stats.classification import macro_f1
from scripts.research.bundled_models.critic_figures import (
    SentenceScores,
    by_error,
    with_interval,
)
from scripts.research.bundled_models.job_figures import Fate, loop_figures


def test_errors_are_counted_by_kind_and_what_was_not_judged_is_not_found():
    error = np.array(["", "relation", "relation", "count", "relation", "", "count"])
    p = np.array([0.1, 0.1, 0.9, 0.2, np.nan, 0.9, 0.3])
    true, zeros = error == "", np.zeros(7, dtype=bool)
    judged = SentenceScores(p, true, np.arange(7), zeros, zeros, ~zeros, ~zeros, error)
    assert by_error(judged, 0.25) == {"relation": (1 / 3, 3), "count": (0.5, 2)}
    assert list(by_error(judged, 0.25)) == ["relation", "count"]


def test_intervals_are_over_captions():
    """Six sentences of a caption that are judged alike tell no more of other captions than one."""
    rng = np.random.default_rng(0)
    factual, p = rng.random(60) < 0.5, rng.random(60)
    none = np.zeros(60, dtype=bool)
    once = SentenceScores(p, factual, np.arange(60), none, none, none, none, none.astype(str))
    often = SentenceScores(*(np.repeat(getattr(once, name), 6) for name in once.__slots__))
    alone = with_interval(macro_f1, once)
    assert with_interval(macro_f1, often) == pytest.approx(alone)
    assert alone[1] < alone[0] < alone[2]


def fate(before: Truth, after: Truth | None, *, flagged: bool = True) -> Fate:
    return Fate(before, after, flagged, True, after is Truth.TRUE)


def test_what_the_loop_did_is_counted_by_hand():
    """Harm is a true sentence made false. What the oracle cannot read is none, and counts apart."""
    true, false, nothing, unread = Truth.TRUE, Truth.FALSE, Truth.NOTHING, Truth.UNPARSED
    found = loop_figures(
        [
            [fate(true, true, flagged=False), fate(true, false), fate(true, unread)],
            [fate(true, true), fate(true, None)],
            [fate(unread, false), fate(unread, unread), fate(nothing, false)],
            [fate(false, true), fate(false, None), fate(false, unread), fate(false, false)],
        ]
    )
    assert found["true_made_false"] == 1 / 5
    assert found["true_made_unreadable"] == 1 / 5
    assert found["true_kept"] == 2 / 5
    assert (found["wrong"], found["sentences"]) == (4, 12)
    assert found["wrong_that_end_true"] == 2 / 4
    assert found["of_these_deleted"] == 1 / 2
    assert found["factuality_before"] == pytest.approx((1 + 1 + 1 / 3 + 0) / 4)
    assert found["factuality_after"] == pytest.approx((1 / 3 + 1 + 0 + 1 / 3) / 4)
    assert found["table_6"]["flagged"] == 11
    assert found["table_6"]["true_before"] == 7 / 11
    assert found["table_6"]["true_after"] == 2 / 11


def test_a_caption_without_a_sentence_left_has_nothing_right():
    found = loop_figures([[fate(Truth.FALSE, None)], [fate(Truth.TRUE, Truth.TRUE)]])
    assert (found["factuality_before"], found["factuality_after"]) == (0.5, 0.5)
