"""The rater's evaluation on raters whose quality is known by construction."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from revise_captions.critic import locate
from revise_captions.critic.paligemma import load
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.errors import UserError
from revise_captions.picturebook.captioners import CAPTIONERS
from revise_captions.records import Label, Verdict
from revise_captions.stats.leaderboard import CRITERIA, RatedSentence, collect, counts_of
from scripts.research.autorater import evaluate as evaluation
from scripts.research.autorater import scores as rater_scores
from scripts.research.autorater.estimates import (
    prior,
    prior_adjusted,
    rates,
    rates_taken_out,
    ratings,
    thresholded,
    truth,
)
from scripts.research.autorater.evaluate import as_markdown, enough, figures, summary
from scripts.research.autorater.scores import CaptionScores, Rater, read

#: 100 wrong and 300 true validation sentences; 80 and 30 of them flagged at 0.5.
CALIBRATION = {
    "sentences": 400,
    "factual": 300,
    "curve": [
        {"threshold": 0.3, "precision": 0.9, "recall": 0.5},
        {"threshold": 0.5, "precision": 80 / 110, "recall": 0.8},
    ],
}
RATER = Rater({"critic": "made@0"}, 0.5, CALIBRATION)


def captions(noise: float, images: int = 60) -> list[CaptionScores]:
    """The fourteen captioners; the critic's P is the truth plus so much Gaussian noise."""
    rng = np.random.default_rng(0)
    made = []
    for image in range(images):
        for captioner in CAPTIONERS:
            count = max(2, round(captioner.sentences))
            factual = rng.random(count) < captioner.correct / 100
            p = np.clip(factual * 0.8 + 0.1 + rng.normal(0, noise, count), 0, 1)
            claims = np.ones(count, dtype=bool)
            made.append(CaptionScores(captioner.name, f"{image}", 12 * count, p, factual, claims))
    return made


@pytest.fixture(scope="module")
def perfect():
    return figures(captions(0.0), RATER)


def test_a_perfect_rater_agrees_perfectly(perfect):
    by_criterion = perfect["agreement"]["thresholded"]
    for criterion in CRITERIA:
        for kind in ("spearman", "kendall-b"):
            assert by_criterion[criterion][kind] == pytest.approx(
                {"value": 1.0, "low": 1.0, "high": 1.0}
            )
        assert by_criterion[criterion]["mean error"] == 0
    for scores in perfect["scores"].values():
        assert all(s["rater"] == s["oracle"] for s in scores.values())
    assert perfect["unscored"] == 0


def test_noise_costs_agreement_and_more_images_bring_it_back():
    found = figures(captions(0.5), RATER)
    noisy = found["agreement"]["thresholded"]["overall"]["spearman"]
    assert noisy["low"] < noisy["value"] < 1
    medians = [point["overall"]["median"] for point in found["curve"]]
    assert medians[-1] > medians[0]
    for point in found["curve"]:
        assert point["overall"]["perfect"] > point["overall"]["median"]


def test_enough_images_are_those_from_which_on_it_holds():
    points = [
        {"images": n, **{c: {"median": m} for c in CRITERIA}}
        for n, m in ((5, 0.99), (10, 0.9), (20, 0.98), (50, 0.995))
    ]
    assert enough(points) == dict.fromkeys(CRITERIA, 20)
    assert enough(points[:2]) == dict.fromkeys(CRITERIA)


def test_padding_changes_the_order_and_leaving_it_out_mends_it(perfect):
    found = perfect["disturbed"]
    padded = found["every other adds 5 sentences that claim nothing"]
    assert padded["overall"]["value"] < 0.95
    assert padded["response"]["value"] == pytest.approx(1)
    assert found["the same, such sentences left out"]["overall"]["value"] == pytest.approx(1)
    assert found["a fifth of the sentences unscored, at random"]["overall"]["value"] > 0.9
    assert found["every other stops after 3 sentences"]["response"]["value"] < 0.95


