"""The same training, whatever it is cut into: forward passes, processes, runs that were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import torch
from click.testing import CliRunner
from finetuning import FINETUNE as main
from safetensors.numpy import load_file
from tinycritic import saved, tiny
from torch.nn.functional import cross_entropy
from toyworld import write

from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.image_prefetch import pixel_values
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.paligemma.model import (
    hidden_states,
    image_tokens,
    logits_at,
    tower_output,
)
from revise_captions.critic.paligemma.packing import (
    AttentionMode,
    collate,
    context_trunk,
    unpack,
)
from revise_captions.engines.model_spec import Placement
from revise_captions.finetune.data import targets
from revise_captions.finetune.data.image_cache import pixel_cache
from revise_captions.finetune.data.records import open_split
from revise_captions.finetune.data.targets import TokenTask
from revise_captions.finetune.models.paligemma import PackedLearner
from revise_captions.finetune.models.protocol import Images
from revise_captions.finetune.trainer import batches
from revise_captions.finetune.trainer.validate import _choice

STEADY = (
    "--no-compile", "--dtype", "float32", "--batch-size", "8", "--warmup", "2", "--seed", "3",
    "--schedule", "constant", "--describe-early", "0.5", "--describe-late", "0.5",
    "--learning-rate", "1e-3", "--validate-time", "0", "--save-minutes", "1000",
)  # fmt: skip


@pytest.fixture(scope="module")
def data(tmp_path_factory) -> Path:
    folder = write(tmp_path_factory.mktemp("data"), {"train": 24, "validation": 8}, grid=4)
    (folder / "labels" / "train.npy").unlink()  # real data has no dense labels
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("base"), sure=False)


def run(*arguments: object) -> None:
    result = CliRunner().invoke(main, [str(a) for a in arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.output


def weights(folder: Path) -> dict[str, np.ndarray]:
    return load_file(folder / "model.safetensors")


def apart(a: Path, b: Path, base: Path) -> float:
    """How far two checkpoints are from each other, as a share of how far the first came from base.

    Of the whole, not of the worst weight: Adam moves a weight without a gradient by its noise.
    """
    one, other, start = weights(a), weights(b), weights(base)
    assert one.keys() == other.keys() == start.keys()
    between = sum(float(np.square(one[name] - other[name]).sum()) for name in one)
    moved = sum(float(np.square(one[name] - start[name]).sum()) for name in one)
    assert moved > 0.01
    return (between / moved) ** 0.5


@pytest.fixture(scope="module")
def whole(data, base, tmp_path_factory) -> Path:
    """Five steps of eight captions at once, in one process."""
    out = tmp_path_factory.mktemp("whole") / "out"
    run(data, "--base", base, "--out", out, "--steps", 5, *STEADY)
    return out


def test_eight_at_once_is_eight_times_one(data, base, whole, tmp_path):
    out = tmp_path / "out"
    run(data, "--base", base, "--out", out, "--steps", 5, *STEADY, "--micro-batch", 1)
    assert apart(whole, out, base) < 1e-3


def test_workers_encode_the_same_batches(data, base, whole, tmp_path):
    out = tmp_path / "out"
    run(data, "--base", base, "--out", out, "--steps", 5, *STEADY, "--workers", 2)
    assert apart(whole, out, base) < 1e-3


def test_a_killed_worker_is_no_traceback(data, base, tmp_path, monkeypatch):
    def killed(worker, drawn):
        os.kill(os.getpid(), signal.SIGKILL)

    monkeypatch.setattr(batches._Encoding, "__getitem__", killed)
    words = (data, "--base", base, "--out", tmp_path / "out", "--steps", 5, "--workers", 1)
    result = CliRunner().invoke(main, [*map(str, words), *STEADY], catch_exceptions=False)
    assert result.exit_code == 2
    assert "a process that encodes batches ended early (DataLoader worker" in result.output
    assert "continue with --resume" in result.output


@pytest.mark.slow
def test_workers_end_with_the_run_that_is_killed(data, base, tmp_path):
    words = (data, "--base", base, "--out", tmp_path / "out", "--steps", 99999, "--workers", 2)
    command = [sys.executable, "-m", "revise_captions", "finetune", *map(str, words), *STEADY]
    with (tmp_path / "said").open("w") as said:
        running = subprocess.Popen(command, stdout=said, stderr=said, start_new_session=True)
    try:
        assert _comes_true(lambda: "\nstep " in (tmp_path / "said").read_text())
        time.sleep(1)  # until the workers have more to send than a pipe holds
        running.kill()
        running.wait()
        assert _comes_true(lambda: not _alive(running.pid))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)


def _comes_true(true: Callable[[], bool]) -> bool:
    """Whether it does within a minute."""
    deadline = time.monotonic() + 60
    while not true():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    return True


def two(*words: object) -> subprocess.CompletedProcess[str]:
    """The command in two processes."""
    launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [sys.executable, *launch, "-m", "revise_captions", "finetune", *map(str, words)],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.slow
def test_two_processes_are_one(data, base, whole, tmp_path):
    out = tmp_path / "out"
    made = two(data, "--base", base, "--out", out, "--steps", 5, *STEADY, "--micro-batch", 2)
    assert made.returncode == 0, made.stderr
    assert apart(whole, out, base) < 1e-3
    assert made.stdout.count("done: 5 steps") == 1


@pytest.mark.slow
def test_two_that_share_the_optimizer_are_one_and_can_be_resumed(data, base, whole, tmp_path):
    """Stopped after two steps and resumed; each process's part holds half of the state."""
    out = tmp_path / "out"
    words = [data, "--base", base, "--out", out, *STEADY, "--sharded"]
    made = two(*words, "--steps", 2)
    assert made.returncode == 0, made.stderr
    parts = sorted(path.name for path in (out / "training").glob("part-*"))
    assert parts == ["part-2-0.pt", "part-2-1.pt"]
    trained = sum(array.size for array in weights(base).values())
    for part in parts:
        state = torch.load(out / "training" / part, weights_only=True)
        assert state["master"].numel() == pytest.approx(trained / 2, rel=0.01)
        moments = [t for s in state["adamw"]["state"].values() for t in s.values() if t.ndim]
        assert sum(t.numel() for t in moments) <= 2 * state["master"].numel()
    alone = CliRunner().invoke(main, [*map(str, words), "--steps", "5", "--resume"])
    assert alone.exit_code == 2
    assert "was saved by 2 processes, but now there are 1" in alone.stderr
    best = ["--keep", "best", "--validate-steps", 5]
    made = two(*words, "--steps", 5, "--resume", *best)
    assert made.returncode == 0, made.stderr
    assert apart(whole, out, base) < 1e-3
    assert not list((out / "training").glob("part-2-*"))


