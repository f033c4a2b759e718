"""`captions preferences`, from images to pairs that TRL reads."""

from __future__ import annotations

import json
import random

import pytest
from commands import outcome, program
from PIL import Image
from scripted_engine import ScriptedEngine

from revise_captions.dcscore.decomposers.sentences import SentenceDecomposer
from revise_captions.dcscore.load import UnitScoring, load_unit_scoring
from revise_captions.dcscore.units import UnitVerdict
from revise_captions.engines.protocol import Completion, Failed
from revise_captions.errors import EngineDead
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.pipelines.preferences import run as preference_run
from revise_captions.pipelines.preferences.cli import collect_preferences
from revise_captions.pipelines.preferences.sampling import CaptionSource
from revise_captions.records import Unscored

main = program(collect_preferences)

WORDS = ("True one.", "True two.", "False one.", "False two.", "Unclear.")


class ByItsFirstWord:
    """Verifies sentences by their first word; dies after so many calls."""

    settings = {"verifier": "by-word"}  # noqa: RUF012

    def __init__(self, calls: int = 99):
        self.calls = calls

    def verify(self, tasks):
        self.calls -= 1
        if self.calls < 0:
            raise EngineDead("gone")
        return [tuple(self._verdict(unit.text) for unit in task.caption.units) for task in tasks]

    def _verdict(self, text):
        if text.startswith("Unclear"):
            return UnitVerdict(None, unscored="unclear")
        return UnitVerdict(text.startswith("True"), 0.5)


class Writer(ScriptedEngine):
    """A policy whose captions depend on the seed and the place among the prompts alone."""

    def generate(self, prompts, max_tokens, sampling=None):
        self.asked.extend(prompts)
        drawn = random.Random(sampling.seed)
        texts = [" ".join(drawn.sample(WORDS, drawn.randint(1, 5))) for _ in prompts]
        return [Completion(text, True) for text in texts]


@pytest.fixture
def models(monkeypatch):
    """Replaces the models: a function that names them."""

    def use(engine=None, verifier=None):
        scoring = UnitScoring(SentenceDecomposer(), verifier or ByItsFirstWord())
        monkeypatch.setattr(
            preference_run, "_load", lambda options: (CaptionSource(engine, options), scoring)
        )

    return use


@pytest.fixture
def images(tmp_path, monkeypatch):
    """A file of 150 rows, two of them bad."""
    monkeypatch.chdir(tmp_path)
    Image.new("RGB", (8, 8)).save("a.png")
    lines = [json.dumps({"image": "a.png", "id": number}) for number in range(150)]
    lines[3], lines[100] = "{broken", json.dumps({"image": "missing.png"})
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    return tmp_path


def rows(path):
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_sampled_captions_become_pairs(images, models, capsys):
    models(Writer())
    asked = ("in.jsonl", "out.jsonl", "--policy", "p", "--samples", "4", "--prompt", "caption en")
    code, out, _ = outcome(main, capsys, *asked)
    assert code == 0
    pairs = rows(images / "out.jsonl")
    assert {pair["by"] for pair in pairs} == {"c_p", "c_r", "both"}
    for pair in pairs:
        assert pair["images"] == ["a.png"]
        assert pair["prompt"] == [{"role": "user", "content": "caption en"}]
        ends = [pair[side][0]["content"] for side in ("chosen", "rejected")]
        true = [text.count("True") for text in ends]
        units = [text.count(".") for text in ends]
        assert pair["c_r"] == units
        judged = [u - text.count("Unclear") for u, text in zip(units, ends, strict=True)]
        shares = [t / u for t, u in zip(true, judged, strict=True)]
        assert pair["c_p"] == pytest.approx(shares, abs=1e-6)
        assert pair["words"] == [len(text.split()) for text in ends]
        if pair["by"] in ("c_p", "c_r"):
            chosen, rejected = pair[pair["by"]]
            assert pair["margin"] == pytest.approx(chosen - rejected, abs=2e-6)
            assert chosen > rejected
    bad = rows(images / "out.quarantine.jsonl")
    assert [row["line"] for row in bad] == [4, 101]
    assert "148 images" in out
    assert "2 rows in out.quarantine.jsonl" in out
    assert "longer wins" in out
    assert not (images / "out.jsonl.journal").exists()


