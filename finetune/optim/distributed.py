"""Several processes that train one model, started by `torchrun` or `accelerate launch`.

Each process holds the whole model and computes its share of every batch; all draw the same random
choices. The sum of their gradients is the batch's gradient, so N processes give the same result as
one. They may shard the optimizer's state (`optimizer`) and the weights (`sharding`).

`accelerate` joins the processes, chooses devices and exchanges small values, but its `Accelerator`
does not run the step. Its DDP averages gradients and expects equally many passes from all
processes, and the sum needs neither; its `reduce` clones what it sums, here all gradients; its FSDP
plugin is ignored on CPUs; its autocast over float32 weights is slower than weights in bfloat16.
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
    """Process `rank` of `world`, on `device`. For a single process, every method does nothing."""

    rank: int = 0
    world: int = 1
    device: str = "cpu"

    @property
    def first(self) -> bool:
        """Whether this process writes, validates and reports."""
        return self.rank == 0

    def add(self, tensor: torch.Tensor) -> None:
        """Sums a tensor over all processes, in place."""
        if self.world > 1:
            torch.distributed.all_reduce(tensor)

    def gather(self, buffer: torch.Tensor) -> None:
        """Fills a buffer of `world` equal parts, each of which one process has set."""
        if self.world > 1:
            own = buffer.chunk(self.world)[self.rank].clone()
            torch.distributed.all_gather_into_tensor(buffer, own)

    def total(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Sums values over all processes."""
        if self.world == 1:
            return values
        from accelerate.utils import reduce

        return np.asarray(reduce(torch.from_numpy(values).to(self.device), "sum").cpu())

    def largest(self, value: int) -> int:
        """The largest of all processes' values."""
        if self.world == 1:
            return value
        from accelerate.utils import gather

        return int(gather(torch.tensor([value], device=self.device)).max())

    def agree(self, *values: float) -> tuple[float, ...]:
        """The first process's values, in all processes."""
        if self.world == 1:
            return values
        from accelerate.utils import broadcast

        tensor = torch.tensor(values, dtype=torch.float64, device=self.device)
        return tuple(broadcast(tensor).tolist())

    def wait(self) -> None:
        """Waits until all processes have arrived."""
        if self.world > 1:
            from accelerate import PartialState

            PartialState().wait_for_everyone()


def start() -> Parallel:
    """Joins the other processes, if any. Raises UserError if that fails."""
    world = int(os.environ.get("WORLD_SIZE", "1"))
    if world == 1:
        return Parallel()
    try:
        from accelerate import PartialState

        state = PartialState(cpu=not torch.cuda.is_available(), timeout=PATIENCE)
    except ImportError:
        raise UserError(
            "training with several processes needs the package accelerate",
            hint="pip install 'revise-captions[train]'",
        ) from None
    except (RuntimeError, ValueError) as error:
        raise UserError(
            f"{world} processes were announced, but could not connect to each other: {error}",
            hint="start them with: torchrun --nproc-per-node N -m revise_captions finetune …",
        ) from None
    return Parallel(state.process_index, state.num_processes, str(state.device))


def stop(parallel: Parallel) -> None:
    """Leaves the other processes."""
    if parallel.world > 1:
        from accelerate import PartialState

        PartialState().destroy_process_group()
