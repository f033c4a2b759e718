"""`captions finetune` through its command: it learns, it resumes, it says what is wrong."""

from __future__ import annotations

import copy
import errno
import json
import os
from pathlib import Path

import numpy as np
import pytest
import torch
from finetuning import command
from PIL import Image
from safetensors.numpy import load_file
from tinycritic import saved

from revise_captions.critic.locate import stored_card
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.paligemma.image_prefetch import resized
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.paligemma.model import _plain_attention
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import UserError
from revise_captions.finetune.data.image_cache import pixel_cache, preallocated
from revise_captions.finetune.data.records import open_split
from revise_captions.finetune.optim.muon import orthogonal
from revise_captions.finetune.optim.optimizer import FlatOptimizer


@pytest.fixture(scope="module")
def base(tmp_path_factory) -> Path:
    return saved(tmp_path_factory.mktemp("base"), sure=False)


SMALL = ("--no-compile", "--dtype", "float32", "--batch-size", "4", "--warmup", "5")
STEADY = ("--schedule", "constant", "--describe-early", "0.5", "--describe-late", "0.5")


@pytest.mark.slow
def test_it_learns_a_few_captions_by_heart(data, base, tmp_path):
    """Both tasks, end to end: after 150 steps on 8 captions the critic repeats what it was told."""
    out = tmp_path / "out"
    result = command(
        data, "--base", base, "--out", out, "--steps", 150, "--learning-rate", 4e-3, *SMALL,
        "--ema", 0.9, "--robust-share", 0, "--describe-early", 0, "--describe-late", 0,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    critic = load_paligemma(out, CriticOptions(Placement(device="cpu")))
    examples = open_split(data, "train")
    verdicts = critic.judge(
        [JudgeRequest(Image.open(data / e.image), e.caption, e.spans) for e in examples]
    )
    for example, row in zip(examples, verdicts, strict=True):
        for sentence, verdict in zip(example.sentences, row, strict=True):
            assert (verdict.p_factual > 0.5) == sentence.factual
            if sentence.factual and verdict.p_factual >= critic.threshold:
                assert verdict.assessable == sentence.assessable
    claims = [
        (ExplainRequest(Image.open(data / e.image), e.caption, e.spans, i), s.rationales[0])
        for e in examples
        for i, s in enumerate(e.sentences)
        if not s.factual
    ]
    found = critic.explain([claim for claim, _ in claims])
    right = np.mean([a.text == b for a, (_, b) in zip(found, claims, strict=True)])
    assert right > 0.9
    card = stored_card(str(out))
    assert card.calibration["sentences"] == sum(
        len(e.sentences) for e in open_split(data, "validation")
    )
    log = (out / "training" / "log.jsonl").read_text().splitlines()
    assert json.loads(log[-1])["longest"] < 200
    assert card.max_length == stored_card(str(base)).max_length  # which could do longer ones
    events = [json.loads(line)["event"] for line in log]
    assert events[0] == "start"
    assert events[-1] == "end"


def test_resumed_equals_uninterrupted_and_the_seed_decides(data, base, tmp_path):
    common = (data, "--base", base, *SMALL, *STEADY)
    a, b, c = tmp_path / "a", tmp_path / "b", tmp_path / "c"
    assert command(*common, "--out", a, "--steps", 6).exit_code == 0
    assert command(*common, "--out", b, "--steps", 3).exit_code == 0
    assert command(*common, "--out", b, "--steps", 6, "--resume").exit_code == 0
    assert command(*common, "--out", c, "--steps", 6, "--seed", 1).exit_code == 0
    first, second, other = (load_file(folder / "model.safetensors") for folder in (a, b, c))
    for name, weights in first.items():
        np.testing.assert_array_equal(weights, second[name], err_msg=name)
    assert any(not np.array_equal(weights, other[name]) for name, weights in first.items())


def test_the_tower_learns_from_dense_labels_first(data, base, tmp_path):
    out = tmp_path / "out"
    result = command(
        data, "--base", base, "--out", out, "--steps", 1, "--tower-minutes", 0.02, *SMALL
    )
    assert result.exit_code == 0, result.output
    assert "image tower, step " in result.output
    lines = [json.loads(line) for line in (out / "training/log.jsonl").read_text().splitlines()]
    tower = next(line for line in lines if line["event"] == "tower")
    assert tower["step"] >= 1
    assert set(tower["accuracy"]) == {"kind", "colour"}
    again = command(data, "--base", "new", "--out", out, "--steps", 1)
    assert again.exit_code == 2
    assert "--resume" in again.output


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda row: row["sentences"][0].update(end=10_000), "out of bounds"),
        (lambda row: row["sentences"][0].update(label="maybe"), "maybe"),
        (lambda row: row.pop("caption"), "caption"),
        (lambda row: row.update(sentences=[]), "no sentences"),
        (lambda row: row.update(image="images/none.png"), "none.png does not exist"),
        (lambda row: row["sentences"].reverse(), "out of order"),
    ],
)
def test_bad_rows_are_named_with_their_line(data, base, tmp_path, change, says):
    rows = [json.loads(line) for line in (data / "train.jsonl").read_text().splitlines()]
    for row in rows:
        del row["image_index"]
        row["image"] = str(data / row["image"])
    change(rows[1])
    (tmp_path / "train.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (tmp_path / "validation.jsonl").write_text(json.dumps(rows[0]))
    result = command(tmp_path, "--base", base, "--out", tmp_path / "out", "--steps", 1, *SMALL)
    assert result.exit_code == 2
    assert says in result.output
    assert "line 2" in result.output or "none.png" in result.output


def test_a_run_needs_an_end_and_the_base_its_attention_mode(data, base, tmp_path):
    result = command(data, "--base", base, "--out", tmp_path / "a")
    assert result.exit_code == 2
    assert "--minutes, --steps or --epochs" in result.output
    result = command(
        data, "--base", base, "--out", tmp_path / "b", "--steps", 1, "--attention-mode", "causal"
    )
    assert result.exit_code == 2
    assert "--attention-mode image-prefix" in result.output


def test_flat_adamw_is_torch_adamw():
    """Against torch's own AdamW and clipping, parameter by parameter."""

    def network():
        torch.manual_seed(0)
        return torch.nn.Sequential(
            torch.nn.Linear(5, 7), torch.nn.LayerNorm(7), torch.nn.Linear(7, 2)
        )

    ours, theirs = network(), network()
    flat = FlatOptimizer(ours, weight_decay=0.1, betas=(0.9, 0.95), ema=0.5)
    matrices = [p for p in theirs.parameters() if p.ndim >= 2]
    vectors = [p for p in theirs.parameters() if p.ndim < 2]
    reference = torch.optim.AdamW(
        [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}],
        betas=(0.9, 0.95),
    )
    for step in range(5):
        x = torch.randn(16, 5, generator=torch.Generator().manual_seed(step))
        rate = 1e-2 * (step + 1)
        ours(x).square().sum().backward()
        norm = flat.step(rate, clip=1.0)
        theirs(x).square().sum().backward()
        expected = torch.nn.utils.clip_grad_norm_(theirs.parameters(), 1.0)
        for group in reference.param_groups:
            group["lr"] = rate
        reference.step()
        reference.zero_grad()
        assert norm == pytest.approx(float(expected), rel=1e-5)
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)
    assert not torch.equal(flat.average, flat.master)


