"""`captions finetune` for real models: LoRA, merging, presets, by the command."""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import pytest
import tinyvlm
import torch
from finetuning import SMALL, command, paragraphs
from killed_runs import files_up_to
from safetensors.numpy import load_file
from tinycritic import saved

from revise_captions.critic.checkpoints import CriticCard
from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.packing import AttentionMode
from revise_captions.critic.protocol import JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.data.image_cache import pixel_cache
from revise_captions.finetune.data.records import open_split
from revise_captions.finetune.models.adapters import (
    choose_weights,
    part_of,
    set_dropout,
)
from revise_captions.finetune.models.bases import load_base
from revise_captions.finetune.models.paligemma import PackedLearner
from revise_captions.finetune.trainer.trackers import TRACKERS, TrackedRun, open_tracker
from revise_captions.finetune.trainer.validate import measure_learner


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("bases") / "tiny")


def judged(critic, asked: list[JudgeRequest]) -> list[float]:
    found = [v for row in critic.judge(asked) for v in row]
    assert all(v.p_factual is not None for v in found), found
    return [v.p_factual for v in found if v.p_factual is not None]


def critic_files(out: Path) -> dict[str, bytes]:
    """What a training leaves, but what the time of day is in, and its own folder."""
    made = {str(p.relative_to(out)): p.read_bytes() for p in out.rglob("*") if p.is_file()}
    timed = ("training/", "README.md", "critic.json", "adapter/critic.json")
    return {name: held for name, held in made.items() if not name.startswith(timed)}


@pytest.mark.slow
def test_merged_weights_that_find_no_room_are_no_critic_until_resumed(data, base, tmp_path):
    """The last write is the largest: all of the base's weights, where a state is the adapter's."""
    common = (
        data, "--base", base, "--preset", "lora", "--epochs", 0, "--steps", 1, *SMALL, "--merge",
        "--lora-rank", 1,
    )  # fmt: skip
    assert command(*common, "--out", tmp_path / "whole").exit_code == 0
    expected = critic_files(tmp_path / "whole")
    states = [path.stat().st_size for path in (tmp_path / "whole/training").rglob("*.*")]
    weights, out = len(expected["model.safetensors"]), tmp_path / "out"
    assert max(states) < 0.9 * weights
    for share in (0.9, 0.99):
        with files_up_to(int(share * weights)):
            result = command(*common, "--out", out, *(["--resume"] if out.exists() else []))
        assert result.exit_code == 2
        *_, last, hint = result.output.splitlines()
        assert last.startswith(f"captions finetune: {out / 'training'} cannot be written (")
        assert hint == "  the previous save is intact: make room, then add --resume"
        assert [path.name for path in out.iterdir()] == ["training"]
        assert not list((out / "training").glob("*.tmp"))
    assert command(*common, "--out", out, "--resume").exit_code == 0
    assert critic_files(out) == expected
    assert {p.name for p in out.iterdir()} == {p.name for p in (tmp_path / "whole").iterdir()}


