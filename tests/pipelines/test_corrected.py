"""Figures corrected for the critic's errors, from profile and card to summary, report and board."""

from __future__ import annotations

import json

import numpy as np
import pytest
from commands import outcome, program, read
from tallied import DELETED, FINE, FIXED, LATER, MOOD, REFUSED, STRANGE, printed, row, tally_of

from revise_captions.critic.checkpoints import CARD
from revise_captions.critic.known_errors import known_errors, rates_of_curve
from revise_captions.critic.load import load_critic
from revise_captions.critic.locate import BUNDLED, stored_card
from revise_captions.critic.profile import CriticProfile, MeasuredSentences, read_profile
from revise_captions.errors import UserError
from revise_captions.io.writing import write_json
from revise_captions.pipelines import cli
from revise_captions.pipelines.rating import cli as rating
from revise_captions.pipelines.report.page import write_report
from revise_captions.signature import settings_of
from revise_captions.stats.calibration import calibrate
from revise_captions.stats.error_correction import ErrorRates, MeasuredShare
from revise_captions.stats.probability_maps import ProbabilityMap

rate = program(rating.rate_captions)

CAPTIONS = "datasets/picturebook/examples/captions.jsonl"


def errors(rewrites: float | None = 0.5) -> ErrorRates:
    third = None if rewrites is None else MeasuredShare(rewrites, 500, 500)
    return ErrorRates(MeasuredShare(0.9, 500, 500), MeasuredShare(0.2, 500, 500), third, "a test")


@pytest.fixture
def tally():
    rows = [row(FINE, MOOD, FIXED), row(REFUSED, STRANGE, FINE), row(DELETED, LATER)]
    return tally_of(*rows * 4)


def test_the_summary_has_both(tally):
    """7 sentences are judged, 4 factual; after it 4 of these, 1 flagged one and 1 rewrite stand."""
    plain, found = tally.to_json()["corrected"], tally.to_json(errors=errors())["corrected"]
    assert plain is None
    true = (4 / 7 - 0.2) / 0.7
    assert found["before"]["value"] == pytest.approx(true, abs=1e-6)
    kept, flagged = true * 0.9 / (4 / 7), true * 0.1 / (3 / 7)
    after = (4 * kept + flagged + 0.5) / 6
    assert found["after"]["value"] == pytest.approx(after, abs=1e-6)
    assert found["before"]["low"] < true < found["before"]["high"]
    assert tally.to_json(errors=errors(None))["corrected"]["after"]["value"] is None


def test_terminal_and_headline_say_what_it_rests_on(tally):
    text = printed(tally.to_json(errors=errors()))
    assert "Corrected for its errors: 53.1 % before, " in text.replace("\n", " ")
    assert "  corrected for errors    53.1 % [" in text
    assert "Of accepted rewrites 50.0 % were true." in text
    bounds = " ".join(printed(tally.to_json(errors=errors(None))).split())
    assert "53.1 % before, between " in bounds
    assert "How many accepted rewrites are true, nobody measured" in bounds
    alone = printed(tally.to_json(calibrated=False))
    assert "as the uncalibrated critic sees it" in alone.replace("\n", " ")
    assert "Called factual" in alone
    assert "uncalibrated: nobody measured" in " ".join(alone.split())
    assert "corrected" not in alone


def test_the_report_shows_it(tally, tmp_path):
    write_report(
        tmp_path / "r.html", summary=tally.to_json(errors=errors(None)), rows=[], title="t"
    )
    page = (tmp_path / "r.html").read_text()
    assert "corrected for the critic&#39;s errors" in page
    assert "How many accepted rewrites are true, nobody measured" in page
    plain = tmp_path / "p.html"
    write_report(plain, summary=tally.to_json(calibrated=False), rows=[], title="t")
    assert "The share that the uncalibrated critic judges factual." in plain.read_text()


def test_too_few_records_are_not_corrected():
    assert tally_of(*[row(FINE)] * 4).to_json(errors=errors())["corrected"] is None


def test_rates_of_a_curve_are_those_of_its_sentences():
    """Also where the curve was weighted for another share of wrong sentences."""
    rng = np.random.default_rng(0)
    factual = rng.random(4000) < 0.6
    p = np.round(np.clip(rng.normal(np.where(factual, 0.7, 0.3), 0.2), 0, 1), 4)
    for share in (None, 0.1):
        stored = calibrate(p, factual, share).as_dict()
        found = rates_of_curve(stored, 0.5)
        assert found.true_kept.share == pytest.approx((p[factual] >= 0.5).mean(), abs=0.01)
        assert found.wrong_kept.share == pytest.approx((p[~factual] >= 0.5).mean(), abs=0.01)
        assert (found.true_kept.sentences, found.wrong_kept.sentences) == (
            factual.sum(),
            (~factual).sum(),
        )
    assert rates_of_curve({}, 0.5) is None
    assert rates_of_curve(stored, 0.0).wrong_kept.share == 1


