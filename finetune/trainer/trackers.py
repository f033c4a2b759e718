"""The log as curves in a tracker (Weights & Biases, MLflow, TensorBoard), through accelerate."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from revise_captions.command_line.extras import expect_libraries

TRACKERS = ("wandb", "mlflow", "tensorboard")
#: Numbers in a log line that get no curve.
_LEFT_OUT = ("wall", "step", "epoch", "captions")


class TrackedRun:
    """Writes each number of a log line as `event/name`."""

    def __init__(self, tracker: Any) -> None:
        self._tracker = tracker

    def add(self, line: dict[str, Any], step: int) -> None:
        """Adds a line of the log. After the last one, "end", the run is finished."""
        event = line["event"]
        if event in ("train", "validation", "tower"):
            known = {name: value for name, value in line.items() if name not in _LEFT_OUT}
            values = {f"{event}/{n}": v for n, v in known.items() if isinstance(v, int | float)}
            if values:
                self._tracker.log(values, step=step)
        elif event == "end":
            self._tracker.finish()


def expect_tracker(name: str) -> None:
    """Raises `UserError` if a tracker's package, or accelerate, is missing."""
    expect_libraries(f"--log-with {name}", f"train,{name}", name, "accelerate")


def open_tracker(name: str, folder: Path) -> TrackedRun:
    """A run named after this folder in a tracker; TensorBoard and wandb put their files there.

    The tracker's own environment variables determine its other destination and its key
    (`WANDB_PROJECT`, `WANDB_API_KEY`, `WANDB_MODE`, `MLFLOW_TRACKING_URI`).
    """
    from accelerate import PartialState
    from accelerate.tracking import LOGGER_TYPE_TO_CLASS

    PartialState()  # without it, trackers cannot log what they do
    run, files = folder.parent.resolve().name, str(folder)
    given: dict[str, Any] = {
        "tensorboard": {"run_name": "tensorboard", "logging_dir": files},
        "wandb": {"run_name": os.environ.get("WANDB_PROJECT", "revise-captions"), "name": run},
        "mlflow": {"experiment_name": "revise-captions", "run_name": run},
    }[name]
    if name == "wandb":
        given["dir"] = files
    tracker = LOGGER_TYPE_TO_CLASS[name](**given)
    tracker.main_process_only = False  # the caller is the first process
    tracker.start()
    return TrackedRun(tracker)
