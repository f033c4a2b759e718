"""Leaderboards against scipy's tests, hand-worked tables, and captioners whose truth is known."""

from __future__ import annotations

import time

import numpy as np
import pytest

from revise_captions.records import Label
from revise_captions.stats.leaderboard import (
    COLUMNS,
    CRITERIA,
    RatedSentence,
    Ratings,
    collect,
    counts_of,
    holm,
    keys_of,
    length_controlled,
    permutation_tests,
    rank,
    resamples,
)

YES, NO, UNSCORED = (
    RatedSentence(label) for label in (Label.FACTUAL, Label.NONFACTUAL, Label.UNSCORED)
)


def row(*sentences: RatedSentence, words: int = 10) -> dict[str, float]:
    return dict(zip(COLUMNS, counts_of(sentences, words), strict=True))


def test_a_captions_counts():
    right = row(YES, YES)
    assert (right["responses_judged"], right["responses_right"], right["share"]) == (1, 1, 1)
    wrong = row(YES, NO, UNSCORED)
    assert (wrong["responses_judged"], wrong["responses_right"]) == (1, 0)
    assert (wrong["judged"], wrong["factual"], wrong["unscored"]) == (2, 1, 1)
    assert wrong["share"] == 0.5
    unknown = row(YES, UNSCORED)  # nobody knows whether all of it is right
    assert (unknown["responses_judged"], unknown["responses_right"]) == (0, 0)
    assert (unknown["captions_judged"], unknown["share"]) == (1, 1)
    nothing = row(UNSCORED)
    assert (nothing["captions"], nothing["captions_judged"], nothing["judged"]) == (1, 0, 0)


def test_the_three_criteria_by_hand():
    ratings = collect(
        [
            ("a", "1", counts_of([YES, YES, YES], 9)),
            ("a", "2", counts_of([YES, NO], 6)),
            ("b", "1", counts_of([YES, NO, NO, NO], 12)),
            ("b", "2", counts_of([YES], 3)),
        ]
    )
    values = {
        criterion: {
            s.captioner: s.value for s in rank(ratings, criterion, replicates=200).standings
        }
        for criterion in CRITERIA
    }
    assert values["response"] == {"a": 0.5, "b": 0.5}
    assert values["overall"] == {"a": pytest.approx(4 / 5), "b": pytest.approx(2 / 5)}
    assert values["per_description"] == {"a": pytest.approx(0.75), "b": pytest.approx(0.625)}


def simulated(captioners: int, images: int, sentences: int, seed: int = 0) -> Ratings:
    """Captioner k's sentences are right with probability .5 + .03 k."""
    rng = np.random.default_rng(seed)
    counts = np.zeros((captioners, images, len(COLUMNS)))
    for k in range(captioners):
        factual = rng.binomial(sentences, 0.5 + 0.03 * k, images)
        whole = factual == sentences
        columns = {
            "captions": 1, "responses_judged": 1, "responses_right": whole, "captions_judged": 1,
            "share": factual / sentences, "sentences": sentences, "judged": sentences,
            "factual": factual, "words": 20 * sentences,
        }  # fmt: skip
        for name, values in columns.items():
            counts[k, :, COLUMNS.index(name)] = values
    names = tuple(f"captioner {k:02}" for k in range(captioners))
    return Ratings(names, tuple(f"{i}.png" for i in range(images)), counts)


def test_permutation_tests_are_scipys():
    from scipy import stats

    ratings = simulated(2, 60, 7)
    top, bottom = ratings.sums("per_description")
    mine = permutation_tests(top, bottom, replicates=20_000)[0, 1]
    theirs = stats.permutation_test(
        (top[0], top[1]),
        lambda x, y, axis: (x - y).mean(axis),
        permutation_type="samples",
        n_resamples=20_000,
        rng=np.random.default_rng(1),
        vectorized=True,
    ).pvalue
    assert mine == pytest.approx(theirs, abs=0.015)


def test_p_counts_the_observed_arrangement():
    """Of 999 random halves of 60 images none differs as much as all right against all wrong."""
    top, bottom = np.stack([np.ones(60), np.zeros(60)]), np.ones((2, 60))
    assert permutation_tests(top, bottom, replicates=999)[0, 1] == pytest.approx(1 / 1000)
    assert permutation_tests(top[[0, 0]], bottom, replicates=999)[0, 1] == 1


def test_a_boards_p_values_are_holms_over_all_its_pairs():
    ratings = simulated(4, 200, 7)
    board = rank(ratings, "overall", replicates=2000)
    order = [ratings.captioners.index(s.captioner) for s in board.standings]
    top, bottom = (part[order] for part in ratings.sums("overall"))
    pairs = np.triu_indices(4, k=1)
    plain = np.sort(permutation_tests(top, bottom, replicates=2000)[pairs])
    expected, largest = [], 0.0
    for tests_left, p in zip(range(6, 0, -1), plain, strict=True):
        largest = max(largest, min(1.0, tests_left * p))
        expected.append(largest)
    assert np.sort(board.p_values[pairs]) == pytest.approx(expected)
    assert (plain < 0.05).sum() > (board.p_values[pairs] < 0.05).sum() > 0
    for place, standing in enumerate(board.standings):
        different = board.p_values[place] < 0.05
        assert standing.best_rank == 1 + different[:place].sum()
        assert standing.worst_rank == 4 - different[place + 1 :].sum()