def test_an_adapter_and_its_merged_weights_are_the_same_critic(data, base, tmp_path):
    """By the folder alone, by --critic BASE --adapter, and merged; and it did learn something."""
    out, merged = tmp_path / "lora", tmp_path / "merged"
    common = (
        data, "--base", base, "--preset", "lora", "--epochs", 0, "--steps", 4, *SMALL,
        "--learning-rate", 3e-3, "--lora-dropout", 0, "--attention-mode", "image-prefix",
    )  # fmt: skip
    result = command(*common, "--out", out)
    assert result.exit_code == 0, result.output
    assert "preset lora: " in result.output
    assert "--learning-rate 0.0001 (overruled: 0.003)" in result.output
    assert command(*common, "--out", merged, "--merge").exit_code == 0
    assert not (out / "config.json").exists()
    assert (out / "adapter_model.safetensors").stat().st_size < 1_000_000
    assert (merged / "adapter" / "adapter_config.json").exists()
    towers = [n for n in load_file(merged / "model.safetensors") if n.startswith("vision_tower.")]
    assert len(towers) > 30
    assert all(name.startswith("vision_tower.vision_model.") for name in towers)
    asked = paragraphs(data)
    plain = judged(load_critic(str(base), CriticOptions(Placement(device="cpu"))), asked)
    alone = load_critic(str(out), CriticOptions(Placement(device="cpu")))
    first = judged(alone, asked)
    beside = load_critic(str(base), CriticOptions(Placement(device="cpu"), adapter=str(out)))
    whole = load_critic(str(merged), CriticOptions(Placement(device="cpu")))
    assert judged(beside, asked) == first
    np.testing.assert_allclose(judged(whole, asked), first, atol=2e-4)
    assert max(abs(a - b) for a, b in zip(first, plain, strict=True)) > 0.02
    assert alone.threshold == beside.threshold == whole.threshold
    card = json.loads((out / "critic.json").read_text())
    assert card["training"]["method"] == "lora"
    expected = sum(len(e.sentences) for e in open_split(data, "validation"))
    assert card["calibration"]["sentences"] == expected
    text = (out / "README.md").read_text()
    assert "floor: the shorter the truer" in text
    assert "LoRA of language" in text
    assert "tower (" in text


def test_an_adapter_of_other_weights_is_refused(data, base, tmp_path):
    out = tmp_path / "out"
    arguments = (data, "--base", base, "--preset", "lora", "--epochs", 0, "--steps", 1, *SMALL)
    assert command(*arguments, "--out", out).exit_code == 0
    card = json.loads((out / "critic.json").read_text())
    card["training"]["base_digest"] = "0" * 12
    (out / "critic.json").write_text(json.dumps(card))
    with pytest.raises(UserError, match="trained on weights other than"):
        load_critic(str(out), CriticOptions(Placement(device="cpu")))


def test_parts_are_named_on_purpose(base, vlm, data):
    train = open_split(data, "train")
    for folder, other in ((base, "language,tower,projector"), (vlm, "language,tower,projector")):
        settings = TrainingSettings().with_options(
            method="lora", targets=other, compile=False, tower_weight=0
        )
        loaded = load_base(str(folder), train, settings)
        choose_weights(loaded.model, settings, "x")
        learned = [n for n, p in loaded.model.named_parameters() if p.requires_grad]
        assert {part_of(n) for n in learned} == {"language", "tower", "projector"}
        assert all("lora_" in n for n in learned)
    settings = TrainingSettings().with_options(targets="projector", compile=False, tower_weight=0)
    loaded = load_base(str(base), train, settings)
    assert choose_weights(loaded.model, settings, "x") is None
    assert {part_of(n) for n, p in loaded.model.named_parameters() if p.requires_grad} == {
        "projector"
    }
    with pytest.raises(UserError, match="unknown part eyes"):
        choose_weights(loaded.model, TrainingSettings().with_options(targets="eyes"), "x")
    assert set_dropout(loaded.model, 0.1) == 5  # layers of tower and language model


def test_lora_cannot_train_what_is_not_there(tmp_path, data):
    """Gemma 3's projector is a bare parameter: said so, not dropped without a word."""
    folder = tinyvlm.saved(tmp_path / "gemma3", "gemma3")
    result = command(
        data, "--base", folder, "--out", tmp_path / "out", "--steps", 1, *SMALL,
        "--preset", "lora", "--epochs", 0, "--targets", "language,projector",
    )  # fmt: skip
    assert result.exit_code == 2
    assert "no linear layers in its projector" in result.output


def test_dry_run_measures_and_leaves_nothing(data, base, tmp_path):
    out = tmp_path / "out"
    result = command(
        data, "--base", base, "--out", out, "--epochs", 2, *SMALL, "--preset", "lora", "--dry-run"
    )
    assert result.exit_code == 0, result.output
    assert "learns: " in result.output
    assert "steps: 4 at " in result.output
    assert "memory: " in result.output
    assert "train: 8 captions of 8 images" in result.output
    assert not out.exists()


