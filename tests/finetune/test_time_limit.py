"""`--minutes` counts everything, and keeps free what the end takes."""

from __future__ import annotations

import time
from types import SimpleNamespace

import pytest

from revise_captions.finetune.config import TrainingSettings
from revise_captions.finetune.trainer.loop import captions_in_time
from revise_captions.finetune.trainer.setup import EndCosts
from revise_captions.finetune.trainer.state import TrainingProgress
from revise_captions.finetune.trainer.step import fraction


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


def test_the_last_validation_measures_what_there_is_time_for():
    # 180 s, 3 % of them for cards; 174.6 - 160 = 14.6 s at 0.5 s a caption
    assert captions_in_time(run(160)) == 29
    assert captions_in_time(run(160, caption=0.01)) == 0  # all
    assert captions_in_time(run(179)) == 16
