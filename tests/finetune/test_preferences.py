"""`captions train-preferences` on tiny policies of real architectures: one step of each method."""

from __future__ import annotations

import json
import random
import re
from dataclasses import fields, replace
from pathlib import Path
from types import SimpleNamespace

import pytest
import tinycritic
import tinyvlm
import torch
from commands import outcome, program
from PIL import Image
from safetensors import SafetensorError
from safetensors.torch import load_file
from transformers import AutoModelForImageTextToText, Trainer
from trl import GRPOConfig

from revise_captions.dcscore.decomposers.sentences import SentenceDecomposer
from revise_captions.dcscore.units import UnitVerdict
from revise_captions.engines.load import load_engine
from revise_captions.engines.protocol import Picture, Prompt, Template
from revise_captions.errors import UserError
from revise_captions.finetune.preferences import training
from revise_captions.finetune.preferences.cli import train_preferences
from revise_captions.finetune.preferences.data import (
    PreferenceExamples,
    ReadingOptions,
    read_images,
    read_pairs,
)
from revise_captions.finetune.preferences.held_out import Accuracy, accuracy, without_held_out
from revise_captions.finetune.preferences.policy import load_policy
from revise_captions.finetune.preferences.reward_model import load_reward_model
from revise_captions.finetune.preferences.rewards import PoshReward, UnitRewards, parsed
from revise_captions.finetune.preferences.settings import DpoSettings, GrpoSettings
from revise_captions.finetune.preferences.training import last_whole_checkpoint, sampler_arguments
from revise_captions.graphs.grading.components import components
from revise_captions.graphs.grading.judge import Grade
from revise_captions.records import ImageRef
from revise_captions.stats.exact import exact_interval

main = program(train_preferences)

SMALL = (
    *("--batch-size", "4", "--micro-batch", "4", "--steps", "1", "--log-steps", "1"),
    *("--device", "cpu", "--learning-rate", "0.01"),
)


def turns(text, role="assistant"):
    return [{"role": role, "content": text}]