def test_the_best_weights_are_kept_and_training_stops_early(data, base, tmp_path):
    """At a rate that ruins the model, the first validation stays the best."""
    out = tmp_path / "out"
    result = command(
        data, "--base", base, "--out", out, "--steps", 40, *SMALL, "--learning-rate", 0.3,
        "--validate-steps", 1, "--patience", 2, "--keep", "best", "--schedule", "constant",
        "--ema", 0, "--robust-share", 0,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    log = [json.loads(line) for line in (out / "training" / "log.jsonl").read_text().splitlines()]
    checks = [line for line in log if line["event"] == "validation"]
    scores = [line["auc"] for line in checks[:-1]]
    end = log[-1]
    assert end["step"] < 40
    assert end["worse"] == 2
    assert len(checks) == end["step"] + 1
    best = next(line for line in checks if line["step"] == end["best_step"])
    assert best["auc"] == max(scores)
    assert checks[-1]["auc"] == best["auc"]
    critic = load_critic(str(out), CriticOptions(Placement(device="cpu")))
    assert isinstance(critic, PaliGemmaCritic)
    assert critic.card.attention_mode is AttentionMode.IMAGE_PREFIX


def test_qlora_says_what_is_missing(data, base, tmp_path, monkeypatch):
    import importlib.util

    real = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda n, *a: None if n == "bitsandbytes" else real(n, *a)
    )
    result = command(
        data, "--base", base, "--out", tmp_path / "out", "--steps", 1, *SMALL, "--method", "qlora"
    )
    assert result.exit_code == 2
    assert "bitsandbytes" in result.output
    assert "--method lora" in result.output


def plain_paligemma(folder: Path) -> Path:
    """PaliGemma 2 as on the hub: a tokenizer like SentencePiece's, soft-caps on, no critic.json."""
    from tinycritic import SMALL, TEXTS
    from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, trainers
    from transformers import AutoTokenizer, PreTrainedTokenizerFast

    from revise_captions.critic.checkpoints import save_critic
    from revise_captions.critic.paligemma.model import new_model
    from revise_captions.critic.paligemma.tokenizer import PromptTokenizer

    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>", fuse_unk=True))
    tokenizer.normalizer = normalizers.Replace(" ", "▁")
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    special = ["<pad>", "<eos>", "<bos>", "<unk>", "<image>"]
    trainer = trainers.BpeTrainer(
        vocab_size=700,
        special_tokens=[AddedToken(text, special=True, normalized=False) for text in special],
        show_progress=False,
    )
    words = [w for text in TEXTS for w in text.split()] + [
        " " + w for t in TEXTS for w in t.split()
    ]
    tokenizer.train_from_iterator([*words, *["Yes", "No", "\n"] * 200], trainer)
    state = json.loads(tokenizer.to_str())
    vocabulary = state["model"]["vocab"]
    for byte in range(256):
        vocabulary.setdefault(f"<0x{byte:02X}>", len(vocabulary))
    fast = PreTrainedTokenizerFast(
        tokenizer_object=Tokenizer.from_str(json.dumps(state)), pad_token="<pad>",
        eos_token="<eos>", bos_token="<bos>", unk_token="<unk>",
        extra_special_tokens={"image_token": "<image>"},
    )  # fmt: skip
    torch.manual_seed(0)
    model = new_model(PromptTokenizer(fast), **SMALL)
    model.config.text_config.attn_logit_softcapping = 50.0
    model.config.text_config.final_logit_softcapping = 30.0
    save_critic(model, fast, CriticCard(AttentionMode.PREFIX), folder)
    (folder / "critic.json").unlink()
    assert AutoTokenizer.from_pretrained(folder)("▁")
    return folder


