"""Several processes that train one model: gradients are added up, everything else is the same.

Started by `torchrun` or `accelerate launch`, which say in the environment who is who. Each process
holds the whole model and looks at its share of every batch; all draw the same random choices. So
the sum of their gradients is the gradient of the batch, and two processes train what one would. The
optimizer's state, the larger part of the memory, they may share (`optimizer`).
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from datetime import timedelta

import numpy as np
import torch
from numpy.typing import NDArray

from revise_captions.errors import UserError

#: How long a process waits for another: the first may be validating.
PATIENCE = timedelta(hours=12)


@dataclass(frozen=True, slots=True)
class Parallel:
    """Process `rank` of `world`. A single one is alone, and every method does nothing."""

    rank: int = 0
    world: int = 1
    local: int = 0

    @property
    def first(self) -> bool:
        """Whether this process writes, validates and reports."""
        return self.rank == 0

    def add(self, tensor: torch.Tensor) -> None:
        """Sums a tensor over all processes, in place."""
        if self.world > 1:
            torch.distributed.all_reduce(tensor)

    def largest(self, value: int) -> int:
        """The largest of all processes' values."""
        everyone = np.zeros(self.world)
        everyone[self.rank] = value
        return int(self.total(everyone).max())

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums over all processes."""
        if self.world == 1:
            return values
        tensor = torch.from_numpy(values.copy())
        if torch.distributed.get_backend() == "nccl":
            tensor = tensor.cuda(self.local)
        torch.distributed.all_reduce(tensor)
        return np.asarray(tensor.cpu())

    def agree(self, *values: float) -> tuple[float, ...]:
        """The first process's values, in all."""
        mine = np.array(values if self.first else [0.0] * len(values), dtype=np.float64)
        return tuple(self.total(mine).tolist())

    def gather(self, buffer: torch.Tensor) -> None:
        """Fills a buffer of `world` equal parts, of which each process has set its own."""
        if self.world > 1:
            own = buffer.chunk(self.world)[self.rank].clone()
            torch.distributed.all_gather_into_tensor(buffer, own)

    def wait(self) -> None:
        if self.world > 1:
            torch.distributed.barrier()


def start() -> Parallel:
    """Joins the other processes where there are some. Raises UserError where that fails."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return Parallel()
    local = int(os.environ.get("LOCAL_RANK", "0"))
    cuda = torch.cuda.is_available()
    if cuda:
        torch.cuda.set_device(local)
    try:
        if not torch.distributed.is_initialized():
            torch.distributed.init_process_group("nccl" if cuda else "gloo", timeout=PATIENCE)
    except (RuntimeError, ValueError) as error:
        raise UserError(
            f"{world} processes are announced, but they do not find each other: {error}",
            hint="start them with: torchrun --nproc-per-node N -m revise_captions.finetune.cli …",
        ) from None
    return Parallel(torch.distributed.get_rank(), world, local)


def stop(parallel: Parallel) -> None:
    if parallel.world > 1 and torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
