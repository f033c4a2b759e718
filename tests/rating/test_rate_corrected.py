"""Corrected shares of a leaderboard: what each expert judged, for its own errors."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from revise_captions.errors import UserError
from revise_captions.pipelines.rating.autorater import (
    REVISED,
    Counted,
    JudgedCaption,
    joined,
    rate,
    read_ratings,
    write_ratings,
)
from revise_captions.pipelines.rating.corrected import corrected, note
from revise_captions.pipelines.rating.leaderboard import write_board
from revise_captions.stats.error_correction import ErrorRates, MeasuredShare

#: Of critics that pass 90 and 70 % of the true sentences, 20 and 10 % of the wrong ones.
RATES = {"scenes": (0.9, 0.2), "charts": (0.7, 0.1)}
ERRORS = {
    name: ErrorRates(MeasuredShare(r, 1e5, 500), MeasuredShare(q, 1e5, 500), None, f"test {name}")
    for name, (r, q) in RATES.items()
}
TRUE = 0.5
PANEL = (
    "critic:own@1+charts@1|experts:scenes,charts|scenes.critic:own@1|scenes.threshold:0.1000"
    "|charts.critic:charts@{version}|charts.threshold:0.5000"
)


def caption(image: str, factual: list[bool], expert: str, version: str = "1") -> Counted:
    sentences = [
        {"label": "factual" if one else "nonfactual", "assessable": True, "reason": None,
         "span": (0, 3), "p_factual": float(one), "rationale": "", "rewrite": None,
         "accepted": False}
        for one in factual
    ]  # fmt: skip
    signature = PANEL.format(version=version)
    judged = JudgedCaption("x", image, "A b.", sentences, 0.5, signature, expert)
    return judged.as_it_came([""] * len(factual))


def captions(images: int, expert: str, seed: int, version: str = "1") -> list[Counted]:
    """Half of the sentences are true, and called factual as often as by such a critic."""
    rng = random.Random(seed)
    rows = []
    for k in range(images):
        true = [rng.random() < TRUE for _ in range(8)]
        said = [rng.random() < RATES[expert][0 if one else 1] for one in true]
        rows.append(caption(f"{expert}{k}", said, expert, version))
    return rows


def nobody(image: str) -> Counted:
    """A caption of an image that no expert takes: nothing is judged."""
    sentences = [
        {"label": "unscored", "assessable": None, "reason": "outside the model's domain",
         "span": (0, 3), "p_factual": None, "rationale": None, "rewrite": None, "accepted": None}
    ]  # fmt: skip
    judged = JudgedCaption("x", image, "A b.", sentences, 0.1, PANEL.format(version="1"))
    return judged.as_it_came([""])


@pytest.fixture(scope="module")
def rated():
    return rate([*captions(400, "scenes", 1), *captions(400, "charts", 2)])


def test_each_expert_is_corrected_for_its_own_errors(rated):
    share = corrected(rated, ERRORS, 200)["x"]
    assert share.low < TRUE < share.high
    assert share.value == pytest.approx(TRUE, abs=0.03)
    assert set(rated.judges) == {"scenes", "charts"}
    assert rated.rater == {
        "scenes.critic": "own@1", "scenes.threshold": "0.1000",
        "charts.critic": "charts@1", "charts.threshold": "0.5000",
    }  # fmt: skip
    said = note(rated, ERRORS)
    assert "test scenes: “scenes” calls 90.0 % of the true and 20.0 % of the wrong" in said
    assert "test charts: “charts” calls 70.0 % of the true and 10.0 % of the wrong" in said
    assert "Without" not in said
    assert "Shares of revised captions" not in said  # there are none


def test_what_is_said_of_revised_captions_is_said_where_there_are_some(rated):
    some = replace(rated.ratings, captioners=("x" + REVISED,))
    assert note(replace(rated, ratings=some), ERRORS).endswith("cannot be corrected this way.")


def test_the_wrong_experts_errors_would_not_do(rated):
    """0.55 of what “scenes” judged is called factual: by the errors of charts, 0.75 is true."""
    wrong = corrected(rated, {"scenes": ERRORS["charts"], "charts": None}, 200)["x"]
    assert wrong.value == pytest.approx((0.55 - 0.1) / 0.6, abs=0.04)


def test_images_whose_judge_nobody_measured_are_left_out(rated):
    known = {"scenes": ERRORS["scenes"], "charts": None}
    share = corrected(rated, known, 200)["x"]
    assert share.low < TRUE < share.high
    alone = corrected(rate(captions(400, "scenes", 1)), known, 200)["x"]
    assert share.value == alone.value
    assert "Without 400 images judged by a critic whose error rates were never measured" in note(
        rated, known
    )
    assert corrected(rated, {"scenes": None, "charts": None}, 200) == {}


def test_who_judged_is_known_after_reading_and_joining(tmp_path):
    path = tmp_path / "ratings.json"
    write_ratings(path, rate(captions(50, "charts", 3)))
    assert read_ratings(path).experts == {f"charts{k}": "charts" for k in range(50)}
    others = [
        Counted("y", one.image, one.counts, one.errors, one.signature, expert=one.expert)
        for one in captions(50, "scenes", 4)
    ]
    both = joined(read_ratings(path), rate(others))
    assert both.experts == {f"{name}{k}": name for name in RATES for k in range(50)}
    assert both.rater.keys() == {f"{name}.{key}" for name in RATES for key in
                                 ("critic", "threshold")}  # fmt: skip


@pytest.mark.parametrize("first", [True, False])
def test_images_that_no_expert_takes_are_rated_beside_the_others(first):
    rows = captions(2, "scenes", 5)
    rows.insert(0 if first else len(rows), nobody("foreign"))
    found = rate(rows)
    assert found.rater == {"scenes.critic": "own@1", "scenes.threshold": "0.1000"}
    assert "foreign" not in found.experts


def test_two_versions_of_an_expert_are_not_mixed():
    mixed = rate([*captions(2, "charts", 6), *captions(2, "scenes", 6, version="2")])
    assert mixed.rater["charts.critic"] == "charts@1"  # which charts it is decides nothing there
    with pytest.raises(UserError, match=r"charts\.critic: charts@1 and charts@2"):
        rate([*captions(2, "charts", 6), *captions(2, "charts", 7, version="2")])
    other = rate([
        Counted("y", one.image, one.counts, one.errors, one.signature, expert=one.expert)
        for one in captions(2, "charts", 6, version="2")
    ])  # fmt: skip
    with pytest.raises(UserError, match="the leaderboard was rated with different settings"):
        joined(mixed, other)


def test_whole_sentences_and_clauses_are_different_raters():
    asked = [
        replace(one, signature=f"{one.signature}|charts.clauses:v")
        for one in captions(2, "charts", 6)
    ]
    with pytest.raises(UserError, match=r"charts\.clauses: none and v"):
        rate([*captions(2, "charts", 7), *asked])


def test_one_critic_is_not_mixed_into_a_panels_leaderboard():
    alone = [
        replace(one, signature="critic:own@1|threshold:0.1000", expert="")
        for one in captions(2, "scenes", 6)
    ]
    with pytest.raises(UserError, match=r"critic: a panel and own@1"):
        rate([*captions(2, "scenes", 7), *alone])


def test_another_map_of_probabilities_is_another_rater():
    mapped = [
        replace(one, signature=f"{one.signature}|scenes.probability-map:m")
        for one in captions(2, "scenes", 6)
    ]
    with pytest.raises(UserError, match=r"scenes\.probability-map: none and m"):
        rate([*captions(2, "scenes", 7), *mapped])


def test_the_page_names_each_experts_threshold(rated, tmp_path):
    write_board(tmp_path, rated, 50)
    page = (tmp_path / "leaderboard.html").read_text(encoding="utf-8")
    said = "P(factual) 0.1000 for scenes, 0.5000 for charts."
    assert said in " ".join(page.split())
