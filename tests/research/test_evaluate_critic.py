"""The critic's figures, on answers small enough to count by hand."""

from __future__ import annotations

import numpy as np
import pytest

from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.pipelines.job.rounds import LoadedModels, RevisionSettings
from revise_captions.reviser.load import load_reviser
from revise_captions.stats.classification import macro_f1
from revise_captions.stats.error_correction import ErrorRates, MeasuredShare
from scripts.research.bundled_models.critic_figures import (
    SentenceScores,
    by_error,
    with_interval,
)
from scripts.research.bundled_models.job_figures import (
    Fate,
    OracleCritic,
    drafts,
    loop_figures,
    told_shares,
)
from scripts.research.calibration.labeled_run import measured
from scripts.research.frame.held_out import held_out


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


def test_every_share_of_the_loop_has_an_interval_that_is_no_point():
    sure = [[fate(Truth.TRUE, Truth.TRUE), fate(Truth.FALSE, None)]] * 9
    left = [[fate(Truth.TRUE, Truth.FALSE), fate(Truth.FALSE, Truth.FALSE, flagged=False)] * 2]
    left += [[fate(Truth.TRUE, Truth.TRUE)]]
    found = loop_figures([*sure, *left])
    shares = {**found, **found["table_6"]}
    for name, (low, high) in found["intervals"].items():
        assert low <= shares[name] <= high, name
        assert low < high, name
    assert set(found["intervals"]) | {"sentences", "wrong", "flagged", "table_6", "intervals"} == {
        *found,
        *found["table_6"],
    }


def test_what_a_run_tells_stands_beside_what_is_true():
    """Of a critic without errors: it sees what is true, and correcting it changes nothing."""
    items = held_out("test", 12, first=7_100_000)
    models = LoadedModels(OracleCritic.of(items), load_reviser("drop"), "")
    done = list(drafts(items, models, RevisionSettings(on_unfixable="drop")))
    sure = MeasuredShare(1.0, 1e6, 99), MeasuredShare(0.0, 1e6, 99), None
    found = told_shares(done, ErrorRates(*sure, "a test"))
    share = np.mean([factual for item in items for factual in item.factual])
    for kind in ("seen", "corrected", "true"):
        assert found["before"][kind]["value"] == pytest.approx(share, abs=1e-3)
        assert found["after"][kind]["value"] == pytest.approx(1, abs=1e-3)
        assert found["before"][kind]["low"] < share < found["before"][kind]["high"]


def test_what_is_measured_of_a_run_is_every_sentence_and_every_accepted_rewrite():
    items = held_out("test", 12, first=7_100_000)
    models = LoadedModels(OracleCritic.of(items), load_reviser("bundled"), "")
    done = list(drafts(items, models, RevisionSettings()))
    found = measured(done)
    written = ~found.rewritten
    assert found.factual[written].tolist() == [f for item in items for f in item.factual]
    accepted = [s for _, draft in done for s in draft.sentences if s.accepted is not None]
    assert found.rewritten.sum() == len(accepted) > 5
    assert found.factual[found.rewritten].all()  # as this critic knows the truth
    assert (found.p == found.factual).all()
    assert set(found.image) == set(range(12))


def test_a_caption_without_a_sentence_left_has_nothing_right():
    found = loop_figures([[fate(Truth.FALSE, None)], [fate(Truth.TRUE, Truth.TRUE)]])
    assert (found["factuality_before"], found["factuality_after"]) == (0.5, 0.5)
