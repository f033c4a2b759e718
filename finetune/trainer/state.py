"""The run's folder: log, resumable state and a loadable critic, written atomically."""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from revise_captions.errors import UserError
from revise_captions.finetune.optim.distributed import Parallel
from revise_captions.io.writing import append_json_line, replacing

#: Makes and fills a folder.
Write = Callable[[Path], None]


@dataclass(slots=True)
class TrainingProgress:
    """Progress of a training run.

    Attributes:
        seconds: Time since the start: preparation, training, validation and saves, including those
            of earlier processes.
        prepared: How much of it had passed when the main phase began.
        longest: The highest position, in tokens, that any prompt with its answer reached.
        best: The best interim validation's score, at `best_step`.
        worse: Validations since then.
        checked: The step of the last interim validation.
    """

    epoch: int = 0
    batch: int = 0
    step: int = 0
    captions: int = 0
    sentences: int = 0
    seconds: float = 0.0
    prepared: float = 0.0
    tower_seconds: float = 0.0
    tower_step: int = 0
    longest: int = 0
    best: float | None = None
    best_step: int = 0
    worse: int = 0
    checked: int = 0


@dataclass(slots=True)
class RunFolder:
    """`out/training` with `log.jsonl`, `state.pt` and exported critics.

    With a sharded optimizer, each process also writes `part-STEP-RANK.pt`.
    """

    out: Path
    began: float = field(default_factory=time.monotonic)

    @property
    def training(self) -> Path:
        return self.out / "training"

    def log(self, event: str, **values: Any) -> dict[str, Any]:
        """Appends one JSON line to the log."""
        line = {"event": event, "wall": round(time.monotonic() - self.began, 1), **values}
        with saving(self.training):
            append_json_line(self.training / "log.jsonl", line)
        return line

    def save(self, state: dict[str, Any], name: str = "state.pt") -> None:
        """Writes `training/<name>` atomically. Raises UserError if the disk is full."""
        with saving(self.training), replacing(self.training / name) as file:
            torch.save(state, file)

    def remove_old_parts(self, step: int) -> None:
        """Removes the parts of states (`part_name`) of other steps."""
        for path in self.training.glob("part-*"):
            if (found := PART.fullmatch(path.name)) and int(found[1]) != step:
                path.unlink(missing_ok=True)

    def load(self, name: str = "state.pt") -> dict[str, Any] | None:
        path = self.training / name
        if not path.exists():
            return None
        state: dict[str, Any] = torch.load(path, map_location="cpu", weights_only=True)
        return state

    def export(self, name: str, write: Write) -> Path:
        """Has `write(folder)` fill a folder, then replaces `out/training/<name>` by it."""
        target, old = self.training / name, self.training / f"{name}.old"
        shutil.rmtree(old, ignore_errors=True)
        draft = self._drafted(name, write)
        if target.exists():
            target.rename(old)
        draft.rename(target)
        shutil.rmtree(old, ignore_errors=True)
        return target

    def try_out(self, write: Write) -> None:
        """Has `write(folder)` fill a folder, and removes it."""
        shutil.rmtree(self._drafted("trial", write))

    def finish(self, write: Write, last: str) -> None:
        """Has `write(folder)` fill a folder, then moves its content to `out`.

        Args:
            write: Fills a folder.
            last: The file that makes `out` a result: an old one is removed first, and the new one
                moved last.
        """
        draft = self._drafted("finished", write)
        (self.out / last).unlink(missing_ok=True)
        for made in sorted(draft.iterdir(), key=lambda path: (path.name == last, path.name)):
            target = self.out / made.name
            if target.is_dir():
                shutil.rmtree(target)
            made.rename(target)
        draft.rmdir()

    def _drafted(self, name: str, write: Write) -> Path:
        """A completely filled folder in `out/training`. Raises UserError if the disk is full."""
        draft = self.training / f"{name}.tmp"
        shutil.rmtree(draft, ignore_errors=True)
        try:
            with saving(self.training):
                write(draft)
        except UserError:
            shutil.rmtree(draft, ignore_errors=True)
            raise
        return draft


@contextmanager
def saving(
    folder: Path, hint: str = "the previous save is intact: make room, then add --resume"
) -> Iterator[None]:
    """Reports in one line that a state could not be written to a folder because the disk is full.

    PyTorch's writer raises RuntimeError, and safetensors' an error of its own.
    """
    try:
        yield
    except (OSError, RuntimeError, SafetensorError) as error:
        free = shutil.disk_usage(folder).free / 2**30
        raise UserError(
            f"{folder} cannot be written ({free:.1f} GiB free): {str(error).splitlines()[0]}",
            hint=hint,
        ) from None


#: Matches the result of `part_name`.
PART = re.compile(r"part-(\d+)-\d+\.pt")


def part_name(step: int, share: Parallel) -> str:
    """The file of this process's part of a sharded state."""
    return f"part-{step}-{share.rank}.pt"


def best_name(share: Parallel) -> str:
    """The file of the best weights, or of this process's part of them."""
    return "best.pt" if share.world == 1 else f"best-{share.rank}.pt"


def optimizer_state(
    folder: RunFolder, saved: dict[str, Any], share: Parallel, weights: bool
) -> dict[str, Any]:
    """This process's part of the optimizer's state.

    Args:
        weights: Whether the weights are sharded too.

    Raises:
        UserError: The state was saved by a different number of processes or sharded differently.
    """
    parts = saved.get("parts", 1)
    if parts != share.world:
        raise UserError(
            f"the state in {folder.training} was saved by {parts} processes, but now there are "
            f"{share.world}",
            hint="resume with as many processes, and with --sharded or --shard-weights as before",
        )
    if parts == 1:
        return dict(saved["optimizer"])
    if saved.get("weights_divided", False) is not weights:
        raise UserError(
            f"the state in {folder.training} was sharded in a different way",
            hint=f"resume {'without' if weights else 'with'} --shard-weights, as before",
        )
    name = part_name(saved["progress"]["step"], share)
    part = folder.load(name)
    if part is None:
        raise UserError(
            f"{folder.training / name} is missing",
            hint="all processes need the same folder, on a shared file system",
        )
    return part