def test_the_tables_print_every_figure(perfect):
    text = as_markdown(perfect)
    row = "| overall | thresholded | 1.000 (1.000–1.000) | 1.000 (1.000–1.000) | 0.0 points |"
    assert row in text
    assert "| overall | floor: the longer the better | 0." in text
    assert "60 images × 14 captioners" in text
    short = summary(perfect)
    assert short.count("\n| ") == 4
    assert "| overall | 1.000 (1.000–1.000) | " in short


# --- ways to count ------------------------------------------------------------------------------


def made(captioner: str, p: list[float], image: str = "1") -> CaptionScores:
    p_, ones = np.array(p), np.ones(len(p), dtype=bool)
    return CaptionScores(captioner, image, 10, p_, ones, ones)


def test_the_thresholded_way_is_the_leaderboards_own():
    rng = np.random.default_rng(0)
    own = [
        made(
            name, np.where(rng.random(n := rng.integers(1, 6)) < 0.2, np.nan, rng.random(n)), str(k)
        )
        for k in range(40)
        for name in "ab"
    ]
    labels = [
        [
            Label.UNSCORED if np.isnan(p) else Label.FACTUAL if p >= 0.5 else Label.NONFACTUAL
            for p in c.p
        ]
        for c in own
    ]
    wanted = collect(
        (c.captioner, c.image, counts_of([RatedSentence(label) for label in row], c.words))
        for c, row in zip(own, labels, strict=True)
    )
    found = ratings(own, thresholded(own, RATER))
    assert found.captioners == wanted.captioners
    assert found.counts == pytest.approx(wanted.counts)


def test_rates_are_those_of_the_stored_curve():
    assert rates(RATER) == (pytest.approx(1 - 30 / 300), pytest.approx(0.2))
    with pytest.raises(UserError, match="not calibrated"):
        rates(Rater({}, 0.5, {}))


def test_taking_the_rates_out_gives_the_true_share_back():
    """60 of 100 sentences are true; 90 % of them and 20 % of the others are called true."""
    said = [0.9] * 54 + [0.1] * 6 + [0.9] * 8 + [0.1] * 32
    (values,) = rates_taken_out([made("a", said)], RATER)
    assert values.mean() == pytest.approx(0.6)


def test_the_prior_is_the_likeliest_share():
    """Two kinds of evidence with known likelihoods: EM ends where the likelihood is greatest."""
    base, likelihoods = 0.75, np.array([[0.8, 0.3], [0.2, 0.7]])  # (evidence, true or wrong)
    posterior = likelihoods[:, 0] * base
    posterior /= posterior + likelihoods[:, 1] * (1 - base)
    seen = np.repeat(posterior, [45, 55])
    grid = np.linspace(0.001, 0.999, 999)
    mixed = np.log(likelihoods[:, :1] * grid + likelihoods[:, 1:] * (1 - grid))
    best = grid[(np.array([45, 55]) @ mixed).argmax()]
    assert prior(seen, base) == pytest.approx(best, abs=2e-3)
    assert prior(np.array([np.nan]), base) == base


def test_adjusting_brings_every_captioner_to_its_own_share():
    rng = np.random.default_rng(2)
    own = []
    for name, share in (("weak", 0.4), ("strong", 0.95)):
        true = rng.random(4000) < share
        score = rng.normal(np.where(true, 1.0, -1.0))
        odds = np.exp(2 * score) * 0.75 / 0.25  # calibrated where 75 % are true
        own.append(made(name, odds / (1 + odds)))
    values = prior_adjusted(own, RATER)
    assert [v.mean() for v in values] == pytest.approx([0.4, 0.95], abs=0.02)
    assert own[0].p.mean() > 0.47


def test_the_oracle_s_board_is_its_truth():
    c = CaptionScores("a", "1", 9, np.zeros(4), np.array([1, 1, 0, 1], bool), np.ones(4, bool))
    assert truth([c]).sums("overall")[0].item() == 3
    assert truth([c]).sums("response")[0].item() == 0


