"""`captions calibrate` and `--critic-profile`: against critics whose errors are known."""

from __future__ import annotations

import dataclasses
import json
import shutil
from contextlib import closing

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image
from tinycritic import saved

from revise_captions.critic.checkpoints import CARD
from revise_captions.critic.known_errors import known_errors
from revise_captions.critic.load import load_critic
from revise_captions.critic.locate import BUNDLED, stored_card
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.profile import read_profile
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.finetune.calibration import run
from revise_captions.finetune.calibration.cli import calibrate_critic as command
from revise_captions.finetune.calibration.measure import judged
from revise_captions.finetune.calibration.run import calibrate
from revise_captions.finetune.calibration.sentences import read_folder
from revise_captions.io.readers import open_source
from revise_captions.io.source import WINDOW
from revise_captions.picturebook.generate import main as generate
from revise_captions.pipelines.job.probe import look_ahead
from revise_captions.records import Span, Unscored, Verdict

LEANING = 2.5


def written(folder, images: int, per_image: int = 6, seed: int = 0, **more):
    """Captions of which the sentences' true probability of being true is part of their text."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    lines = []
    for number in range(images):
        noise = rng.integers(0, 256, (24, 24, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / f"{number}.png")
        caption, sentences = "", []
        for true in rng.beta(0.7, 0.7, per_image):
            said = f"P {true:.4f} {rng.integers(10**6)}."
            start = len(caption) + bool(caption)
            caption += " " * bool(caption) + said
            label = "factual" if rng.random() < true else "nonfactual"
            sentences.append({"start": start, "end": len(caption), "label": label, **more})
        lines.append({"image": f"{number}.png", "caption": caption, "sentences": sentences})
    (folder / "train.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return folder


def leaning(request: JudgeRequest, index: int) -> Verdict:
    """Too sure by a factor, and leaning to Yes."""
    p = float(request.spans[index].of(request.text).split()[1])
    z = LEANING * (np.log(max(p, 1e-4)) - np.log(max(1 - p, 1e-4))) + 1
    return Verdict(round(float(1 / (1 + np.exp(-z))), 4))


@pytest.fixture
def scripted(monkeypatch):
    """A function that has `captions calibrate` load a critic with these verdicts."""

    def install(verdicts, **settings):
        named = {"critic": "scripted", "prompt": "p/1", "calibration": "none", **settings}
        critic = ScriptedCritic(verdicts=verdicts, settings=named)
        monkeypatch.setattr(run, "load_critic", lambda *_, **__: critic)
        return critic

    return install


def test_an_overconfident_critic_is_put_right(scripted, tmp_path):
    """The map is the inverse of the distortion, found on one half and measured on the other."""
    scripted(leaning)
    data = written(tmp_path / "data", 300, 16)
    profile = calibrate("scripted", data, tmp_path / "p.json", replicates=200)
    stored = json.loads((tmp_path / "p.json").read_text())
    assert read_profile(tmp_path / "p.json").as_json() == stored
    assert json.loads(json.dumps(profile.as_json())) == stored
    before, after = profile.figures["before"]["ece"], profile.figures["after"]["ece"]
    assert before["low"] > 0.08
    assert after["value"] < 0.05
    assert after["low"] <= after["value"] <= after["high"] or after["low"] == 0
    logistic = calibrate("scripted", data, tmp_path / "q.json", method="logistic", replicates=200)
    assert 1 / logistic.map.scale == pytest.approx(LEANING, rel=0.25)
    assert logistic.map.shift == pytest.approx(-1 / LEANING, abs=0.15)
    halves = profile.measured_on["fitted"]["images"], profile.measured_on["held_out"]["images"]
    assert halves == (150, 150)
    assert profile.measured_on["files"][0]["name"] == "train.jsonl"


def test_a_calibrated_critic_is_left_alone_by_the_scores(scripted, tmp_path):
    """Of equally good maps the simplest: here P is the probability itself."""
    scripted(lambda q, k: Verdict(float(q.spans[k].of(q.text).split()[1])))
    profile = calibrate("s", written(tmp_path / "d", 200), tmp_path / "p.json", replicates=200)
    tried = profile.figures["brier_cross_validated"]
    assert set(tried) == {"none", "temperature", "logistic", "isotonic"}
    assert tried["none"] <= min(tried.values()) + 0.002
    assert profile.figures["before"]["ece"]["value"] < 0.05


def test_rates_are_those_of_held_out_sentences_at_the_threshold(scripted, tmp_path):
    scripted(leaning)
    profile = calibrate("s", written(tmp_path / "d", 120), tmp_path / "p.json", replicates=200)
    found, kept = profile.rates(profile.threshold, {}), profile.sentences
    assert found is not None
    assert len(kept.p) == profile.measured_on["held_out"]["sentences"]
    said = kept.p >= profile.threshold
    assert found.true_kept.share == pytest.approx(said[kept.factual].mean())
    assert found.wrong_kept.share == pytest.approx(said[~kept.factual].mean())
    assert found.rewrites_true is None
    assert found.true_kept.size <= found.true_kept.sentences


def test_rewrites_are_measured_apart(scripted, tmp_path):
    """They shift neither map nor rates; those that would be accepted are counted by their truth."""
    scripted(leaning)
    data = written(tmp_path / "d", 60)
    alone = calibrate("s", data, tmp_path / "a.json", replicates=200)
    more = written(tmp_path / "more", 40, seed=1, rewritten=True)
    rows = [json.loads(line) for line in (more / "train.jsonl").read_text().splitlines()]
    with (data / "train.jsonl").open("a") as file:
        for number, row in enumerate(rows):
            file.write(json.dumps({**row, "image": f"{number}.png"}) + "\n")
    signature = "critic:x|reviser:me|reviser-revision:1|threshold:0.5|revise-captions:0"
    (data / "data.json").write_text(json.dumps({"name": "run", "signature": signature}))
    profile = calibrate("s", data, tmp_path / "b.json", replicates=200)
    assert profile.map == alone.map
    assert profile.threshold == alone.threshold
    assert profile.reviser == {"reviser": "me", "reviser-revision": "1"}
    assert profile.rates(0.5, {"reviser": "other"}).rewrites_true is None
    (more / "data.json").write_text(json.dumps({"name": "r", "signature": signature}))
    apart = calibrate("s", data, tmp_path / "c.json", rewrites=more, replicates=200)
    assert apart.sentences.as_json() == profile.sentences.as_json()
    assert apart.reviser == profile.reviser
    with pytest.raises(UserError, match=r"no sentence of .* is marked as a rewrite"):
        calibrate("s", data, tmp_path / "d.json", rewrites=written(tmp_path / "none", 2))
    found = profile.rates(profile.threshold, dict(profile.reviser)).rewrites_true
    of = profile.sentences.rewritten & (profile.sentences.p >= profile.threshold)
    assert found.sentences == of.sum() > 50
    assert found.share == pytest.approx(profile.sentences.factual[of].mean())


def test_a_stratified_sample_counts_by_its_weights(scripted, tmp_path):
    """Rates of a sample that holds few of the sure sentences are those of the whole run."""
    scripted(leaning)
    data = written(tmp_path / "d", 200, 40)
    whole = calibrate("s", data, tmp_path / "w.json", method="none", replicates=100)
    rng = np.random.default_rng(5)
    lines = []
    for line in (data / "train.jsonl").read_text().splitlines():
        row = json.loads(line)
        kept = []
        for s in row["sentences"]:
            sure = abs(float(row["caption"][s["start"] : s["end"]].split()[1]) - 0.5) > 0.3
            if not sure or rng.random() < 0.25:
                kept.append({**s, "weight": 4.0 if sure else 1.0})
        if kept:
            lines.append(json.dumps({**row, "sentences": kept}))
    (data / "train.jsonl").write_text("\n".join(lines) + "\n")
    sample = calibrate("s", data, tmp_path / "s.json", method="none", replicates=100)
    for key in ("true_kept", "wrong_kept"):
        of_all = getattr(whole.rates(0.5, {}), key).share
        drawn = getattr(sample.rates(0.5, {}), key)
        assert drawn.share == pytest.approx(of_all, abs=0.05)
        assert drawn.size < drawn.sentences
    unweighted = sample.sentences.p[~sample.sentences.factual] >= 0.5
    assert abs(unweighted.mean() - whole.rates(0.5, {}).wrong_kept.share) > 0.05


@pytest.mark.parametrize(
    ("verdict", "images", "said"),
    [
        (Verdict(None, Unscored.LANGUAGE), 4, r"judged none .* \(24 × language the critic"),
        (Verdict(0.5), 1, "sentences occur with 1 of 1 images"),
    ],
)
def test_what_cannot_be_measured_is_refused(scripted, tmp_path, verdict, images, said):
    scripted(lambda *_: verdict)
    with pytest.raises(UserError, match=said):
        calibrate("s", written(tmp_path / "d", images), tmp_path / "p.json")
    assert not (tmp_path / "p.json").exists()


def test_one_class_is_refused_and_ties_are_not(scripted, tmp_path):
    scripted(lambda *_: Verdict(0.5))
    data = written(tmp_path / "d", 8)
    profile = calibrate("s", data, tmp_path / "p.json", replicates=100)
    assert 0 <= profile.threshold <= 1
    text = (data / "train.jsonl").read_text().replace("nonfactual", "factual")
    (data / "train.jsonl").write_text(text)
    with pytest.raises(UserError, match="all 48 judged sentences are true"):
        calibrate("s", data, tmp_path / "q.json")


@pytest.fixture(scope="module")
def book(tmp_path_factory):
    data = tmp_path_factory.mktemp("book") / "data"
    options = ["--split", "validation", "--scenes", "12", "--captions", "1", "--workers", "1"]
    assert CliRunner().invoke(generate, [str(data), *options]).exit_code == 0
    return data


@pytest.fixture(scope="module")
def profile(book):
    out = book.parent / "bundled.json"
    options = ["--device", "cpu", "--map", "temperature", "--replicates", "100"]
    done = CliRunner().invoke(command, ["bundled", str(book), "--out", str(out), *options])
    assert done.exit_code == 0, done.output
    assert "calibration error (ECE)" in done.output
    return out


def test_a_profile_changes_the_answers_by_its_map_and_the_threshold(book, profile):
    plain = load_critic("bundled", CriticOptions(Placement(device="cpu")))
    known = load_critic("bundled", CriticOptions(Placement(device="cpu"), profile=profile))
    row = json.loads((book / "validation.jsonl").read_text().splitlines()[0])
    with Image.open(book / row["image"]) as image:
        spans = tuple(Span(s["start"], s["end"]) for s in row["sentences"])
        request = JudgeRequest(image.convert("RGB"), row["caption"], spans)
        one, other = plain.judge([request])[0], known.judge([request])[0]
    map_ = read_profile(profile).map
    assert [v.p_factual for v in other] == [
        pytest.approx(float(map_(np.array([v.p_factual]))[0])) for v in one
    ]
    assert known.threshold == read_profile(profile).threshold
    assert known.settings["calibration"].startswith("bundled.json@")
    given = load_critic(
        "bundled", CriticOptions(Placement(device="cpu"), profile=profile, threshold=0.25)
    )
    assert given.threshold == 0.25
    assert given.critic.threshold == pytest.approx(map_.before(0.25))
    curve = read_profile(profile).calibration["curve"]
    asked = load_critic(
        "bundled", CriticOptions(Placement(device="cpu"), profile=profile, target_precision=0.9)
    )
    assert asked.threshold in [point["threshold"] for point in curve]


def test_a_profile_of_another_critic_or_prompt_is_refused(profile, tmp_path):
    other = saved(tmp_path / "other")
    with pytest.raises(UserError, match=r"is of a critic with critic bundled@.* has other"):
        load_critic(str(other), CriticOptions(Placement(device="cpu"), profile=profile))
    stored = json.loads(profile.read_text())
    stored["critic"]["prompt"] = "vnli-0/0"
    changed = tmp_path / "prompt.json"
    changed.write_text(json.dumps(stored))
    with pytest.raises(UserError, match=r"with prompt vnli-0/0, but this one has vnli-4\.1/1"):
        load_critic("bundled", CriticOptions(Placement(device="cpu"), profile=changed))
    moved = shutil.copytree(BUNDLED, tmp_path / "copy")  # the digest decides, not the name
    assert load_critic(
        f"clauses={moved}", CriticOptions(Placement(device="cpu"), profile=profile)
    ).settings["calibration"]


def test_a_profile_is_of_a_critic_of_sentences_or_of_one_of_clauses(profile, tmp_path):
    """A critic asked about clauses, too, gives other answers."""
    options = CriticOptions(Placement(device="cpu"), profile=profile)
    assert load_critic("clauses", options).settings["calibration"].startswith("bundled.")
    with pytest.raises(UserError, match=r"with clauses clauses/\d+, but this one has none"):
        load_critic("picturebook", options)
    stored = json.loads(profile.read_text())
    del stored["critic"]["clauses"]
    of_sentences = tmp_path / "sentences.json"
    of_sentences.write_text(json.dumps(stored))
    options = CriticOptions(Placement(device="cpu"), profile=of_sentences)
    with pytest.raises(UserError, match="with clauses none, but this one has clauses/"):
        load_critic("bundled", options)
    assert load_critic("picturebook", options).settings["calibration"].startswith("sentences.")


def test_a_run_with_a_profile_is_warned_of_images_outside_the_domain(profile, tmp_path):
    given = tmp_path / "in.jsonl"
    given.write_text('{"image": "noise.png", "caption": "A dog."}\n' * (WINDOW + 1))
    noise = Image.effect_noise((256, 256), 99).convert("RGB")
    critic = load_critic("bundled", CriticOptions(Placement(device="cpu"), profile=profile))
    with closing(open_source(str(given))) as source:
        said = look_ahead(source, lambda _: noise, critic)
    assert said.endswith("32 of 32 sentences come back unscored: outside the model's domain")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "is not a critic's profile"),
        ("[]", "is not a critic's profile"),
        (
            '{"format": "other"}',
            "not 'other'",
        ),
        (
            '{"format": "revise-captions critic profile", "version": 2}',
            "`version`: input should be 1",
        ),
        ('{"format": "revise-captions critic profile", "version": 1}', "`critic`: field required"),
    ],
)
def test_what_is_no_profile_is_refused(tmp_path, content, said):
    (tmp_path / "p.json").write_text(content)
    with pytest.raises(UserError, match=said):
        read_profile(tmp_path / "p.json")


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("calibration", "threshold"), 7),
        (("calibration", "curve"), [{}]),
        (("map",), {"method": "magic"}),
        (("map",), {"method": "temperature", "temperature": 0, "shift": 0}),
        (("map",), {"method": "isotonic", "x": [0.1, 0.2], "y": [0.9, 0.1]}),
        (("sentences", "p"), [0.5]),
        (("sentences", "rewritten"), [10**6]),
    ],
)
def test_a_broken_profile_is_refused(profile, tmp_path, place, value):
    stored = json.loads(profile.read_text())
    inner = stored
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    (tmp_path / "p.json").write_text(json.dumps(stored))
    with pytest.raises(UserError, match="is not a critic's profile"):
        read_profile(tmp_path / "p.json")


def test_a_card_gets_what_was_measured(book, tmp_path):
    """The threshold of the chosen half, and the figures of the other."""
    folder, more = shutil.copytree(BUNDLED, tmp_path / "c"), shutil.copytree(book, tmp_path / "r")
    text = (more / "validation.jsonl").read_text().replace('"label"', '"rewritten": true, "label"')
    (more / "validation.jsonl").write_text(text)
    (more / "data.json").write_text(json.dumps({"signature": "reviser:me|reviser-device:cuda"}))
    options = ["--into-card", "--wrong-share", "0.1", "--device", "cpu", "--replicates", "100"]
    options += ["--rewrites", str(more)]
    done = CliRunner().invoke(command, [str(folder), str(book), *options])
    assert done.exit_code == 0, done.output
    card = stored_card(str(folder))
    assert card.calibration["wrong_share"] == 0.1
    assert card.calibration["figures"] == stored_card("bundled").calibration["figures"]
    assert card.threshold == card.calibration["threshold"]
    assert (card.probability_map != {}) is (card.map.method != "none")
    rewrites = card.calibration["measured"]["rewritten"]
    assert len(card.calibration["measured"]["p"]) == card.calibration["sentences"] + len(rewrites)
    assert card.calibration["reviser"] == {"reviser": "me"}
    settings = {
        **load_critic(str(folder), CriticOptions(Placement(device="cpu"))).settings,
        "reviser": "me",
    }
    known = known_errors({**settings, "threshold": str(card.threshold)}, str(folder))
    assert known.origin == "the critic's card"
    assert known.rewrites_true.sentences > len(rewrites) / 4
    assert json.loads((folder / CARD).read_text())["calibration"]["measured"]["weight"] is None


def test_a_map_in_the_card_is_the_profile_s_and_goes_on_top_of_an_earlier_one(book, tmp_path):
    """P through the card is P through the profile; calibrating again changes next to nothing."""
    folder, book = shutil.copytree(BUNDLED, tmp_path / "c"), shutil.copytree(book, tmp_path / "b")
    file = book / "validation.jsonl"
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    for sentence in [s for row in rows for s in row["sentences"]][::6]:  # or no map is steep enough
        sentence["label"] = "nonfactual" if sentence["label"] == "factual" else "factual"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plain = dataclasses.replace(stored_card("bundled"), probability_map={})
    plain.write(folder)
    options = ["--map", "logistic", "--wrong-share", "0.2", "--device", "cpu"]
    options += ["--replicates", "100"]
    profile = tmp_path / "p.json"
    for more in (["--out", str(profile)], ["--into-card"], ["--into-card"]):
        done = CliRunner().invoke(command, [str(folder), str(book), *options, *more])
        assert done.exit_code == 0, done.output
        if "--out" in more:
            mapped = read_profile(profile).map
            plain_p = _probabilities(
                load_critic(str(folder), CriticOptions(Placement(device="cpu"))), book
            )
    card = stored_card(str(folder))
    assert card.map.scale == pytest.approx(mapped.scale, rel=0.05)
    assert card.map.shift == pytest.approx(mapped.shift, abs=0.1)
    critic = load_critic(str(folder), CriticOptions(Placement(device="cpu")))
    assert critic.settings["probability-map"] == str(card.map)
    found = _probabilities(critic, book)
    assert found == pytest.approx(card.map(np.array(plain_p)).tolist(), abs=2e-3)
    assert not np.allclose(found, plain_p, atol=1e-2)


def _probabilities(critic, book):
    found = judged(critic, read_folder(book, None).captions)
    return found.p.tolist()


def test_a_critic_without_card_says_so_and_a_profile_ends_it(tmp_path, caplog):
    folder = saved(tmp_path / "plain")
    critic = load_critic(str(folder), CriticOptions(Placement(device="cpu")))
    assert critic.settings["calibration"] == "none"
    assert [r.message for r in caplog.records if "never calibrated" in r.message]
    assert (
        "calibration" not in load_critic("bundled", CriticOptions(Placement(device="cpu"))).settings
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ([], "give --out FILE for a profile, or --into-card"),
        (["--into-card", "--map", "isotonic"], "cannot hold an isotonic map"),
        (["--out", "there.json"], "exists"),
    ],
)
def test_options_that_contradict(book, tmp_path, monkeypatch, options, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there.json").write_text("{}")
    folder = shutil.copytree(BUNDLED, tmp_path / "c")
    ran = CliRunner().invoke(command, [str(folder), str(book), *options])
    assert said in str(ran.exception)


def test_a_folder_named_like_a_critic_is_not_the_critic(tmp_path, monkeypatch):
    """What lies in the working directory is neither read nor written for its name."""
    monkeypatch.chdir(tmp_path)
    for name in ("bundled", "charts"):
        (tmp_path / name).mkdir()
        shutil.copy(BUNDLED / CARD, tmp_path / name)
        with pytest.raises(
            UserError, match=f"{name} is not a folder with a critic.json to write to"
        ):
            calibrate(name, tmp_path / "data", None, into_card=True)
        assert (tmp_path / name / CARD).read_bytes() == (BUNDLED / CARD).read_bytes()
    with pytest.raises(UserError, match="data") as raised:
        calibrate("./charts", tmp_path / "data", None, into_card=True)
    assert "is not a folder with" not in raised.value.message
