"""The memory of this process: its peak, what threads may take, what the C library keeps of it."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class SharedRoom:
    """What threads share, such as memory: who finds no room waits for others to leave.

    Args:
        total: How much there is. What is larger gets all of it.

    Attributes:
        peak: The most that was taken at once.
    """

    def __init__(self, total: int) -> None:
        self.total, self.peak = total, 0
        self._taken = 0
        self._changed = threading.Condition()

    @contextmanager
    def taking(self, size: int) -> Iterator[None]:
        """Waits for room for so much, and holds it."""
        size = min(size, self.total)
        with self._changed:
            self._changed.wait_for(lambda: self._taken + size <= self.total)
            self._taken += size
            self.peak = max(self.peak, self._taken)
        try:
            yield
        finally:
            with self._changed:
                self._taken -= size
                self._changed.notify_all()


def peak_memory() -> int:
    """Bytes: the most that this program has held.

    On Linux not `ru_maxrss`, which begins with what the process that started this one held.
    """
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s*(\d+) kB", status.read_text(encoding="ascii"))
        if found:
            return int(found[1]) * 1024
    import resource  # not on Windows

    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size if sys.platform == "darwin" else size * 1024


def keep_freed_memory() -> None:
    """Tells glibc's malloc to keep large freed buffers instead of returning them to the system.

    A model on a CPU allocates and frees its activations at every step; page faults on fresh memory
    cost up to a third of the time. Does nothing without glibc.
    """
    import ctypes

    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-4, 0)  # M_MMAP_MAX: never map a buffer of its own
        libc.mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD: never shrink the heap
        libc.mallopt(-2, 256 * 2**20)  # M_TOP_PAD: grow it in large steps


def give_back_freed_memory() -> None:
    """Has the C library return to the system what is free, of all threads.

    Left to itself it keeps for each thread as much as the largest image there took, and all of it
    where a model asked for that (`keep_freed_memory`).
    """
    import ctypes

    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)  # glibc's
    if trim is not None:
        trim(0)