@pytest.fixture(scope="module")
def profile(tmp_path_factory):
    """A profile of the bundled critic that says it passes a third of what is wrong."""
    rng = np.random.default_rng(1)
    factual = np.arange(600) % 2 == 0
    p = np.round(np.where(rng.random(600) < 1 / 3, 0.9, np.where(factual, 0.95, 0.1)), 4)
    rewritten = np.arange(600) >= 500
    sentences = MeasuredSentences(np.arange(600) // 3, p, factual, rewritten, np.ones(600))
    critic = load_critic("bundled", device="cpu")
    stored = calibrate(p[:500], factual[:500], threshold=0.5).as_dict()
    made = CriticProfile(
        dict(critic.settings), ProbabilityMap("temperature", 0.5), stored, sentences,
        {"reviser": "drop"}, {}, {},
    )  # fmt: skip
    path = tmp_path_factory.mktemp("profile") / "p.json"
    write_json(path, made.as_json())
    return path


@pytest.fixture(scope="module")
def judged(profile, tmp_path_factory):
    """The examples, revised with that profile, and the report's figures."""
    folder = tmp_path_factory.mktemp("judged")
    out, report = folder / "out.jsonl", folder / "r.html"
    given = [CAPTIONS, str(out), "--critic-profile", str(profile), "--report", str(report)]
    with pytest.raises(SystemExit) as ended:
        cli.main([*given, "--reviser", "drop", "--device", "cpu"])
    assert ended.value.code == 0
    return out, json.loads((folder / "r.json").read_text())


def test_a_run_with_a_profile(judged, profile):
    """P in the rows is the calibrated one, and the signature names the profile."""
    out, figures = judged
    summary, name = figures["summary"], read_profile(profile).name
    settings = settings_of(figures["signature"])
    assert (settings["calibration"], settings["threshold"]) == (name, "0.5000")
    found = summary["corrected"]
    assert found["rests_on"] == f"the profile {name}"
    assert found["before"]["value"] < summary["factuality"]["all"]["before"]["value"]
    assert found["accepted_rewrites_true"]["sentences"] > 20
    (first, *_) = read(out)
    values = [s["p_factual"] for s in first["revision"]["sentences"]]
    assert max(values) <= float(read_profile(profile).map(np.array([1.0]))[0]) < 1


def test_a_board_of_these_rows(judged, profile, tmp_path, capsys):
    """Without the profile nothing can be corrected; with another one it is refused."""
    code, text, _ = outcome(
        rate, capsys, judged[0], "--out", tmp_path / "b", "--replicates", 200,
        "--critic-profile", profile,
    )  # fmt: skip
    assert code == 0
    assert "Corrected by the profile p.json@" in text
    board = json.loads((tmp_path / "b/leaderboard.json").read_text())
    rows = {r["captioner"]: r for r in board["criteria"]["overall"]["table"]}
    one = rows["simulated-minigpt-4"]
    assert one["corrected_low"] <= one["corrected"] <= one["corrected_high"]
    assert one["corrected"] < one["score"]
    assert rows["simulated-minigpt-4, revised"]["corrected"] is None
    assert "Corrected by the profile" in (tmp_path / "b/leaderboard.html").read_text()
    assert "corrected" in (tmp_path / "b/overall.csv").read_text().splitlines()[0]
    code, text, _ = outcome(rate, capsys, "--out", tmp_path / "b", "--replicates", 200)
    assert (code, "Corrected by" in text) == (0, False)
    other = json.loads(profile.read_text()) | {"figures": {"x": 1}}
    write_json(tmp_path / "o.json", other)
    code, _, err = outcome(
        rate,
        capsys,
        "--out",
        tmp_path / "b",
        "--critic-profile",
        tmp_path / "o.json",
    )
    assert code == 2
    assert "were judged with calibration p.json@" in err


def test_what_is_known_of_a_critic(profile, judged, tmp_path):
    critic = load_critic("bundled", device="cpu")
    plain = {**critic.settings, "threshold": f"{critic.threshold:.4f}"}
    assert known_errors(plain).origin
    assert known_errors({**plain, "critic": "bundled@000000000000"}) is None
    assert known_errors({**plain, "critic": "gpt"}, "gpt@http://localhost:1/v1") is None
    assert known_errors({}) is None
    mapped = settings_of(judged[1]["signature"])
    assert known_errors(mapped) is None
    assert known_errors(mapped, profile=profile).rewrites_true is not None
    assert known_errors({**mapped, "reviser": "x"}, profile=profile).rewrites_true is None
    assert known_errors(plain, profile=profile).rewrites_true is None  # not judged with it
    folder = tmp_path / "own"
    folder.mkdir()
    for path in BUNDLED.iterdir():
        if path.name != CARD:
            (folder / path.name).symlink_to(path)
    card = json.loads((BUNDLED / CARD).read_text())
    card["calibration"]["measured"] = read_profile(profile).sentences.as_json()
    (folder / CARD).write_text(json.dumps(card))
    own = known_errors(plain, str(folder))
    assert own.origin == "the critic's card"
    assert own.rewrites_true is None  # nobody said of which reviser
    assert own.wrong_kept.sentences == 250


def test_a_stage_of_its_own_takes_only_the_profile_it_was_judged_with(profile, tmp_path, capsys):
    critique = tmp_path / "c.jsonl"
    given = (CAPTIONS, critique, "--stage", "critique", "--device", "cpu")
    assert outcome(cli.main, capsys, *given)[0] == 0
    code, _, err = outcome(
        cli.main, capsys, critique, tmp_path / "r.jsonl", "--stage", "revise",
        "--critic-profile", profile,
    )  # fmt: skip
    assert code == 2
    assert "were judged with calibration by card, not with the profile p.json@" in err


def test_the_card_of_the_bundled_critic_is_known():
    """What the demo's corrected figures rest on."""
    card = stored_card("bundled")
    found = known_errors(
        {**load_critic("bundled", device="cpu").settings, "threshold": str(card.threshold)}
    )
    assert 0.98 < found.true_kept.share <= 1
    assert 0 < found.wrong_kept.share < 0.3


def test_one_profile_is_for_one_critic(profile):
    from revise_captions.dcscore.load import load_unit_scoring

    scoring = load_unit_scoring("sentences", ["bundled"], profile=profile, device="cpu")
    assert scoring.settings["calibration"] == read_profile(profile).name
    with pytest.raises(UserError, match="is of one critic, and here bundled, bundled would judge"):
        load_unit_scoring("sentences", ["bundled", "bundled"], profile=profile)
