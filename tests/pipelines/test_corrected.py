"""Figures corrected for the critic's errors, from profile and card to summary, report and board."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest
from commands import outcome, program, read
from tallied import DELETED, FINE, FIXED, LATER, MOOD, REFUSED, STRANGE, printed, row, tally_of

from revise_captions.critic.checkpoints import CARD
from revise_captions.critic.known_errors import known_errors, rates_of_curve
from revise_captions.critic.load import load_critic
from revise_captions.critic.locate import BUNDLED, stored_card
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.panel import first_of
from revise_captions.critic.profile import CriticProfile, MeasuredSentences, read_profile
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.io.writing import write_json
from revise_captions.pipelines import cli
from revise_captions.pipelines.rating import cli as rating
from revise_captions.pipelines.report.page import write_report
from revise_captions.signature import settings_of
from revise_captions.stats.calibration import calibrate
from revise_captions.stats.error_correction import ErrorRates, MeasuredShare
from revise_captions.stats.probability_maps import ProbabilityMap
from revise_captions.stats.verdict_levels import JudgedPopulation, fitted_levels

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
    plain, found = tally.to_json()["corrected"], tally.to_json(errors={"": errors()})["corrected"]
    assert plain is None
    true = (4 / 7 - 0.2) / 0.7
    assert found["before"]["value"] == pytest.approx(true, abs=1e-6)
    kept, flagged = true * 0.9 / (4 / 7), true * 0.1 / (3 / 7)
    after = (4 * kept + flagged + 0.5) / 6
    assert found["after"]["value"] == pytest.approx(after, abs=1e-6)
    assert found["before"]["low"] < true < found["before"]["high"]
    assert tally.to_json(errors={"": errors(None)})["corrected"]["after"]["value"] is None


def test_terminal_and_headline_say_what_it_rests_on(tally):
    text = printed(tally.to_json(errors={"": errors()}))
    head = " ".join(text.split())
    assert head.index("corrected for the critic's errors, 53.1 % before and ") < head.index(
        "As the critic sees it, "
    )
    assert text.index("Sentences, corrected      53.1 % [") < text.index("  as the critic sees it ")
    assert "Of accepted rewrites 50.0 % were true." in text
    bounds = " ".join(printed(tally.to_json(errors={"": errors(None)})).split())
    assert "53.1 % before and between " in bounds
    assert "accepted rewrites that are true was never measured" in bounds
    alone = printed(tally.to_json(calibrated=False))
    assert "as the uncalibrated critic sees it" in alone.replace("\n", " ")
    assert "Called factual" in alone
    assert "uncalibrated: this critic's error rates were never measured" in " ".join(alone.split())
    assert "corrected" not in alone


def test_captions_of_another_kind_widen_the_interval_and_are_named(tally):
    own = tally.to_json(errors={"": errors()})["corrected"]
    wider = replace(errors(), elsewhere=replace(LENIENT, origin="captions of things never seen"))
    summary = tally.to_json(errors={"": wider})
    found = summary["corrected"]
    for when in ("before", "after"):
        assert found[when]["value"] == own[when]["value"]
        assert found[when]["low"] < own[when]["low"]
    head = " ".join(printed(summary).split())
    assert (
        "The intervals allow for captions of things never seen, too: 95.0 % and 45.0 %, of "
        "accepted rewrites 80.0 %." in head
    )


def test_rates_that_change_with_what_is_called_factual_are_told(tally):
    known = [JudgedPopulation(60, 30 + k, 40, 10) for k in range(0, 25, 5)]
    moving = replace(errors(), levels=fitted_levels(known))
    summary = tally.to_json(errors={"": moving})
    kept, flagged = moving.levels.true_of(np.array(4 / 7))
    assert summary["corrected"]["before"]["value"] == pytest.approx(
        4 / 7 * kept + 3 / 7 * flagged, abs=1e-6
    )
    assert "the values follow 5 kinds of captions" in " ".join(printed(summary).split())


def test_the_report_shows_it(tally, tmp_path):
    write_report(
        tmp_path / "r.html", summary=tally.to_json(errors={"": errors(None)}), rows=[], title="t"
    )
    page = (tmp_path / "r.html").read_text()
    assert "corrected for the critic&#39;s errors" in page
    lead = re.sub(
        "<[^>]+>|\\s+", " ", page[page.index('<p class="lead">') : page.index('<dl class="tiles">')]
    )
    assert "Corrected for the critic's errors, 53.1 %" in " ".join(lead.split())
    assert lead.index("53.1 %") < lead.index("As the critic itself sees it,")
    assert "accepted rewrites that are true was never measured" in page
    plain = tmp_path / "p.html"
    write_report(plain, summary=tally.to_json(calibrated=False), rows=[], title="t")
    assert (
        "The share of sentences that the uncalibrated critic judges factual." in plain.read_text()
    )


def test_too_few_records_are_not_corrected():
    assert tally_of(*[row(FINE)] * 4).to_json(errors={"": errors()})["corrected"] is None


# --- Several experts ----------------------------------------------------------------------------

#: Passes 95 % of the true sentences and 45 % of the wrong ones.
LENIENT = ErrorRates(
    MeasuredShare(0.95, 300, 300), MeasuredShare(0.45, 300, 300), MeasuredShare(0.8, 99, 99), "b"
)


def panel_rows() -> list[dict]:
    """Of “a” 28 sentences, 16 called factual, as in `tally`; of “b” 40, 32 called factual."""
    own = [row(FINE, MOOD, FIXED, expert="a"), row(REFUSED, STRANGE, FINE, expert="a"),
           row(DELETED, LATER, expert="a")]  # fmt: skip
    return [*own * 4, *[row(FINE, FINE, FINE, FINE, REFUSED, expert="b")] * 8]


def test_experts_are_corrected_each_for_its_own_errors_and_count_by_their_sentences():
    """By hand: “a” (4/7 - 0.2)/0.7 of 28, “b” (0.8 - 0.45)/0.5 = 0.7 of 40.

    After it “a” has 24 sentences, corrected as in `test_the_summary_has_both`. “b” is unchanged:
    what is kept has 0.7 · 0.95 / 0.8 true ones, what is still flagged 0.7 · 0.05 / 0.2.
    """
    known = {"a": errors(), "b": LENIENT}
    found = tally_of(*panel_rows()).to_json(errors=known)
    one = (4 / 7 - 0.2) / 0.7
    before = (28 * one + 40 * 0.7) / 68
    assert found["corrected"]["before"]["value"] == pytest.approx(before, abs=1e-6)
    kept, flagged = one * 0.9 / (4 / 7), one * 0.1 / (3 / 7)
    after = (4 * (4 * kept + flagged + 0.5) + 40 * 0.7) / 64
    assert found["corrected"]["after"]["value"] == pytest.approx(after, abs=1e-6)
    assert found["corrected"]["before"]["low"] < before < found["corrected"]["before"]["high"]
    assert found["corrected"]["left_out"] == 0
    basis = {one["expert"]: one for one in found["corrected"]["rests_on"]}
    assert [basis[name]["origin"] for name in "ab"] == ["a test", "b"]
    assert basis["b"]["wrong_called_factual"] == {"share": 0.45, "sentences": 300}
    assert basis["b"]["accepted_rewrites_true"] == {"share": 0.8, "sentences": 99}
    alone = {name: found["experts"][name]["corrected"]["before"]["value"] for name in "ab"}
    assert alone == {"a": pytest.approx(one, abs=1e-6), "b": pytest.approx(0.7, abs=1e-6)}


def test_sentences_of_unmeasured_experts_are_left_out_and_said_to_be():
    tally = tally_of(*panel_rows())
    found = tally.to_json(errors={"a": errors(), "b": None})
    alone = tally_of(*panel_rows()[:12]).to_json(errors={"a": errors()})
    assert found["corrected"]["before"]["value"] == alone["corrected"]["before"]["value"]
    assert found["corrected"]["left_out"] == 40
    assert [one["expert"] for one in found["corrected"]["rests_on"]] == ["a"]
    assert found["experts"]["b"]["corrected"] is None
    text = " ".join(printed(found).split())
    assert "Without 40 sentences judged by a critic whose error rates were never measured." in text
    assert "“a” calls 90.0 % of true and 20.0 % of wrong sentences factual" in text
    assert tally.to_json(errors={"a": None, "b": None})["corrected"] is None


def test_one_expert_whose_rewrites_nobody_measured_leaves_bounds():
    """0 or all of the 4 rewrites of “a” are true, of 64 sentences."""
    tally = tally_of(*panel_rows())
    found = tally.to_json(errors={"a": errors(None), "b": LENIENT})["corrected"]
    assert found["before"]["value"] is not None
    assert found["after"]["value"] is None
    sure = tally.to_json(errors={"a": errors(), "b": LENIENT})["corrected"]["after"]
    assert found["after"]["low"] < sure["value"] - 2 / 64 < sure["value"] + 2 / 64
    assert found["after"]["high"] > sure["value"] + 2 / 64


def test_what_two_experts_were_measured_on_are_two_samples():
    """Errors of independent samples partly cancel: the interval is √2 times as narrow.

    All records are alike, so that the run itself adds nothing.
    """
    rough = ErrorRates(MeasuredShare(0.9, 60, 60), MeasuredShare(0.2, 60, 60), None, "c")
    rows = [row(*[FINE] * 3, *[REFUSED] * 2, expert=name) for name in "ab" for _ in range(40)]
    found = tally_of(*rows).to_json(errors={"a": rough, "b": rough})
    widths = [
        one["before"]["high"] - one["before"]["low"]
        for one in (found["corrected"], found["experts"]["a"]["corrected"])
    ]
    assert widths[0] == pytest.approx(widths[1] / 2**0.5, rel=0.1)


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
    critic = first_of(load_critic("bundled", CriticOptions(Placement(device="cpu"))))
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
    (basis,) = found["rests_on"]
    assert basis["origin"] == f"the profile {name}"
    assert found["before"]["value"] < summary["factuality"]["all"]["before"]["value"]
    assert basis["accepted_rewrites_true"]["sentences"] > 20
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
    critic = load_critic("picturebook", CriticOptions(Placement(device="cpu")))
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
    del card["calibration"]["elsewhere"]
    (folder / CARD).write_text(json.dumps(card))
    own = known_errors(plain, str(folder))
    assert own.origin == "the critic's card"
    assert own.rewrites_true is None  # nobody said of which reviser
    assert own.wrong_kept.sentences == 250
    other = {"origin": "other scenes", "sentences": read_profile(profile).sentences.as_json()}
    card["calibration"]["elsewhere"] = other
    (folder / CARD).write_text(json.dumps(card))
    found = known_errors(plain, str(folder))
    assert found.elsewhere == replace(own, origin="other scenes")
    assert replace(found, elsewhere=None) == own


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
        {
            **load_critic("picturebook", CriticOptions(Placement(device="cpu"))).settings,
            "threshold": str(card.threshold),
        }
    )
    assert 0.98 < found.true_kept.share <= 1
    assert 0 < found.wrong_kept.share < 0.3


def test_one_profile_is_for_one_critic(profile):
    from revise_captions.dcscore.load import load_unit_scoring

    scoring = load_unit_scoring("sentences", ["bundled"], Placement(device="cpu"), profile=profile)
    assert scoring.settings["calibration"] == read_profile(profile).name
    with pytest.raises(UserError, match="is of one critic, and here bundled, bundled would judge"):
        load_unit_scoring("sentences", ["bundled", "bundled"], profile=profile)