@pytest.mark.slow
def test_two_that_share_the_weights_are_one_and_can_be_resumed(data, base, whole, tmp_path):
    """Three captions of eight at a time, so that one process has fewer passes to make."""
    out = tmp_path / "out"
    words = [data, "--base", base, "--out", out, *STEADY, "--shard-weights", "--micro-batch", 3]
    made = two(*words, "--steps", 2)
    assert made.returncode == 0, made.stderr
    trained = sum(array.size for array in weights(base).values())
    for rank in range(2):
        state = torch.load(out / "training" / f"part-2-{rank}.pt", weights_only=True)
        assert state["master"].numel() == pytest.approx(trained / 2, rel=0.05)
    other = [word for word in words if word != "--shard-weights"]
    made = two(*other, "--sharded", "--steps", 5, "--resume")
    assert made.returncode != 0
    assert "resume with --shard-weights, as before" in made.stderr
    best = ["--keep", "best", "--validate-steps", 3]
    made = two(*words, "--steps", 5, "--resume", *best)
    assert made.returncode == 0, made.stderr
    assert apart(whole, out, base) < 1e-3
    assert load_paligemma(out, CriticOptions(Placement(device="cpu"))).threshold > 0


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["--base", "new"], "leave it out"),
        (["--compile"], "--no-compile"),
        (["--optimizer", "muon"], "use adamw"),
    ],
)
def test_what_does_not_go_with_divided_weights_is_refused(words, hint, data, base, tmp_path):
    chosen = words if "--base" in words else ["--base", str(base), *words]
    result = CliRunner().invoke(
        main,
        [str(data), "--out", str(tmp_path / "out"), "--steps", "1", "--no-compile", *chosen,
         "--shard-weights"],
    )  # fmt: skip
    assert result.exit_code == 2
    assert hint in result.stderr