# --- the file of scores -------------------------------------------------------------------------


class Half:
    """A critic that says 0.5 to everything, and counts what it was asked."""

    settings = {"critic": "half@abc"}  # noqa: RUF012
    threshold = 0.4
    asked = 0

    def judge(self, paragraphs: list[JudgeRequest]) -> list[list[Verdict]]:
        Half.asked += len(paragraphs)
        return [[Verdict(0.5) for _ in p.spans] for p in paragraphs]


@pytest.fixture
def half(monkeypatch, tmp_path):
    from revise_captions.critic.checkpoints import CriticCard
    from revise_captions.critic.paligemma.packing import AttentionMode

    Half.asked = 0
    card = CriticCard(AttentionMode.CAUSAL, 0.4, calibration=CALIBRATION)
    monkeypatch.setattr(locate, "find_checkpoint", lambda name: tmp_path)
    monkeypatch.setattr(locate, "weights_digest", lambda folder: "abc")
    monkeypatch.setattr(load, "load_paligemma", lambda name: Half())
    monkeypatch.setattr(locate, "stored_card", lambda name: card)
    monkeypatch.setattr(rater_scores, "SIZE", 64)
    return tmp_path / "scores.jsonl"


def test_scores_are_made_once_and_continued(half):
    rater, first = rater_scores.complete(half, "half", 2)
    assert (len(first), Half.asked) == (28, 28)
    assert rater == Rater(Half.settings, 0.4, CALIBRATION)
    again = rater_scores.complete(half, "half", 2)[1]
    assert Half.asked == 28
    # a run that ended in the middle of the second picture
    half.write_text(half.read_text()[:-40])
    more = rater_scores.complete(half, "half", 3)[1]
    assert Half.asked == 28 + 28
    assert [c.image for c in more[::14]] == ["test-10000", "test-10001", "test-10002"]
    for one, other in zip([*first, *more[28:]], more, strict=True):
        assert (one.captioner, one.words) == (other.captioner, other.words)
        assert np.array_equal(one.factual, other.factual)
    assert [c.words for c in again] == [c.words for c in first]
    assert read(half)[1][0].p.tolist() == [0.5] * len(first[0].p)


def test_scores_of_another_critic_are_refused(half, monkeypatch):

    rater_scores.complete(half, "half", 1)
    monkeypatch.setattr(locate, "weights_digest", lambda folder: "other")
    with pytest.raises(UserError, match="scores of half@abc, not of half@other"):
        rater_scores.complete(half, "half", 1)
    half.write_text("{}\n")
    with pytest.raises(UserError, match="holds no scores"):
        rater_scores.complete(half, "half", 1)


def test_the_command_prints_and_fills_a_page(half, tmp_path, monkeypatch):
    monkeypatch.setattr(evaluation, "ROOT", tmp_path)
    page = tmp_path / "docs/boards.md"
    page.parent.mkdir()
    (tmp_path / evaluation.KEPT).parent.mkdir(parents=True)
    page.write_text("before\n<!-- rater -->\nold\n<!-- /rater -->\nafter\n")
    call = ["--critic", "half", "--images", "12", "--scores", str(half), "--write"]
    ran = CliRunner().invoke(evaluation.main, [*call, "--json"])
    assert ran.exit_code == 0, ran.output
    assert json.loads(ran.stdout)["critic"] == "half@abc"
    text = page.read_text()
    assert text.startswith("before\n<!-- rater -->\n| criterion |")
    assert text.endswith("<!-- /rater -->\nafter\n")
    assert "\nold\n" not in text
    assert "| overall | none | " in text  # it never told two captioners apart
    page.write_text("nothing here")
    ran = CliRunner().invoke(evaluation.main, call)
    assert ran.exit_code == 1
    assert "0 of README.md and docs/*.md" in ran.output