def test_muon_is_torch_muon_with_adamw_for_the_rest(monkeypatch):
    """Against torch's own two optimizers, Muon without its bfloat16; the slow part at half the
    rate."""
    monkeypatch.setattr(torch.Tensor, "bfloat16", torch.Tensor.float)

    def network():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Linear(7, 2))

    ours, theirs = network(), network()
    flat = FlatOptimizer(
        ours, weight_decay=0.1, betas=(0.9, 0.95), ema=0.0,
        slow=lambda name: name.startswith("1"), muon=lambda name: name.startswith("0"),
    )  # fmt: skip
    first, second = theirs[0], theirs[1]
    muon = torch.optim.Muon([first.weight], weight_decay=0.1, adjust_lr_fn="match_rms_adamw")
    adamw = torch.optim.AdamW(
        [
            {"params": [first.bias], "weight_decay": 0.0},
            {"params": [second.weight], "weight_decay": 0.1},
            {"params": [second.bias], "weight_decay": 0.0},
        ],
        betas=(0.9, 0.95),
    )
    saved = None
    for step in range(4):
        x = torch.randn(16, 5, generator=torch.Generator().manual_seed(step))
        ours(x).square().sum().backward()
        if step == 2:  # goes on from what was saved
            again = network()
            flat = FlatOptimizer(
                again, weight_decay=0.1, betas=(0.9, 0.95), ema=0.0,
                slow=lambda name: name.startswith("1"), muon=lambda name: name.startswith("0"),
            )  # fmt: skip
            flat.load(saved)
            again(x).square().sum().backward()
            ours = again
        flat.step(0.01, clip=0.0, slow_rate=0.5)
        theirs(x).square().sum().backward()
        for optimizer in (muon, adamw):
            for group in optimizer.param_groups:
                group["lr"] = 0.01
        for group in adamw.param_groups[1:]:
            group["lr"] = 0.005
        for optimizer in (muon, adamw):
            optimizer.step()
            optimizer.zero_grad()
        for a, b in zip(ours.parameters(), theirs.parameters(), strict=True):
            torch.testing.assert_close(a, b, atol=1e-6, rtol=1e-5)
        saved = copy.deepcopy(flat.state())


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_model_in_bfloat16_has_torchs_own_muon(dtype):
    model = torch.nn.Linear(5, 7, bias=False, dtype=dtype)
    flat = FlatOptimizer(
        model, weight_decay=0.1, betas=(0.9, 0.95), ema=0.0, muon=lambda name: True
    )
    assert isinstance(flat.optimizers["muon"], torch.optim.Muon) is (dtype is torch.bfloat16)