def test_holm_is_the_textbooks():
    """Holm (1979) on .01, .04, .03 of three pairs: .03, .06, .06."""
    p = np.ones((3, 3))
    for (a, b), value in {(0, 1): 0.01, (0, 2): 0.04, (1, 2): 0.03}.items():
        p[a, b] = p[b, a] = value
    corrected = holm(p)
    assert corrected[0, 1] == pytest.approx(0.03)
    assert corrected[1, 2] == corrected[0, 2] == pytest.approx(0.06)
    assert np.array_equal(corrected, corrected.T)


def test_equal_captioners_share_a_rank_and_unequal_ones_do_not():
    ratings = simulated(6, 400, 7)
    copies = Ratings(
        (*ratings.captioners, "twin"),
        ratings.images,
        np.concatenate([ratings.counts, ratings.counts[:1]]),
    )
    board = rank(copies, "overall", replicates=2000)
    ranges = {s.captioner: (s.best_rank, s.worst_rank) for s in board.standings}
    assert ranges["captioner 05"][0] == 1
    assert ranges["captioner 00"] == ranges["twin"]
    assert ranges["twin"][1] == 7
    assert ranges["captioner 05"][1] < ranges["captioner 02"][0] + 1
    first = [s.captioner for s in board.standings].index("captioner 05")
    last = [s.captioner for s in board.standings].index("captioner 00")
    assert board.wins[first, last] > 0.99
    assert np.allclose(board.wins + board.wins.T, 1)


def test_intervals_cover_the_truth_about_as_often_as_they_say():
    covered = 0
    for seed in range(100):
        board = rank(simulated(1, 50, 5, seed=seed), "overall", replicates=400)
        standing = board.standings[0]
        assert standing.low is not None
        assert standing.high is not None
        covered += standing.low <= 0.5 <= standing.high
    assert 85 <= covered <= 100


def test_adding_a_captioner_changes_no_other_ones_interval():
    ratings = simulated(4, 100, 7)
    fewer = Ratings(ratings.captioners[:3], ratings.images, ratings.counts[:3])
    before, after = (
        {
            s.captioner: (s.value, s.low, s.high)
            for s in rank(r, "overall", replicates=500).standings
        }
        for r in (fewer, ratings)
    )
    assert all(after[name] == values for name, values in before.items())


def test_a_captioner_that_nobody_could_judge_is_last_and_has_no_figure():
    ratings = simulated(2, 30, 5)
    counts = np.concatenate([ratings.counts, np.zeros((1, 30, len(COLUMNS)))])
    counts[2, :, COLUMNS.index("captions")] = 1
    board = rank(Ratings((*ratings.captioners, "dark"), ratings.images, counts), "overall")
    last = board.standings[-1]
    assert (last.captioner, last.value, last.low, last.high) == ("dark", None, None, None)
    assert (last.best_rank, last.worst_rank) == (None, None)
    assert all(standing.worst_rank <= 2 for standing in board.standings[:2])


def test_length_control_takes_back_what_length_gave():
    """Two captioners equally good at each length; one writes three times as much and errs more."""
    rng = np.random.default_rng(0)
    rows = []
    for name, factor in (("short", 1.0), ("long", 3.0)):
        for image in range(400):
            words = factor * 20 * np.exp(rng.normal(0, 0.3))
            share = np.clip(1.5 - 0.2 * np.log(words) + rng.normal(0, 0.02), 0, 1)
            columns = {"captions": 1, "captions_judged": 1, "share": share, "words": words}
            rows.append((name, str(image), tuple(columns.get(c, 0.0) for c in COLUMNS)))
    ratings = collect(rows)
    plain = {s.captioner: s.value for s in rank(ratings, "per_description").standings}
    controlled = length_controlled(ratings)
    assert plain["short"] - plain["long"] > 0.15
    assert abs(controlled["short"] - controlled["long"]) < 0.01


def test_ten_thousand_resamples_take_no_loop():
    """14 captioners × 100 images, drawn together."""
    ratings = simulated(14, 100, 7)
    began = time.thread_time()
    top, bottom = ratings.sums("overall")
    assert resamples(top, bottom, keys_of(ratings.images), 10_000).shape == (10_000, 14)
    assert time.thread_time() - began < 5


@pytest.mark.slow
def test_ten_thousand_resamples_of_five_thousand_images_in_ten_seconds():
    ratings = simulated(14, 5000, 7)
    began = time.monotonic()
    top, bottom = ratings.sums("overall")
    resamples(top, bottom, keys_of(ratings.images), 10_000)
    assert time.monotonic() - began < 10
