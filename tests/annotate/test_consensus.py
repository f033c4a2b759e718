"""From answers to labels and figures: the protocol, the paper's tables, weights, bounds."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from revise_captions.pipelines.annotate.answers import consensus
from revise_captions.pipelines.annotate.answers.estimates import RatioTerm, share, tables
from revise_captions.pipelines.annotate.answers.readers import Problem, RaterAnswer
from revise_captions.pipelines.annotate.tasks.sampling import SentenceLocation
from revise_captions.pipelines.annotate.tasks.units import ItemTarget, SentenceInCaption, Unit
from revise_captions.pipelines.annotate.terminal import _tables, percent
from revise_captions.records import Span

# --- What cannot be used ------------------------------------------------------------------------


def unit(name: str = "u", *, image: str = "i", weight: float = 1.0, **more) -> Unit:
    text = SentenceInCaption("It sleeps.", Span(0, 10), 1, 1)
    given = {"p_factual": 0.1, "flagged": True, "threshold": 0.5} | more
    judged = (given.pop(key) for key in ("p_factual", "flagged", "threshold"))
    return Unit(name, SentenceLocation(1, "", 0), "s", weight, text, *judged, image=image, **given)


def said(item: str, rater: str, label: str, *, when: str = "", **more: str) -> RaterAnswer:
    return RaterAnswer(item, rater, {"label": label} | more, "here", when)


def collected(answers, planned: int = 5, least: int = 3) -> consensus.CollectedAnswers:
    one = unit()
    return consensus.collect([one], answers, planned, least, ["factuality"])


ITEM = unit().item(ItemTarget.ORIGINAL)


def votes(labels: str) -> list[RaterAnswer]:
    spelt = {"E": "Entailment", "N": "Neutral", "C": "Contradiction", "X": "nothing_to_assess"}
    return [
        said(ITEM, str(k), spelt[one], rationale="wrong" * (k + 1)) for k, one in enumerate(labels)
    ]


@pytest.mark.parametrize(
    ("labels", "good", "kinds"),
    [
        ("EECNE", True, []),
        ("CECNE", False, []),
        ("XXXCC", True, []),
        ("CCNE", False, [consensus.FEWER]),
        ("CCEE", None, [consensus.TIE]),
        ("CC", None, [consensus.TOO_FEW]),
        ("CCCCCC", False, [consensus.MORE]),
        ("", None, [consensus.NO_ANSWERS]),
    ],
)
def test_the_protocol_and_what_it_cannot_decide(labels, good, kinds):
    found = collected(votes(labels))
    assert [problem.kind for problem in found.problems] == kinds
    assert all(problem.item == ITEM for problem in found.problems)
    decided = found.of(ItemTarget.ORIGINAL)
    assert (decided["u"].good if decided else None) is good


def test_everything_odd_is_named():
    odd = [
        said("nowhere", "1", "Neutral"),
        said(ITEM, "2", "dunno"),
        RaterAnswer(ITEM, "3", {"rationale": "no label"}, "here"),
        Problem("skipped by the rater", ITEM, "4"),
        said(ITEM, "0", "Entailment"),  # answered before: the later one counts
        said(ITEM, "1", "Contradiction", rationale="wrong" * 2),  # the same again
    ]
    found = collected([*votes("CCC"), *odd])
    kinds = Counter(problem.kind for problem in found.problems)
    assert kinds == {
        consensus.UNKNOWN: 1,
        consensus.NOT_A_CHOICE: 2,
        "skipped by the rater": 1,
        consensus.TWICE: 1,
        consensus.AGAIN: 1,
        consensus.FEWER: 1,
    }
    (result,) = found.results
    assert result.labels == {"0": "entailment", "1": "contradiction", "2": "contradiction"}


def test_of_two_answers_the_later_one_counts():
    early, late = "2026-01-01T10:00", "2026-01-02T10:00"
    for order in (1, -1):
        pair = [said(ITEM, "a", "Neutral", when=early, rationale="x"),
                said(ITEM, "a", "Entailment", when=late)][::order]  # fmt: skip
        found = collected(pair, planned=1, least=1)
        assert found.of(ItemTarget.ORIGINAL)["u"].good is True


def test_a_wrong_sentence_without_a_reason_is_named():
    found = collected([said(ITEM, str(k), "Neutral") for k in range(5)])
    assert Counter(problem.kind for problem in found.problems) == {consensus.NO_RATIONALE: 5}
    assert found.of(ItemTarget.ORIGINAL)["u"].good is False


# --- Figures ------------------------------------------------------------------------------------


def plain_rows(right: int, total: int) -> list[RatioTerm]:
    return [RatioTerm(unit(str(k), image=str(k)), k < right) for k in range(total)]


@pytest.mark.parametrize(
    ("right", "total", "printed"),
    [
        (123, 342, 35.96), (154, 342, 45.03), (151, 342, 44.15), (222, 342, 64.91),
        (250, 342, 73.1), (251, 342, 73.39), (86, 179, 48.04), (104, 179, 58.1),
        (112, 179, 62.57), (143, 179, 79.89), (141, 179, 78.77), (142, 179, 79.33),
    ],
)  # fmt: skip
def test_the_papers_table_5_is_of_342_and_179_sentences(right, total, printed):
    """All twelve figures as printed; the numbers of sentences are inferred from them."""
    found = share("5", "", "", plain_rows(right, total), 200)
    assert found.value is not None
    assert round(100 * found.value, 2) == printed


@pytest.mark.parametrize(("before", "after"), [(15, 61), (24, 75)])
def test_the_papers_table_6(before, after):
    """100 flagged sentences as in DetailCaps and PixelProse: the line that the paper prints."""
    results = []
    for k in range(100):
        text = SentenceInCaption("It is awake.", Span(0, 12), 1, 1)
        one = unit(
            str(k), image=str(k), revised=text, accepted=True, p_after=0.3 if k % 2 else 0.6,
            threshold=(0.2 if k % 2 else 0.5) if k < 64 else 0.7,
        )  # fmt: skip
        for asked, good in (
            (ItemTarget.ORIGINAL, k < before),
            (ItemTarget.REVISED, k >= 100 - after),
        ):
            results.append(consensus.ItemResult(one, asked, {}, None, good))
    found = {
        (s.row, s.column): s for s in tables(consensus.CollectedAnswers(tuple(results), ()), 200)
    }
    line = [found["all rewrites, people", column] for column in ("original", "fixed", "change")]
    assert [round(100 * (s.value or 0)) for s in line] == [before, after, after - before]
    #: of two experts, each with its own threshold, 64 rewrites are factual
    critic = found["all rewrites, critic", "change"]
    assert percent(critic.as_json(), change=True).startswith("+64.0")
    assert found["precision", "flagged sentences that are wrong"].value == 1 - before / 100


def population(seed: int = 5) -> list[tuple[int, float]]:
    """(stratum, truth) of 2,000 sentences: a large stratum that is nearly all true, small ones."""
    rng = np.random.default_rng(seed)
    shares = {0: (1600, 0.95), 1: (300, 0.5), 2: (100, 0.1)}
    return [(k, float(rng.random() < p)) for k, (n, p) in shares.items() for _ in range(n)]


def test_weights_lead_from_the_sample_back_to_the_run():
    """Over many equal-allocation samples the weighted share is the run's; the plain one is not.

    And its interval covers the run's share about as often as it says.
    """
    whole = population()
    truth = float(np.mean([y for _, y in whole]))
    by_stratum = {k: [y for stratum, y in whole if stratum == k] for k in range(3)}
    rng = np.random.default_rng(0)
    values, plain, covered = [], [], 0
    for trial in range(200):
        sample = []
        for own in by_stratum.values():
            for y in rng.choice(own, 30, replace=False):
                image = f"{trial}.{len(sample)}"
                one = unit(image, image=image, weight=len(own) / 30)
                sample.append(RatioTerm(one, float(y)))
        found = share("t", "", "", sample, 300)
        values.append(found.value)
        plain.append(found.plain)
        covered += found.low is None or found.low <= truth <= found.high
    error = np.std(values) / np.sqrt(len(values))
    assert abs(np.mean(values) - truth) < 3 * error + 1e-3
    assert abs(np.mean(plain) - truth) > 0.2
    assert covered >= 0.9 * 200


def test_shares_without_spread_have_exact_bounds():
    """Clopper and Pearson, 20 of 20: the lower bound is 0.8316."""
    found = share("t", "", "", plain_rows(20, 20), 200)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low == pytest.approx(0.025 ** (1 / 20), abs=1e-9)
    assert found.low == pytest.approx(0.8316, abs=1e-4)
    assert share("t", "", "", [], 200).value is None


def test_kishs_effective_size():
    even = [RatioTerm(unit(str(k), image=str(k), weight=7.0), 1.0) for k in range(12)]
    assert share("t", "", "", even, 100).effective == pytest.approx(12)
    uneven = [*even[:1], RatioTerm(unit("x", image="x", weight=1e9), 0.0)]
    found = share("critic", "", "", uneven, 100)
    assert found.effective == pytest.approx(1, abs=1e-6)
    (_, _, line) = _tables([found.as_json()])
    assert line.endswith("2 sentences (worth 1), 2 images")