@pytest.mark.parametrize("shape", [(7, 5), (5, 7), (6, 6)])
def test_singular_values_of_an_update_are_near_one(shape):
    torch.manual_seed(0)
    values = torch.linalg.svdvals(orthogonal(torch.randn(shape)))
    assert 0.6 < values.min() <= values.max() < 1.3


@pytest.mark.parametrize("kv_heads", [1, 2, 4])
def test_plain_attention_is_pytorchs(kv_heads):
    """Values and gradients, against scaled_dot_product_attention, under a mask, in float64."""
    torch.manual_seed(0)
    shapes = [(2, 4, 9, 8), (2, kv_heads, 9, 8), (2, kv_heads, 9, 8)]
    tensors = [torch.randn(s, dtype=torch.float64, requires_grad=True) for s in shapes]
    seen = torch.rand(2, 1, 9, 9) < 0.6
    mask = torch.zeros(2, 1, 9, 9, dtype=torch.float64).masked_fill(
        ~(seen | torch.eye(9).bool()), -1e9
    )
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *tensors, attn_mask=mask, scale=0.3, enable_gqa=True
    ).transpose(1, 2)
    ours, _ = _plain_attention(torch.nn.Identity(), *tensors, mask, scaling=0.3)
    torch.testing.assert_close(ours, theirs)
    weights = torch.randn_like(theirs)
    for a, b in zip(
        torch.autograd.grad((ours * weights).sum(), tensors),
        torch.autograd.grad((theirs * weights).sum(), tensors),
        strict=True,
    ):
        torch.testing.assert_close(a, b)


def test_pixel_cache_has_its_room_before_it_is_filled(tmp_path, monkeypatch):
    """A full disk is told of in words; writing to a map of a file with holes would be a SIGBUS."""
    made = preallocated(tmp_path / "a", (3, 1, 1000, 1000, 3))
    assert made.shape == (3, 1, 1000, 1000, 3)
    assert (tmp_path / "a").stat().st_blocks * 512 >= made.nbytes == 9_000_000

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "posix_fallocate", full)
    Image.new("RGB", (8, 8)).save(tmp_path / "a.png")
    with pytest.raises(UserError, match=r"no room for 0\.0 GiB .* No space left"):
        pixel_cache(tmp_path, ["a.png"], tmp_path / "c", size=32, variants=1)
    assert not list((tmp_path / "c").iterdir())
    monkeypatch.undo()
    (tmp_path / "a.png").write_text("no image")
    with pytest.raises(UserError, match=r"a\.png"):
        pixel_cache(tmp_path, ["a.png"], tmp_path / "c", size=32, variants=1)
    assert not list((tmp_path / "c").iterdir())


def test_pixel_cache_is_what_inference_sees(tmp_path):
    rng = np.random.default_rng(0)
    names = ["a.png", "b.png"]
    for name in names:
        noise = rng.integers(0, 256, (60, 80, 3), dtype=np.uint8)
        Image.fromarray(noise).resize((160, 120)).save(tmp_path / name)
    cache = pixel_cache(tmp_path, names, tmp_path / "c", size=32, variants=1)
    with Image.open(tmp_path / "b.png") as image:
        clean = resized(image, 32)
    np.testing.assert_array_equal(cache.take([1], [0])[0], clean)
    augmented = cache.take([1], [1])[0].astype(int)
    assert 0 < np.abs(augmented - clean).mean() < 40
    again = pixel_cache(tmp_path, names, tmp_path / "c", size=32, variants=1)
    assert again.pixels.filename == cache.pixels.filename