def test_killed_and_resumed_is_uninterrupted(data, base, whole, tmp_path):
    """SIGKILL between two saves: the same losses, step by step, and the same weights to the bit."""
    out = tmp_path / "out"
    words = [data, "--base", base, "--out", out, *STEADY, "--save-steps", 2]
    module = [sys.executable, "-m", "revise_captions", "finetune"]
    child = subprocess.Popen(
        [*module, *map(str, words), "--steps", "500"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    log = out / "training" / "log.jsonl"
    deadline = time.monotonic() + 240
    while not (log.exists() and '"event": "saved"' in log.read_text()):
        assert time.monotonic() < deadline
        assert child.poll() is None
        time.sleep(0.05)
    child.send_signal(signal.SIGKILL)
    child.wait()
    saved_at = torch.load(out / "training" / "state.pt", weights_only=True)["progress"]["step"]
    assert saved_at % 2 == 0
    if saved_at > 4:
        pytest.skip("the machine was too busy to be killed in time")
    run(*words, "--steps", 5, "--resume")
    assert apart(whole, out, base) == 0.0


def test_the_seed_decides(data, base, whole, tmp_path):
    run(data, "--base", base, "--out", tmp_path / "same", "--steps", 5, *STEADY)
    run(data, "--base", base, "--out", tmp_path / "other", "--steps", 5, *STEADY, "--seed", 4)
    assert apart(whole, tmp_path / "same", base) == 0.0
    assert apart(whole, tmp_path / "other", base) > 0.1


@pytest.mark.parametrize("attention_mode", [AttentionMode.IMAGE_PREFIX, AttentionMode.CAUSAL])
def test_packed_gradients_are_those_of_one_sequence_per_sentence(attention_mode, data):
    """All tasks of three captions: packed, and every question as a plain prompt of its own."""
    model, codec = tiny()
    train = open_split(data, "train")
    examples = [train[i] for i in range(3)]
    choices = [_choice(example) for example in examples]
    cache = pixel_cache(train.root, train.images, train.root / ".p", size=64, variants=0)
    learner = PackedLearner(model, codec, attention_mode, 1024, pixels={train.path: cache})

    def gradient(logits: torch.Tensor, ids: np.ndarray) -> torch.Tensor:
        model.zero_grad()
        cross_entropy(logits, torch.from_numpy(ids), reduction="sum").backward()
        return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])

    where = [train.image_of[i] for i in range(3)]
    asked = learner.encode(examples, choices, Images(train, where, [0, 0, 0]))
    assert asked is not None
    assert {TokenTask.CLASSIFY, TokenTask.RATIONALE, TokenTask.DESCRIBE, TokenTask.CAPTION} <= set(
        asked.tasks
    )
    packed = gradient(learner.forward(asked).logits, asked.ids)

    rows, parts, owner = [], [], []
    for number, (example, choice) in enumerate(zip(examples, choices, strict=True)):
        trunk = context_trunk(codec, example.caption, example.spans)
        for part in targets._asked(codec, example, choice):
            rows += unpack(image_tokens(model), trunk, [part.branch], attention_mode)
            parts.append([part])
            owner.append(number)
    batch = collate(rows, codec)
    assert len(rows) > 3 * 4
    found = targets._targets(codec, batch, parts)
    values = pixel_values(cache.take(where, [0, 0, 0]), torch.float32)
    hidden = hidden_states(model, tower_output(model, values), torch.tensor(owner), batch)
    alone = gradient(logits_at(model, hidden, torch.from_numpy(found.at)), found.ids)
    assert sorted(found.ids) == sorted(asked.ids)
    assert float((packed - alone).norm() / alone.norm()) <= 1e-4


def test_a_row_for_each_question_has_the_gradients_of_packed_rows(data):
    model, codec = tiny()
    train = open_split(data, "train")
    examples = [train[i] for i in range(3)]
    cache = pixel_cache(train.root, train.images, train.root / ".p", size=64, variants=0)
    found = []
    for packed in (True, False):
        learner = PackedLearner(
            model,
            codec,
            AttentionMode.IMAGE_PREFIX,
            1024,
            pixels={train.path: cache},
            packed=packed,
        )
        images = Images(train, [train.image_of[i] for i in range(3)], [0] * 3)
        asked = learner.encode(examples, [_choice(example) for example in examples], images)
        assert asked is not None
        rows = len(asked.inputs[0].batch.ids)
        assert rows == 3 if packed else rows > 9
        model.zero_grad()
        cross_entropy(learner.forward(asked).logits, torch.from_numpy(asked.ids)).backward()
        found.append(
            torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])
        )
    assert (found[0] - found[1]).norm() / found[0].norm() < 1e-4
