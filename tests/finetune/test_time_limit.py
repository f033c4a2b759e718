"""`--minutes` counts everything, and keeps free what the end takes."""

from __future__ import annotations

import time
from contextlib import nullcontext
from types import SimpleNamespace

import pytest
import torch

from revise_captions.errors import UserError
from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.optim.distributed import Parallel
from revise_captions.finetune.trainer import batches, loop
from revise_captions.finetune.trainer.batches import EncodedBatch, fraction
from revise_captions.finetune.trainer.setup import EndCosts
from revise_captions.finetune.trainer.state import TrainingProgress


def run(elapsed: float, caption: float = 0.5):
    return SimpleNamespace(
        settings=TrainingSettings().with_options(minutes=3.0),
        progress=TrainingProgress(seconds=elapsed, prepared=60.0, step=1),
        end=EndCosts(caption=caption, total=20.0),
        began=time.monotonic() - elapsed,
        validation=range(400),
    )


@pytest.mark.parametrize(("elapsed", "done"), [(60, 0.0), (110, 0.5), (160, 1.0), (175, 1.0)])
def test_training_has_what_preparation_and_the_end_leave(elapsed, done):
    assert fraction(run(elapsed)) == pytest.approx(done)


def test_a_validation_ends_in_time():
    # 180 s, 3 % of them for cards, 5 s to write the critic
    late = run(160)
    late.end.writing = 5.0
    assert loop.last_moment(late) - late.began == pytest.approx(180 * 0.97 - 5)
    assert loop.batch_of(late) == 3  # 1 % of 180 s, at 0.5 s a caption
    assert loop.batch_of(run(160, caption=5.0)) == 1
    assert loop.batch_of(run(160, caption=0.01)) == 16


class Machine:
    """A clock that work moves on: seconds for preparation, to validate a caption, to save a state,
    to write a critic. `busy`: what all of them are multiplied with at times, in turns."""

    def __init__(
        self, prepared: float, caption: float, save: float, write: float = 1.0, busy: float = 1.0
    ) -> None:
        self.now, self.prepared, self.caption = 1000.0, prepared, caption
        self.saving, self.writing, self.busy = save, write, busy
        self.said: list[tuple[float, float | None]] = []  # when, and what time was left

    def spend(self, seconds: float) -> float:
        """`busy` is so for 20 seconds of 40."""
        seconds *= self.busy if self.now % 40 < 20 else 1.0
        self.now += seconds
        return seconds

    def train(self, monkeypatch: pytest.MonkeyPatch, minutes: float) -> TrainingProgress:
        """Runs the loop and the end as `finetune` does, with work that only takes time."""
        began = self.now
        self.now += self.prepared
        progress = TrainingProgress()
        trained = SimpleNamespace(
            settings=TrainingSettings().with_options(minutes=minutes),
            progress=progress,
            end=EndCosts(),
            began=began,
            train=range(360),
            validation=range(40),
            parallel=Parallel(),
            optimizer=SimpleNamespace(average=torch.zeros(1000)),
            learner=None,
            train_mode=lambda: None,
            log=lambda event, **values: self.said.append((self.now, values["left"])),
        )

        def step(_: object, batch: EncodedBatch) -> dict[str, float]:
            count = len(batch.drawn.members)
            self.spend(3.5 * self.caption * count)
            return {"captions": count, "sentences": 1.0}

        def save(saved: SimpleNamespace, _: object) -> None:
            saved.end.saving = self.spend(self.saving)
            self.spend(self.writing)

        def measure(_: object, __: object, few: list[int]) -> None:
            self.spend(self.caption * len(few))

        def validate(at: SimpleNamespace) -> None:
            self.spend(self.caption * len(at.validation))
            progress.checked = progress.step

        order = ((0, index, list(range(16))) for index in range(10**6))
        monkeypatch.setattr(loop, "time", SimpleNamespace(monotonic=lambda: self.now))
        monkeypatch.setattr(batches, "passes", lambda *_: [])
        monkeypatch.setattr(loop, "step", step)
        monkeypatch.setattr(loop, "save", save)
        monkeypatch.setattr(loop, "measure_learner", measure)
        monkeypatch.setattr(loop, "_validate_and_keep_best", validate)
        monkeypatch.setattr(loop, "_seconds_to_write", lambda *_: self.spend(self.writing))
        monkeypatch.setattr(loop, "averaged", lambda _: nullcontext())
        monkeypatch.setattr(loop, "endless_batches", lambda *_: order)
        loop.train_all(trained, lambda *_: None, lambda *_: None)
        save(trained, None)
        left, until = 40, loop.last_moment(trained)
        while left == 40 or (left > 0 and self.now < until):  # as `measure_learner` does
            self.spend(self.caption * min(left, loop.batch_of(trained)))
            left -= loop.batch_of(trained)
        self.spend(self.writing)
        return progress


@pytest.mark.parametrize("minutes", [1.0, 2.0, 3.0, 30.0])
@pytest.mark.parametrize(
    ("prepared", "caption", "save", "write", "busy"),
    [
        (8.0, 0.02, 0.2, 0.5, 1.0),
        (12.0, 0.2, 1.0, 4.0, 1.0),
        (20.0, 0.6, 2.0, 3.0, 1.0),
        (8.0, 0.02, 0.2, 1.0, 3.0),
        (8.0, 0.05, 0.5, 2.0, 2.0),
    ],
)
def test_a_limit_holds_within_a_tenth(monkeypatch, minutes, prepared, caption, save, write, busy):
    machine = Machine(prepared, caption, save, write, busy)
    progress = machine.train(monkeypatch, minutes)
    assert progress.step > 0
    assert 0.8 * minutes * 60 <= machine.now - 1000 <= 1.1 * minutes * 60


@pytest.mark.parametrize("minutes", [2.0, 3.0])
def test_a_limit_holds_on_a_machine_on_which_a_whole_step_does_not_fit(monkeypatch, minutes):
    machine = Machine(minutes * 60 * 0.4, 2.0, 1.0)  # 16 captions: 112 s; as measured at load 10
    machine.train(monkeypatch, minutes)
    assert machine.now - 1000 <= 1.1 * minutes * 60
    assert machine.said
    for now, left in machine.said:  # the time left never leads beyond the limit
        assert left is None or now - 1000 + left <= minutes * 60 + 1


def test_what_is_no_time_is_said_before_a_step(monkeypatch):
    machine = Machine(58.0, 0.5, 1.0)
    with pytest.raises(UserError, match="left none of the 1 minutes"):
        machine.train(monkeypatch, 1.0)
    assert machine.now - 1000 <= 1.1 * 60
