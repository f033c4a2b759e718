"""Pairs by hand-made counts."""

from __future__ import annotations

import math

import pytest

from revise_captions.dcscore.score import UnitCounts
from revise_captions.pipelines.preferences.pairs import (
    Candidate,
    PreferencePair,
    preferences,
    scored,
)


def candidate(text: str, true: int, units: int, unscored: int = 0) -> Candidate:
    return Candidate(text, UnitCounts(units, true, None, 0, 0, unscored))


CAPTIONS = [
    candidate("short and right", 2, 2),
    candidate("long and half right", 4, 8),
    candidate("long and right", 6, 8),
    candidate("nothing was judged", 0, 0, 3),
    candidate("short and right", 2, 2),  # the first one again
]


def test_the_higher_score_wins():
    found = preferences(CAPTIONS, ("c_p", "c_r"), margin=0.0, most=9)
    assert found.pairs == (
        PreferencePair("c_p", 0, 1, 0.5),
        PreferencePair("c_p", 0, 2, 0.25),
        PreferencePair("c_p", 2, 1, 0.25),
        PreferencePair("c_r", 1, 0, 6.0),
        PreferencePair("c_r", 2, 0, 6.0),
    )
    assert found.ties == {"c_p": 0, "c_r": 1}


def test_ties_and_the_number_of_pairs():
    found = preferences(CAPTIONS, ("c_p",), margin=0.25, most=9)
    assert found.pairs == (PreferencePair("c_p", 0, 1, 0.5),)
    assert found.ties == {"c_p": 2}
    assert len(preferences(CAPTIONS, ("c_p",), margin=0.0, most=2).pairs) == 2
    assert preferences(CAPTIONS[:1], ("c_p", "both"), margin=0.0, most=2).pairs == ()
    assert preferences([], ("c_p",), margin=0.0, most=2).pairs == ()


def test_both_is_the_papers_sum_in_standard_deviations():
    """c_p 1, .5, .75 and c_r 2, 8, 8: means .75 and 6, population deviations by hand."""
    share, number = math.sqrt(1 / 24), math.sqrt(8)
    wanted = [
        0.25 / share + 0.5 * -4 / number,
        -0.25 / share + 0.5 * 2 / number,
        0.0 + 0.5 * 2 / number,
    ]
    assert scored(CAPTIONS[:3], "both") == pytest.approx(wanted)
    best = preferences(CAPTIONS, ("both",), margin=0.0, most=1).pairs[0]
    assert (best.chosen, best.rejected) == (0, 1)


def test_what_a_candidate_says_of_itself():
    assert CAPTIONS[1].as_json() == {
        "text": "long and half right",
        "c_p": 0.5,
        "c_r": 8,
        "words": 4,
        "units": [],
    }
    assert CAPTIONS[3].as_json()["c_p"] is None
