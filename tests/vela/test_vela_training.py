"""The linear layer: its formula, its training, early stopping, and going on after an end."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from revise_captions.errors import UserError
from revise_captions.vela.head import LinearHead, stacked
from revise_captions.vela.training.loop import FrozenFeatures, VelaTrainer
from revise_captions.vela.training.settings import VelaSettings

RNG = np.random.default_rng(0)
FEATURES = RNG.normal(size=(120, 2, 6)).astype(np.float32)
TARGETS = 1 / (1 + np.exp(-np.stack([FEATURES[:, 0, 0], -FEATURES[:, 1, 3]], axis=1)))
TRAIN, VALIDATION = range(80), range(80, 120)


def trainer(folder, features=FEATURES, targets=TARGETS, **settings):
    head = LinearHead(targets.shape[1], features.shape[2])
    head.standardize(features[list(TRAIN)])
    chosen = VelaSettings(**{"learning_rate": 0.02, "patience": 100, **settings})
    source = FrozenFeatures(features)
    return VelaTrainer(head, source, targets, TRAIN, VALIDATION, chosen, folder / "state")


def test_scores_are_the_formula_of_the_paper():
    head = LinearHead(2, 6, seed=3)
    found = head.scores(FEATURES)
    weight = head.weight.detach().numpy()
    for p in range(2):
        expected = 1 / (1 + np.exp(-FEATURES[:, p] @ weight[p]))
        np.testing.assert_allclose(found[:, p], expected, atol=1e-6)


def test_standardizing_only_shifts_and_scales():
    head = LinearHead(2, 6)
    constant = FEATURES.copy()
    constant[:, :, 5] = 4.0
    head.standardize(constant)
    standard = ((torch.from_numpy(constant) - head.shift) * head.scale).numpy()
    np.testing.assert_allclose(standard[:, :, :5].mean(0), 0, atol=1e-5)
    np.testing.assert_allclose(standard[:, :, :5].std(0), 1, atol=1e-4)
    assert not standard[:, :, 5].any()


def test_each_perspective_reads_its_own_prompt_and_the_same_pair():
    r2c = [np.full((3, 2), p, np.float32) for p in (1, 2)]
    i2c = np.arange(9, dtype=np.float32).reshape(3, 3)
    both = stacked(r2c, i2c, 2)
    assert both.shape == (3, 2, 5)
    assert both[:, 0, :2].tolist() == [[1, 1]] * 3
    assert both[:, 1, :2].tolist() == [[2, 2]] * 3
    assert both[:, 0, 2:].tolist() == both[:, 1, 2:].tolist() == i2c.tolist()
    assert stacked(None, i2c, 2).shape == (3, 2, 3)
    assert stacked(r2c, None, 2).shape == (3, 2, 2)


def test_a_linear_relation_is_learned(tmp_path):
    run = trainer(tmp_path, epochs=20, batch_size=8, learning_rate=0.05)
    run.run(lambda line: None)
    assert min(run.taus(VALIDATION)) > 0.95
    assert run.state.history[-1]["loss"] < run.state.history[0]["loss"] / 10


def test_one_step_is_adamw_on_the_mean_squared_error(tmp_path):
    run = trainer(tmp_path, batch_size=80, epochs=1, learning_rate=1e-3, weight_decay=0.1)
    weight = torch.nn.Parameter(run.head.weight.detach().clone())
    bias = torch.nn.Parameter(run.head.bias.detach().clone())
    x = (torch.from_numpy(FEATURES[:80]) - run.head.shift) * run.head.scale
    y = torch.from_numpy(TARGETS[:80]).float()
    optimizer = torch.optim.AdamW([weight, bias], lr=1e-3, betas=(0.9, 0.999), weight_decay=0.1)
    torch.nn.functional.mse_loss(torch.sigmoid((x * weight).sum(-1) + bias), y).backward()
    optimizer.step()
    run.run(lambda line: None)
    torch.testing.assert_close(run.head.weight, weight)
    torch.testing.assert_close(run.head.bias, bias)


def test_what_nobody_rated_teaches_nothing(tmp_path):
    targets = TARGETS.copy()
    targets[:, 1] = np.nan
    run = trainer(tmp_path, targets=targets, epochs=2, weight_decay=0.0)
    before = run.head.weight[1].detach().clone()
    run.run(lambda line: None)
    torch.testing.assert_close(run.head.weight[1], before)
    assert run.state.history[-1]["validation"][1] is None


def test_training_stops_when_validation_no_longer_improves(tmp_path):
    noise = np.random.default_rng(1).uniform(size=TARGETS.shape)
    run = trainer(tmp_path, targets=noise, epochs=50, patience=2, learning_rate=0.1)
    state = run.run(lambda line: None)
    assert state.epoch == state.best_epoch + 2 < 50
    means = [np.mean(line["validation"]) for line in state.history]
    assert int(np.argmax(means)) + 1 == state.best_epoch
    assert np.mean(run.taus(VALIDATION)) == pytest.approx(max(means), abs=1e-3)


def test_a_resumed_run_ends_as_one_that_was_never_cut(tmp_path):
    whole = trainer(tmp_path, epochs=6)
    whole.run(lambda line: None)
    cut = trainer(tmp_path, epochs=6)

    def stop(line):
        if line["epoch"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        cut.run(stop)
    again = trainer(tmp_path, epochs=6)
    again.resume()
    assert again.state.epoch == 3
    again.run(lambda line: None)
    assert torch.equal(again.head.weight, whole.head.weight)
    assert again.state == whole.state


def test_another_runs_state_is_refused(tmp_path):
    trainer(tmp_path, epochs=1).run(lambda line: None)
    with pytest.raises(UserError, match="other settings"):
        trainer(tmp_path, epochs=1, learning_rate=0.5).resume()
    (tmp_path / "state").write_bytes(b"nothing")
    with pytest.raises(UserError, match="nothing to resume"):
        trainer(tmp_path).resume()