def pair(number, **more):
    return {
        "images": [f"{number % 3}.png"],
        "prompt": turns("caption en", "user"),
        "chosen": turns(f"A red circle, number {number}."),
        "rejected": turns("Two dogs walk, and 3 blue boats."),
        "by": "c_r" if number % 2 else "c_p",
        **more,
    }


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """Eight pairs, three images, and two rows that are none."""
    folder = tmp_path_factory.mktemp("pairs")
    rng = random.Random(0)
    for number in range(3):
        image = Image.new("RGB", (70, 60), tuple(rng.randrange(256) for _ in range(3)))
        image.save(folder / f"{number}.png")
    rows = [pair(number, reference="A red circle.") for number in range(8)]
    rows[1]["chosen"] = turns("A dog <image> and a cat.")
    rows[2]["images"] = ["missing.png"]
    lines = [json.dumps(row) for row in rows] + ["{broken"]
    (folder / "pairs.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.fixture(scope="module")
def captioner(tmp_path_factory):
    return tinycritic.saved(tmp_path_factory.mktemp("captioner"), sure=False, fluent=True)


def log_of(out):
    return [json.loads(line) for line in (out / "training/log.jsonl").open()]


def changed(before, after):
    """Names of the tensors that differ."""
    old, new = (
        AutoModelForImageTextToText.from_pretrained(folder, dtype=torch.float32).state_dict()
        for folder in (before, after)
    )
    return {name for name in old if not torch.equal(old[name], new[name])}


def test_dpo_trains_the_language_model_alone(data, captioner, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = (data / "pairs.jsonl", "--policy", captioner, "--out", out, *SMALL)
    code, said, err = outcome(main, capsys, "dpo", *arguments, "--dtype", "float32")
    assert code == 0, err
    log = log_of(out)
    assert log[0] == {"event": "data", "pairs": 6, "quarantined": 3}
    # before the first step policy and reference are the same, and DPO's loss is log 2
    assert log[1]["loss"] == pytest.approx(0.6931, abs=1e-3)
    assert said.splitlines()[0] == "6 pairs, 3 rows quarantined"
    assert "step 1: loss 0.69" in said
    names = changed(captioner, out)
    assert names
    assert not any("vision_tower" in name or "projector" in name for name in names)
    bad = [json.loads(one) for one in (out / "training/quarantine.jsonl").open()]
    assert [row["line"] for row in bad] == [2, 3, 9]
    assert "<image>" in bad[0]["detail"]
    code, _, err = outcome(main, capsys, "dpo", *arguments)
    assert (code, "holds a training run" in err) == (2, True), err
    # what was written is a captioner again
    engine = load_engine(str(out), option="--policy")
    asked = Prompt((Picture(Image.new("RGB", (64, 64))), Template("caption en")), shared=2)
    assert engine.generate([asked], 5)[0].text != ""


def test_a_save_that_was_cut_or_had_no_room_costs_its_steps_only(
    data, captioner, tmp_path, capsys, monkeypatch
):
    out = tmp_path / "out"
    arguments = (data / "pairs.jsonl", "--policy", captioner, "--out", out, *SMALL)
    arguments = ("dpo", *arguments, "--dtype", "float32", "--save-steps", "1")
    save, saved = Trainer._save_checkpoint, []

    def full_at_third(*given, **named):
        saved.append(save(*given, **named))
        if len(saved) == 3:
            raise SafetensorError("No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_save_checkpoint", full_at_third)
        code, _, err = outcome(main, capsys, *arguments, "--steps", "4")
    assert (code, "Traceback" in err) == (2, False)
    assert f"{out / 'training'} cannot be written" in err
    state = out / "training/checkpoint-3/trainer_state.json"
    state.write_text(state.read_text()[:40])  # as a kill leaves it
    assert last_whole_checkpoint(out / "training").name == "checkpoint-2"
    code, _, err = outcome(main, capsys, *arguments, "--resume", "--steps", "4")
    assert code == 0, err
    assert [line["step"] for line in log_of(out) if "loss" in line] == [1, 2, 3, 3, 4]


def test_a_reward_model_learns_which_of_two_is_better(data, captioner, tmp_path, capsys):
    out = tmp_path / "rm"
    arguments = (data / "pairs.jsonl", "--policy", captioner, "--out", out, *SMALL, "--by", "c_p")
    more = ("--steps", "6", "--validation-share", "0")
    code, _, err = outcome(main, capsys, "reward", *arguments, *more)
    assert code == 0, err
    log = log_of(out)
    assert log[0]["pairs"] == 3
    assert "train_loss" in log[-1], "nothing is held out"
    assert log[-2]["loss"] < log[1]["loss"]
    reward = load_reward_model(str(out), device="cpu", dtype="float32")
    pictures = [[Image.open(data / "0.png").convert("RGB")]] * 2
    prompt = [
        [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "caption en"}]}]
    ]
    texts = [turns("A red circle, number 0."), turns("Two dogs walk, and 3 blue boats.")]
    good, bad = reward(prompt * 2, texts, pictures)
    assert good > bad
    assert [good] == pytest.approx(reward(prompt, texts[:1], pictures[:1]), abs=1e-4)
    with pytest.raises(UserError, match="no reward model"):
        load_reward_model(str(captioner), device="cpu", dtype="float32")
    with pytest.raises(UserError, match="is a reward model, which cannot write captions"):
        load_policy(str(out), DpoSettings())


