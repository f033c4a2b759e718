"""What this machine has: processors, memory, GPUs, and the extras that are installed."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path

from revise_captions.command_line.extras import installed_extras

GIB = 1 << 30


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU; memory in GiB."""

    name: str
    free: float


@dataclass(frozen=True, slots=True)
class Machine:
    """What a run can use; memory in GiB, `extras` by whether all their packages are there."""

    cores: int
    memory: float
    gpus: tuple[Gpu, ...]
    extras: dict[str, bool]

    @property
    def room(self) -> float:
        """GiB for a model: of the largest GPU, else of the memory."""
        return max((gpu.free for gpu in self.gpus), default=self.memory)


def look() -> Machine:
    """Asks the system, torch and the package's metadata."""
    import torch

    gpus: list[Gpu] = []
    if torch.cuda.is_available():
        for index in range(torch.cuda.device_count()):
            free, _ = torch.cuda.mem_get_info(index)
            gpus.append(Gpu(torch.cuda.get_device_name(index), free / GIB))
    return Machine(os.cpu_count() or 1, free_memory(), tuple(gpus), installed_extras())


def free_memory(root: Path = Path("/")) -> float:
    """GiB that can be had: what the kernel calls available, or what is left of a container's."""
    try:
        text = (root / "proc/meminfo").read_text(encoding="ascii")
        found = re.search(r"MemAvailable:\s+(\d+) kB", text)
        free = int(found[1]) * 1024 if found else 0
    except OSError:  # no Linux: all there is
        free = 0
    free = free or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    try:
        limit = int((root / "sys/fs/cgroup/memory.max").read_text(encoding="ascii"))
        used = int((root / "sys/fs/cgroup/memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):  # no container, or one without a limit ("max")
        return free / GIB
    return min(free, limit - used) / GIB
