"""Agreement, battles, spans, classification: printed examples, other libraries, by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from revise_captions.records import Span
from revise_captions.stats import classification as sentences
from revise_captions.stats import weighted_classification as weighted
from revise_captions.stats.agreement import counts_of, fleiss_kappa, krippendorff_alpha
from revise_captions.stats.bootstrap import ratio_interval
from revise_captions.stats.bradley_terry import (
    battles,
    bradley_terry,
    elo,
    rated,
    wins,
)
from revise_captions.stats.correlations import correlation
from revise_captions.stats.paired_tests import (
    compared,
    compared_sums,
    measured,
    measured_sums,
    standardized,
)
from revise_captions.stats.span_agreement import (
    best_token_macro_f1,
    count_spans,
    relaxed_f1,
    token_macro_f1,
    token_scores,
)

# --- agreement ------------------------------------------------------------------------------------

#: Fleiss' κ, the worked example of the encyclopedias: ten subjects, fourteen raters, κ = 0.210.
FLEISS = [
    [0, 0, 0, 0, 14], [0, 2, 6, 4, 2], [0, 0, 3, 5, 6], [0, 3, 9, 2, 0], [2, 2, 8, 1, 1],
    [7, 7, 0, 0, 0], [3, 2, 6, 3, 0], [2, 5, 3, 2, 2], [6, 5, 2, 1, 0], [0, 2, 2, 3, 7],
]  # fmt: skip
#: Krippendorff 2011, “Computing Krippendorff's Alpha-Reliability”, C: four observers, twelve units.
OBSERVERS = ("123321412...", "1233224125.3", ".3332342251.", "12332441251.")


def krippendorff() -> list[dict[str, int]]:
    return [
        {str(who): int(line[unit]) for who, line in enumerate(OBSERVERS) if line[unit] != "."}
        for unit in range(12)
    ]


def test_fleiss_kappa_as_printed():
    assert fleiss_kappa(FLEISS)[0] == pytest.approx(0.210, abs=5e-4)


def test_krippendorffs_alpha_as_printed():
    table = counts_of(krippendorff(), [1, 2, 3, 4, 5])
    assert table.sum() == 41
    assert krippendorff_alpha(table)[0] == pytest.approx(0.743, abs=5e-4)
    assert krippendorff_alpha(table, [1, 2, 3, 4, 5])[0] == pytest.approx(0.849, abs=5e-4)


def test_agreement_as_nltk_computes_it():
    agreement = pytest.importorskip("nltk.metrics.agreement")
    distance = pytest.importorskip("nltk.metrics.distance")
    rng = np.random.default_rng(3)
    items = [{str(r): int(rng.integers(0, 3)) for r in range(4)} for _ in range(30)]
    triples = [(who, str(k), label) for k, item in enumerate(items) for who, label in item.items()]
    table = counts_of(items, [0, 1, 2])
    nominal = agreement.AnnotationTask(triples)
    assert fleiss_kappa(table)[0] == pytest.approx(nominal.pi(), abs=1e-12)  # Fleiss' κ there
    assert krippendorff_alpha(table)[0] == pytest.approx(nominal.alpha(), abs=1e-12)
    interval = agreement.AnnotationTask(triples, distance=distance.interval_distance)
    assert krippendorff_alpha(table, [0, 1, 2])[0] == pytest.approx(interval.alpha(), abs=1e-12)


def test_weights_are_repetitions():
    weights = np.array([[2, 0], [1, 1], [0, 3]] + [[1, 1]] * 7)
    for replicate in (0, 1):
        rows = np.repeat(FLEISS, weights[:, replicate], axis=0)
        assert fleiss_kappa(FLEISS, weights)[replicate] == pytest.approx(fleiss_kappa(rows)[0])
        found = krippendorff_alpha(FLEISS, None, weights)[replicate]
        assert found == pytest.approx(krippendorff_alpha(rows)[0])


def test_agreement_that_does_not_exist():
    assert math.isnan(fleiss_kappa([[3, 0], [3, 0]])[0])
    assert math.isnan(krippendorff_alpha([[3, 0], [3, 0]])[0])
    with pytest.raises(ValueError, match="the same number of raters"):
        fleiss_kappa([[3, 0], [2, 0]])


# --- battles --------------------------------------------------------------------------------------


def fought(rows):
    return battles([(a, b, won, str(k)) for k, (a, b, won) in enumerate(rows)])


def test_three_wins_of_four_are_odds_of_three():
    ratings = bradley_terry(wins(fought([("a", "b", 1.0)] * 3 + [("a", "b", 0.0)])))[0]
    assert ratings[0] - ratings[1] == pytest.approx(400 * math.log10(3), abs=1e-6)
    assert ratings.mean() == pytest.approx(1000)


def test_bradley_terry_is_logistic_regression():
    linear_model = pytest.importorskip("sklearn.linear_model")
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(300):
        a, b = rng.choice(5, 2, replace=False)
        rows.append((str(a), str(b), float(rng.random() < 1 / (1 + 10 ** ((a - b) / 4)))))
    table = fought(rows)
    design = np.zeros((300, 5))
    design[np.arange(300), table.first] = 1
    design[np.arange(300), table.second] = -1
    model = linear_model.LogisticRegression(C=1e8, fit_intercept=False, tol=1e-10, max_iter=2000)
    coefficients = model.fit(design, table.won).coef_[0]
    wanted = 1000 + 400 * (coefficients - coefficients.mean()) / math.log(10)
    assert bradley_terry(wins(table))[0] == pytest.approx(wanted, abs=0.05)


def test_who_never_loses_has_no_estimate_and_ties_are_half():
    assert np.isnan(bradley_terry(wins(fought([("a", "b", 1.0)] * 5)))).all()
    even = bradley_terry(wins(fought([("a", "b", 0.5)] * 5)))[0]
    assert even == pytest.approx([1000, 1000])


def test_elo_is_the_plain_loop():
    table = fought([("a", "b", 1.0), ("b", "c", 0.5), ("c", "a", 1.0), ("a", "b", 0.0)])
    found = elo(table, np.ones((4, 1), np.uint8), seed=5)[0]
    order = np.random.default_rng(5).permutation(np.arange(4))
    ratings = dict.fromkeys(range(3), 1000.0)
    for k in order:
        a, b = table.first[k], table.second[k]
        expected = 1 / (1 + 10 ** ((ratings[b] - ratings[a]) / 400))
        ratings[a] += 4 * (table.won[k] - expected)
        ratings[b] -= 4 * (table.won[k] - expected)
    assert found == pytest.approx(list(ratings.values()))


def test_ratings_are_sorted_and_inside_their_intervals():
    rng = np.random.default_rng(1)
    rows = [("good", "bad", float(rng.random() < 0.8)) for _ in range(60)]
    for table in rated(fought(rows), 200).values():
        assert [row.captioner for row in table] == ["good", "bad"]
        assert all(row.low < row.rating < row.high for row in table)
        assert table[0].low > table[1].high


# --- spans ----------------------------------------------------------------------------------------

TEXT = "one two three four five six seven eight"


def span(words: str) -> Span:
    return Span(TEXT.index(words), TEXT.index(words) + len(words))


def test_relaxed_f1_by_hand():
    human = [span("two three"), span("seven eight")]
    said = [span("three four"), span("five"), span("one")]
    counts = count_spans(TEXT, said, human)
    # “three four” has half its tokens in “two three”, which has half of its own in it
    assert (counts.predicted, counts.predicted_matched) == (3, 1)
    assert (counts.human, counts.human_matched) == (2, 1)
    assert (counts.both, counts.only_predicted, counts.only_human, counts.neither) == (1, 3, 3, 1)
    total = (3, 1, 2, 1, 1, 3, 3, 1)
    assert relaxed_f1(total) == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    assert token_macro_f1(total) == pytest.approx((2 / 8 + 2 / 8) / 2)


@settings(deadline=None, max_examples=25)  # scikit-learn takes 20 ms for each of seven cuts
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=1, max_size=20))
def test_the_best_threshold_is_the_best_of_all(tokens):
    from sklearn.metrics import f1_score

    levels = np.zeros((6, 2))
    for level, marked in tokens:
        levels[level, 0 if marked else 1] += 1
    found = best_token_macro_f1(levels)
    truth = [marked for _, marked in tokens]
    if len(set(truth)) == 1:
        assert math.isnan(found)
        return
    tried = [
        f1_score(truth, [level >= cut for level, _ in tokens], average="macro", zero_division=0)
        for cut in range(7)
    ]
    assert found == pytest.approx(max(tried))


def test_a_token_has_the_lowest_score_of_the_spans_over_it():
    spans = [(span("two three"), 0.2), (span("three four"), 0.7)]
    scores, marked = token_scores(TEXT, spans, [span("four five")])
    assert scores == [-math.inf, 0.2, 0.2, 0.7, *[-math.inf] * 4]
    assert marked == [False, False, False, True, True, False, False, False]


def test_equal_spans_agree_wholly_and_nothing_is_no_agreement():
    same = count_spans(TEXT, [span("two three")], [span("two three")])
    assert relaxed_f1((same.predicted, same.predicted_matched, same.human, same.human_matched)) == 1
    assert math.isnan(relaxed_f1((0, 0, 0, 0)))
    assert relaxed_f1((2, 0, 3, 0)) == 0
    assert count_spans("a , b", [Span(2, 3)], []).predicted == 0


# --- sentences ------------------------------------------------------------------------------------


def test_scikit_learns_own_example():
    """`roc_auc_score` and `average_precision_score` document 0.75 and 0.83 for these."""
    truth, scores = np.array([0.0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8])
    assert sentences.roc_auc(scores, truth) == 0.75
    assert sentences.average_precision_of_wrong(-scores, 1 - truth) == pytest.approx(
        0.8333, abs=1e-4
    )


def test_figures_as_scikit_learn_computes_them():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(2)
    scores = rng.integers(0, 20, 300) / 20  # many ties
    truth = (rng.random(300) < scores).astype(float)
    assert sentences.roc_auc(scores, truth) == pytest.approx(metrics.roc_auc_score(truth, scores))
    for cut in (0.5, 0.3):
        wanted = metrics.f1_score(truth, scores >= cut, average="macro")
        assert sentences.macro_f1(scores, truth, cut) == pytest.approx(wanted)
    best = max(
        metrics.f1_score(truth, scores >= cut, average="macro", zero_division=0)
        for cut in [*np.unique(scores), 2]
    )
    assert sentences.best_macro_f1(scores, truth) == pytest.approx(best)
    assert sentences.best_macro_f1(1000 * scores - 7, truth) == pytest.approx(best)


def test_floors_and_what_does_not_exist():
    assert sentences.one_class_macro_f1(np.array([1.0, 1, 1, 0])) == pytest.approx(6 / 14)
    assert math.isnan(sentences.roc_auc(np.array([0.1]), np.array([1.0])))
    assert math.isnan(sentences.calibration_error(np.array([3.0, 0.1]), np.array([1.0, 0.0])))


@pytest.mark.parametrize(
    ("batch", "plain"),
    [
        (weighted.roc_auc, sentences.roc_auc),
        (weighted.average_precision_of_wrong, sentences.average_precision_of_wrong),
        (weighted.macro_f1_at(0.4), sentences.macro_f1_at(0.4)),
        (weighted.best_macro_f1, sentences.best_macro_f1),
        (weighted.calibration_error, sentences.calibration_error),
    ],
)
def test_weighted_figures_are_those_of_repeated_rows(batch, plain):
    rng = np.random.default_rng(0)
    scores, truth = rng.integers(0, 11, 40) / 10, (rng.random(40) < 0.6).astype(float)
    counts = rng.poisson(1, (40, 30)).astype(float)
    counts[:, 0] = truth  # a class is missing
    wanted = []
    for column in counts.T.astype(int):
        rows = np.repeat(np.arange(40), column)
        wanted.append(plain(scores[rows], truth[rows]))
    assert batch(scores, truth, counts) == pytest.approx(np.array(wanted), nan_ok=True)


def test_figures_are_the_same_with_and_without_a_batch():
    rng = np.random.default_rng(1)
    first, second, truth = rng.random(90), rng.random(90), (rng.random(90) < 0.5).astype(float)
    names = [str(k // 3) for k in range(90)]
    ways = [
        (
            measured(sentences.roc_auc, first, truth, names, 200, batch),
            compared(sentences.roc_auc, first, second, truth, names, replicates=200, batch=batch),
        )
        for batch in (None, weighted.roc_auc)
    ]
    assert ways[0] == ways[1]


# --- resampling -----------------------------------------------------------------------------------


def mean(scores, truth):
    return float(scores.mean()) if len(scores) else math.nan


def test_the_interval_of_a_mean_is_that_of_a_share():
    values = np.array([1.0] * 30 + [0.0] * 70)
    names = [str(k) for k in range(100)]
    found = measured(mean, values, values, names, replicates=2000)
    wanted = ratio_interval(values.astype(int), np.ones(100, int), replicates=2000)
    assert found.value == wanted.value
    assert found.low == pytest.approx(wanted.low, abs=0.015)
    assert found.high == pytest.approx(wanted.high, abs=0.015)


def test_rows_of_one_image_are_one_observation():
    values = np.repeat([1.0] * 10 + [0.0] * 10, 20)
    apart = measured(mean, values, values, [str(k) for k in range(400)], 500)
    together = measured(mean, values, values, [str(k // 20) for k in range(400)], 500)
    assert together.units == 20
    assert together.high - together.low > 3 * (apart.high - apart.low)


def test_the_paired_test_counts_sign_flips():
    """Ten images, all better by one: only two of 1,024 flips reach that."""
    first, second = np.arange(1.0, 11), np.arange(0.0, 10)
    names = [str(k) for k in range(10)]
    same = {"comparable": lambda scores: scores, "replicates": 4000}
    found = compared(mean, first, second, first, names, **same)
    assert found.difference == pytest.approx(1)
    assert found.p_value == pytest.approx(2 / 1024, abs=2e-3)
    alike = compared(mean, first, first, first, names, **same)
    assert (alike.difference, alike.p_value) == (0, 1)


def test_a_better_correlation_is_found_and_a_scale_is_not():
    rng = np.random.default_rng(0)
    truth = rng.normal(size=80)
    good, bad = truth + 0.3 * rng.normal(size=80), truth + 3 * rng.normal(size=80)
    names = [str(k) for k in range(80)]

    def pearson(x, y):
        return correlation("pearson", x, y)

    options = {"comparable": standardized, "replicates": 300}
    assert compared(pearson, good, 100 * bad, truth, names, **options).p_value < 0.02
    assert compared(pearson, good, 100 * good + 5, truth, names, **options).p_value > 0.9


def test_sums_are_measured_and_compared_as_rows_are():
    rng = np.random.default_rng(0)
    first, second = (rng.random(120) < 0.7).astype(float), (rng.random(120) < 0.4).astype(float)
    names = [str(k // 3) for k in range(120)]

    def share(total):
        return total[0] / total[1]

    def table(values):
        return np.column_stack([values, np.ones(120)])

    assert measured_sums(share, table(first), names, 300) == measured(
        mean, first, first, names, 300
    )
    one = compared_sums(share, table(first), table(second), names, replicates=2000)
    other = compared(mean, first, second, first, names, comparable=lambda s: s, replicates=2000)
    assert (one.difference, one.low, one.high) == pytest.approx(
        (other.difference, other.low, other.high)
    )
    assert one.p_value == pytest.approx(other.p_value, abs=0.01)
    none = measured_sums(lambda total: math.nan, table(first), names, 100)
    assert (none.value, none.rows) == (None, 120)


def test_too_few_images_have_no_interval():
    found = measured(mean, [1.0, 0, 1], [0.0, 0, 0], ["a", "b", "c"], 100)
    assert (found.value, found.low, found.high) == (pytest.approx(2 / 3), None, None)
    assert measured(mean, [], [], [], 100).value is None