def test_a_reward_model_is_measured_on_images_it_was_not_trained_on(
    data, captioner, tmp_path, capsys
):
    out = tmp_path / "rm"
    arguments = (data / "pairs.jsonl", "--policy", captioner, "--out", out, *SMALL)
    more = ("--validation-share", "0.34", "--dtype", "float32")
    code, said, err = outcome(main, capsys, "reward", *arguments, *more)
    assert code == 0, err
    found = json.loads((out / "held_out.json").read_text())
    assert log_of(out)[-1] == {"event": "held-out", **found}
    # the model that was written gives the same margins on the pairs of the one held-out image
    pairs = read_pairs(data / "pairs.jsonl", ReadingOptions(added=re.compile("<image>")))
    _, held = without_held_out(pairs, 0.34)
    assert (found["pairs"], found["images"]) == (len(held.rows), 1)
    reward = load_reward_model(str(out), device="cpu", dtype="float32")
    given = [row["prompt"] for row in held.rows], [[held.image(0)]] * len(held.rows)
    chosen, rejected = (
        reward(given[0], [row[side] for row in held.rows], given[1])
        for side in ("chosen", "rejected")
    )
    right = sum(a > b for a, b in zip(chosen, rejected, strict=True))
    assert (found["right"], found["accuracy"]) == (right, right / len(held.rows))
    assert (found["low"], found["high"]) == exact_interval(right, len(held.rows))
    # five words are always preferred to seven
    assert (found["floor: chance"], found["floor: the shorter"]) == (0.5, 1)
    assert (
        f"held out, {len(held.rows)} pairs of 1 images: accuracy {right / len(held.rows):.3f}"
        in (said)
    )
    code, _, err = outcome(
        main, capsys, "reward", *arguments, "--force", "--validation-share", ".9"
    )
    assert (code, "cannot be split" in err) == (2, True), err


def examples(*rows):
    """Pairs as they are read, of images by name."""
    made = [
        {"prompt": turns("?", "user"), "chosen": turns(chosen), "rejected": turns(rejected)}
        for _, chosen, rejected in rows
    ]
    images = [ImageRef(path=name) for name, _, _ in rows]
    return PreferenceExamples(made, images, [], Path(), ReadingOptions())


def test_no_image_nor_one_that_looks_like_it_is_on_both_sides(tmp_path):
    rng = random.Random(1)
    rows = []
    for number in range(10):
        image = Image.effect_noise((64, 64), 90).convert("RGB")
        image.paste(tuple(rng.randrange(256) for _ in range(3)), (0, 0, 64, 20 + 2 * number))
        image.save(tmp_path / f"{number}.png")
        image.save(tmp_path / f"{number}.jpg", quality=90)
        rows += [(f"{number}.png", "a", "b"), (f"{number}.jpg", "a", "b")]
    pairs = replace(examples(*rows), folder=tmp_path)
    trained, held = without_held_out(pairs, 0.3)
    sides = [{Path(ref.path).stem for ref in side.images} for side in (trained, held)]
    assert [len(side) for side in sides] == [7, 3]
    assert not sides[0] & sides[1]
    assert len(held.rows) == 6
    again = without_held_out(replace(examples(*rows[::-1]), folder=tmp_path), 0.3)[1]
    assert {ref.path for ref in again.images} == {ref.path for ref in held.images}


def test_held_out_accuracy_by_hand(monkeypatch):
    rewards = {"x": 1.0, "x x": 0.0, "y y": 2.0, "z": 0.0, "w w w": 0.0}

    def reward(prompts, completions, images):
        return [rewards[turn[0]["content"]] for turn in completions]

    monkeypatch.setattr(PreferenceExamples, "image", lambda self, number: None)
    trained = examples(("a", "x x", "x"), ("a", "y y", "x"), ("b", "z", "x x"))
    held = examples(
        ("c", "x", "x x"),  # right, and the shorter is chosen
        ("c", "x x", "z"),  # a tie is wrong; the longer is chosen
        ("d", "z", "x"),  # wrong, and of the same length
        ("d", "y y", "z"),  # right, the longer
    )
    found = accuracy(reward, held, trained, batch=3)
    assert found == Accuracy(4, 2, right=2, longer=True, by_length=(0 + 1 + 0.5 + 1) / 4)
    # Clopper and Pearson's interval of 2 of 4
    assert found.as_json()["low"] == pytest.approx(0.0676, abs=1e-4)
    assert found.as_json()["high"] == pytest.approx(0.9324, abs=1e-4)


