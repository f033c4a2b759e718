"""Corrected shares of a leaderboard: of the images that the critic itself judged."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from revise_captions.errors import UserError
from revise_captions.pipelines.rating.autorater import (
    Counted,
    JudgedCaption,
    joined,
    rate,
    read_ratings,
    write_ratings,
)
from revise_captions.pipelines.rating.corrected import corrected, note
from revise_captions.stats.error_correction import ErrorRates, MeasuredShare

#: Of a critic that passes 90 % of the true sentences and 20 % of the wrong ones.
ERRORS = ErrorRates(MeasuredShare(0.9, 1e5, 500), MeasuredShare(0.2, 1e5, 500), None, "a test")
TRUE = 0.5
CHARTS = "charts"


def caption(image: str, factual: list[bool], critic: str) -> Counted:
    sentences = [
        {"label": "factual" if one else "nonfactual", "assessable": True, "reason": None,
         "span": (0, 3), "p_factual": float(one), "rationale": "", "rewrite": None,
         "accepted": False}
        for one in factual
    ]  # fmt: skip
    judged = JudgedCaption("x", image, "A b.", sentences, 0.5, "threshold=0.5", critic)
    return judged.as_it_came([""] * len(factual))


def captions(images: int, critic: str, seed: int) -> list[Counted]:
    """Half of the sentences are true. `ERRORS` are the own critic's; that of charts flags all."""
    rng = random.Random(seed)
    rows = []
    for k in range(images):
        true = [rng.random() < TRUE for _ in range(8)]
        said = [rng.random() < (0.9 if one else 0.2) for one in true]
        rows.append(caption(f"{critic}{k}", [False] * 8 if critic else said, critic))
    return rows


def test_images_that_another_critic_judged_are_left_out():
    rated = rate([*captions(400, "", 1), *captions(400, CHARTS, 2)])
    share = corrected(rated, ERRORS, 200)["x"]
    assert share.low < TRUE < share.high
    assert share.value == pytest.approx(TRUE, abs=0.03)
    assert "Without 400 images of charts" in note(ERRORS, len(rated.elsewhere))


def test_what_was_left_out_is_known_after_reading_and_joining(tmp_path):
    path = tmp_path / "ratings.json"
    write_ratings(path, rate(captions(50, CHARTS, 3)))
    assert read_ratings(path).elsewhere == {f"charts{k}" for k in range(50)}
    others = [
        Counted("y", one.image, one.counts, one.errors, one.signature)
        for one in captions(50, "", 4)
    ]
    assert joined(read_ratings(path), rate(others)).elsewhere == read_ratings(path).elsewhere


def test_charts_alone_have_no_corrected_share():
    assert corrected(rate(captions(50, CHARTS, 5)), ERRORS, 200) == {}


def test_charts_of_two_critics_of_charts_are_not_mixed():
    def rows(critic: str, version: str) -> list[Counted]:
        named = f"critic:own|charts-critic:charts@{version}|threshold:0.5"
        return [replace(one, signature=named) for one in captions(2, critic, 6)]

    mixed = rate([*rows(CHARTS, "1"), *rows("", "2")])  # which charts it is decides nothing for ""
    assert mixed.rater["charts-critic"] == "charts@1"
    with pytest.raises(UserError, match="charts-critic: charts@1 and charts@2"):
        rate([*rows(CHARTS, "1"), *rows(CHARTS, "2")])
    other = rate([replace(one, captioner="y") for one in rows(CHARTS, "2")])
    with pytest.raises(UserError, match="the leaderboard was rated with different settings"):
        joined(mixed, other)