@pytest.mark.parametrize("preset", ["paper", pytest.param("lora", marks=pytest.mark.slow)])
def test_a_plain_paligemma_is_trained_as_it_is_asked(preset, data, tmp_path):
    """Soft-caps, a tokenizer without tokens of ours: validation's P are the written critic's P."""
    folder = plain_paligemma(tmp_path / "hub")
    out = tmp_path / "out"
    result = command(
        data, "--base", folder, "--out", out, "--preset", preset, "--epochs", 0, "--steps", 3,
        *SMALL, "--learning-rate", 3e-3, "--dropout", 0.1, "--lora-dropout", 0.1,
        "--micro-batch", 2,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    critic = load_critic(str(out), CriticOptions(Placement(device="cpu")))
    assert isinstance(critic, PaliGemmaCritic)
    attention_mode = AttentionMode.PREFIX if preset == "paper" else AttentionMode.IMAGE_PREFIX
    assert critic.card.attention_mode is attention_mode
    attention = critic.model.config.text_config._attn_implementation
    assert attention == "eager", "an attention that would drop the soft-cap"
    learner = PackedLearner(
        critic.model, critic.tokenizer, attention_mode, 2048, pixels=cached(data)
    )
    validation = open_split(data, "validation")
    found = measure_learner(learner, validation, range(len(validation)))
    stored = critic.card.calibration["figures"]
    assert found.figures["nll"] == pytest.approx(stored["nll"], abs=2e-4)
    asked = paragraphs(data, len(validation))
    said = [critic_p(critic, paragraph) for paragraph in asked]
    by_caption = [found.p[found.caption == number].tolist() for number in range(len(validation))]
    for one, other in zip(said, by_caption, strict=True):
        assert one == pytest.approx(other, abs=1e-4)


def critic_p(critic: PaliGemmaCritic, paragraph: JudgeRequest) -> list[float]:
    """P(factual) whatever the share of Yes and No: this model was never told to say them."""
    from unittest import mock

    from revise_captions.critic.paligemma import queries

    with mock.patch.object(queries, "LEAST_MASS", 0.0):
        (row,) = critic.judge([paragraph])
    return [v.p_factual for v in row if v.p_factual is not None]


def cached(data: Path):
    split = open_split(data, "validation")
    return {
        split.path: pixel_cache(split.root, split.images, split.root / ".p", size=64, variants=0)
    }


VALIDATED = {"event": "validation", "wall": 1.0, "step": 7, "auc": 0.5, "samples": ["x"]}


def test_log_lines_become_curves():
    written = []

    class Tracker:
        def log(self, values, step):
            written.append((values, step))

        def finish(self):
            written.append("finished")

    tracked = TrackedRun(Tracker())
    tracked.add(VALIDATED, 7)
    tracked.add({"event": "saved", "wall": 1.0, "step": 7}, 7)
    tracked.add({"event": "end", "out": "critic"}, 7)
    assert written == [({"validation/auc": 0.5}, 7), "finished"]


@pytest.mark.parametrize("name", TRACKERS)
def test_a_tracker_keeps_them(name, tmp_path, monkeypatch):
    """In the tracker's own library, without a network."""
    pytest.importorskip(name, reason=f"{name} is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", f"sqlite:///{tmp_path}/mlflow.db")
    folder = tmp_path / "critic/training"
    folder.mkdir(parents=True)
    tracked = open_tracker(name, folder)
    tracked.add(VALIDATED, 7)
    tracked.add({"event": "end"}, 7)
    if name == "wandb":
        (kept,) = folder.rglob("*.wandb")
        until = time.monotonic() + 20  # a process of wandb's writes it
        while b"validation/auc" not in kept.read_bytes():
            assert time.monotonic() < until
            time.sleep(0.1)
    elif name == "mlflow":
        from mlflow import search_runs

        (run,) = search_runs(experiment_names=["revise-captions"], output_format="list")
        assert (run.info.run_name, run.info.status) == ("critic", "FINISHED")
        assert run.data.metrics == {"validation/auc": 0.5}
    else:
        from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

        curves = EventAccumulator(str(folder / "tensorboard"))
        curves.Reload()
        assert [(e.step, e.value) for e in curves.Scalars("validation/auc")] == [(7, 0.5)]