@pytest.mark.parametrize(
    ("asked", "changed", "said"),
    [
        ("auto", {}, True),
        ("vllm", {}, True),
        ("transformers", {}, False),
        ("auto", {"installed": False}, False),
        ("auto", {"device": "cpu"}, False),
        ("auto", {"is_paligemma": True}, False),
        ("auto", {"method": "qlora"}, False),
        ("vllm", {"installed": False}, "not installed\n.*revise-captions\\[vllm\\]"),
        ("vllm", {"device": "cpu"}, "no GPU"),
        ("vllm", {"is_paligemma": True}, "another attention"),
        ("vllm", {"method": "qlora"}, "4 bits"),
    ],
)
@pytest.mark.parametrize("top_p", [0.7, 1.0])
def test_vllm_samples_where_it_computes_what_is_trained(asked, changed, said, top_p, monkeypatch):
    known = {
        "installed": True,
        "device": "cuda",
        "is_paligemma": False,
        "method": "full",
        **changed,
    }
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: object() if known["installed"] else None
    )
    policy = SimpleNamespace(name="mine", is_paligemma=known["is_paligemma"])
    settings = GrpoSettings()
    settings = replace(
        settings,
        batch=replace(settings.batch, device=known["device"]),
        lora=replace(settings.lora, method=known["method"]),
        sampled=replace(settings.sampled, sampler=asked, vllm_memory=0.4, top_p=top_p),
    )
    if isinstance(said, str):
        with pytest.raises(UserError, match=said):
            sampler_arguments(policy, settings)
        return
    found = sampler_arguments(policy, settings)
    names = {field.name for field in fields(GRPOConfig)}
    assert set(found) <= names, "TRL has all of them"
    assert found == (
        {
            "use_vllm": True,
            "vllm_mode": "colocate",
            "vllm_gpu_memory_utilization": 0.4,
            "vllm_importance_sampling_correction": top_p == 1,
        }
        if said
        else {}
    )


def test_grpo_hands_the_sampler_to_trl(data, captioner, tmp_path, capsys, monkeypatch):
    class Stop(Exception):
        pass

    given = {}

    def trainer(**named):
        given.update(named)
        raise Stop

    sampler = {"use_vllm": True, "vllm_mode": "colocate", "vllm_gpu_memory_utilization": 0.3}
    monkeypatch.setattr("trl.GRPOTrainer", trainer)
    monkeypatch.setattr(training, "sampler_arguments", lambda policy, settings: sampler)
    arguments = (data / "pairs.jsonl", "--policy", captioner, "--out", tmp_path / "out", *SMALL)
    more = ("--generations", "2", "--reward", "posh", "--reference-field", "reference")
    with pytest.raises(Stop):
        main([str(each) for each in ("grpo", *arguments, *more)])
    assert {name: getattr(given["args"], name) for name in sampler} == sampler
    assert "captions are sampled by vllm" in capsys.readouterr().out