def test_a_run_that_died_goes_on_to_the_same_bytes(images, models, capsys):
    asked = ("in.jsonl", "out.jsonl", "--policy", "p", "--samples", "3")
    models(Writer())
    assert outcome(main, capsys, *asked)[0] == 0
    whole = (images / "out.jsonl").read_bytes()
    (images / "out.jsonl").unlink()
    models(Writer(), ByItsFirstWord(calls=2))
    code, _, said = outcome(main, capsys, *asked, "--force")
    assert (code, "--resume" in said) == (3, True)
    assert not (images / "out.jsonl").exists()
    models(Writer())
    assert outcome(main, capsys, *asked)[0] == 2, "an unfinished run is not lost without a word"
    last = Writer()
    models(last)
    assert outcome(main, capsys, *asked, "--resume")[0] == 0
    assert (images / "out.jsonl").read_bytes() == whole
    assert len(last.asked) == 22 * 3  # the last window alone is sampled again
    models(Writer())
    code, _, said = outcome(main, capsys, *asked)
    assert (code, "exists" in said) == (2, True)
    code, _, said = outcome(main, capsys, *asked, "--resume")
    assert (code, "out.jsonl is already complete: " in said) == (0, True)
    assert (images / "out.jsonl").read_bytes() == whole
    (images / "other.jsonl").write_text('{"image": "b.png"}\n')
    code, _, said = outcome(main, capsys, "other.jsonl", *asked[1:], "--resume")
    assert (code, "there is nothing to resume" in said) == (2, True), "of other images"
    (images / "out.jsonl").write_text('{"somebody": "else"}\n')
    code, _, said = outcome(main, capsys, *asked, "--resume")
    assert (code, "there is nothing to resume" in said) == (2, True)


def test_given_captions_are_compared_with_each_other(images, models, capsys):
    lines = [
        {"image": "a.png", "a": "True one. False one.", "b": ["True one. True two.", "Unclear."]},
        {"image": "a.png", "a": "True one.", "b": 7},
        {"image": "a.png", "a": "True one.", "b": []},
    ]
    (images / "in.jsonl").write_text("\n".join(map(json.dumps, lines)))
    models()
    asked = ("in.jsonl", "out.jsonl", "--given", "a,b", "--by", "c_p")
    assert outcome(main, capsys, *asked)[0] == 0
    (pair,) = rows(images / "out.jsonl")
    assert pair["chosen"][0]["content"] == "True one. True two."
    assert pair["rejected"][0]["content"] == "True one. False one."
    bad = rows(images / "out.quarantine.jsonl")
    assert [(row["line"], row["reason"]) for row in bad] == [
        (2, "caption_not_text"),
        (3, "missing_caption"),
    ]


def test_a_policy_that_fails_costs_its_own_row(images, models, capsys):
    class Failing(Writer):
        def generate(self, prompts, max_tokens, sampling=None):
            found = super().generate(prompts, max_tokens, sampling)
            return [Failed(Unscored.TOO_LONG, "over")] * 3 + found[3:]

    models(Failing())
    asked = ("in.jsonl", "out.jsonl", "--policy", "p", "--samples", "3", "--limit", "3")
    assert outcome(main, capsys, *asked)[0] == 0
    (bad,) = rows(images / "out.quarantine.jsonl")
    assert bad["line"] == 1
    assert "over" in bad["detail"]
    models(Failing())
    code, _, said = outcome(main, capsys, *asked[:-1], "1", "--force")
    assert (code, "no record of 1 could be processed" in said) == (5, True)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "no captions to compare"),
        (("--policy", "p", "--samples", "1"), "makes no pair"),
        (("--policy", "p", "--by", "c_q"), "no score c_q"),
        (("--policy", "p", "--from-revisions"), "takes both captions"),
    ],
)
def test_what_cannot_be(images, models, capsys, options, said):
    models()
    code, _, err = outcome(main, capsys, "in.jsonl", "out.jsonl", *options)
    assert (code, said in err) == (2, True)
    code, _, err = outcome(main, capsys, "in.jsonl", "out.parquet", "--policy", "p")
    assert (code, "JSON Lines" in err) == (2, True)


def test_the_bundled_critic_prefers_what_the_oracle_prefers(tmp_path):
    """Of a careful and a careless caption of a scene, the careful one is chosen."""
    scoring = load_unit_scoring("sentences", ["bundled"])
    captions, right = [], 0
    for number in range(12):
        scene = sample_scene(number, "test")
        drawn = random.Random(number)
        both = [caption(scene, drawn, error_rate=rate, sentences=6) for rate in (0.0, 0.8)]
        careful, careless = (
            sum(sentence.truth is Truth.FALSE for sentence in one.sentences) for one in both
        )
        if careful == 0 and careless > 2:
            captions.append((draw(scene, 128), [one.text for one in both]))
    found = preference_run.candidates_of(captions, scoring)
    right = sum(good.c_p > bad.c_p for good, bad in found)
    assert len(found) >= 6
    assert right == len(found)
