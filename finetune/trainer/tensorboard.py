"""The log as TensorBoard curves (extra `tensorboard`)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from revise_captions.errors import UserError

#: Numbers of a log line without a curve.
_LEFT_OUT = ("wall", "step", "epoch", "captions")


class TensorBoardLog:
    """Writes each number of a log line as `event/name`."""

    def __init__(self, writer: Any) -> None:
        self._writer = writer

    def add(self, line: dict[str, Any], step: int) -> None:
        event = line["event"]
        if event not in ("train", "validation", "tower"):
            return
        for name, value in line.items():
            if isinstance(value, int | float) and name not in _LEFT_OUT:
                self._writer.add_scalar(f"{event}/{name}", value, step)
        self._writer.flush()


def open_board(folder: Path) -> TensorBoardLog:
    """A log in `folder`. Raises UserError if the package is missing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError:
        raise UserError(
            "--tensorboard needs the package tensorboard",
            hint="pip install 'revise-captions[tensorboard]'",
        ) from None
    return TensorBoardLog(SummaryWriter(str(folder)))