def test_grpo_samples_and_is_rewarded(data, captioner, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = (data / "pairs.jsonl", "--policy", captioner, "--out", out, *SMALL)
    more = ("--generations", "2", "--max-tokens", "8", "--reward", "posh", "--method", "lora")
    code, _, err = outcome(
        main, capsys, "grpo", *arguments, *more, "--reference-field", "reference", "--kl", "0.05"
    )
    assert code == 0, err
    log = log_of(out)
    assert log[0] == {"event": "data", "images": 3, "quarantined": 2}
    assert log[1] == {"event": "sampler", "sampler": "transformers"}
    assert "rewards/posh/mean" in log[2]
    assert load_file(out / "adapter_model.safetensors")
    config = json.loads((out / "adapter_config.json").read_text())
    assert config["base_model_name_or_path"] == str(captioner)


@pytest.mark.slow
@pytest.mark.parametrize("family", tinyvlm.PLAIN)
@pytest.mark.parametrize("method", ["dpo", "grpo", "reward"])
def test_other_architectures(family, method, data, tmp_path, capsys):
    policy = tinyvlm.saved(tmp_path / "policy", family, sure=False)
    arguments = (data / "pairs.jsonl", "--policy", policy, "--out", tmp_path / "out", *SMALL)
    more = ()
    if method == "grpo":
        more = ("--generations", "2", "--max-tokens", "8", "--units", "sentences")
    code, _, err = outcome(main, capsys, method, *arguments, *more)
    assert code == 0, err
    assert any("train_loss" in line for line in log_of(tmp_path / "out"))
    assert (tmp_path / "out" / "model.safetensors").is_file()


@pytest.mark.slow
def test_grpo_with_units_lora_merged_and_resumed(data, captioner, tmp_path, capsys):
    out = tmp_path / "out"
    arguments = (data / "pairs.jsonl", "--policy", captioner, "--out", out, *SMALL)
    more = ("--generations", "2", "--max-tokens", "8", "--units", "sentences", "--method", "lora")
    more = (*more, "--merge", "--save-steps", "1", "--log-with", "tensorboard")
    assert outcome(main, capsys, "grpo", *arguments, *more)[0] == 0
    assert list((out / "training/tensorboard").iterdir())
    code, _, err = outcome(main, capsys, "grpo", *arguments, *more, "--resume", "--steps", "2")
    assert code == 0, err
    assert [line["step"] for line in log_of(out) if "loss" in line] == [1, 2]
    assert changed(captioner, out)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--batch-size", "6", "--generations", "4"), "not a multiple of --generations"),
        (("--generations", "1"), "2 or more"),
        (("--lora-rank", "0"), "--lora-rank 0: expected 1"),
        (("--steps", "-1"), "--steps -1: expected 0"),
        (("--steps", "0", "--epochs", "0"), "trains nothing"),
        (("--reward", "posh"), "--reference-field"),
        (("--reward", "c_r=much"), "not a weight"),
        (("--reward", "c_p", "--reward", "c_p=2"), "twice"),
        (("--targets", "ears"), "unknown part ears"),
        (("--reward", "nowhere"), "no such folder"),
    ],
)
def test_what_cannot_be(data, captioner, tmp_path, capsys, options, said):
    arguments = (data / "pairs.jsonl", "--policy", captioner, "--out", tmp_path / "out", *SMALL)
    units = ("--units", "sentences")
    code, _, err = outcome(main, capsys, "grpo", *arguments, *units, *options)
    assert (code, said in err) == (2, True), err


def test_rewards_and_weights():
    assert parsed(()) == [("c_p", 1.0), ("c_r", 0.5)]
    assert parsed(("posh", "./a=b=0.25")) == [("posh", 1.0), ("./a=b", 0.25)]


def test_units_are_counted_once_and_silence_earns_nothing():
    asked = []

    class Sentences(SentenceDecomposer):
        def decompose(self, texts):
            asked.append(texts)
            return super().decompose(texts)

    class ByLetter:
        def verify(self, tasks):
            return [tuple(self.verdict(u.text) for u in task.caption.units) for task in tasks]

        def verdict(self, text):
            return UnitVerdict(None, unscored="?") if text == "Hm." else UnitVerdict("A" in text)

    units = UnitRewards(Sentences(), ByLetter())
    picture = [Image.new("RGB", (4, 4))]
    texts = ["A dog. A dog. B cat. Hm.", "", "Hm."]
    given = {"completions": [turns(text) for text in texts], "images": [picture] * 3}
    assert units.c_p(**given, step=1) == [0.5, 0.0, None]
    assert units.c_r(**given) == [3.0, 0.0, 1.0]
    assert len(asked) == 1, "both rewards are computed at once"


def test_posh_rewards_what_the_reference_says():
    class Judge:
        settings = {}  # noqa: RUF012

        def grade(self, given):
            for task in given:
                yield tuple(Grade(5.0) for _ in components(task.source))

    found = PoshReward(Judge())([turns("A red circle."), turns("")], ["A red circle."] * 2)
    assert found == [1.0, 0.0]


def test_pairs_of_a_score_and_images_once(data):
    pairs = read_pairs(data / "pairs.jsonl", ReadingOptions(by="c_r"))
    assert len(pairs.rows) == 4
    images = read_images(data / "pairs.jsonl", ReadingOptions(prompts=("a", "b")))
    assert [row["prompt"][0]["content"] for row in images.rows] == ["a", "b", "a"]
    (first,) = images.dataset()[0]["images"]
    assert first.size == (70, 60)
    assert images.dataset()[0]["images"][0].size == (70, 60)
    with pytest.raises(UserError, match="no row is a preference pair"):
        read_pairs(data / "pairs.jsonl", ReadingOptions(by="both"))
