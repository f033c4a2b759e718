"""Overlaps host work with the models: while they work, reads the next window and writes the last.

PyTorch, Pillow and file operations release the interpreter lock in what takes long, so one thread
for each is enough. Windows, batches, and hence answers are the same as without overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

#: False does everything sequentially in one thread, as the baseline for measuring the gain.
ENABLED = True

Item = TypeVar("Item")
_END = object()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The items; a thread makes the next one while the caller works on this one.

    Its exceptions are raised here, in the item's turn.
    """
    if not ENABLED:
        yield from items
        return
    source = iter(items)
    pool = ThreadPoolExecutor(1, "ahead")
    try:
        coming: Future[Item | object] = pool.submit(next, source, _END)
        while (item := coming.result()) is not _END:
            coming = pool.submit(next, source, _END)
            yield item  # type: ignore[misc]
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


class Behind:
    """A context manager whose thread does one piece of work while the caller goes on.

    A piece's exception is raised by the next call, or on leaving the context. Leaving waits for
    the last piece even on an exception, so that finished work is written.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "behind")
        self._last: Future[None] | None = None

    def do(self, work: Callable[[], None]) -> None:
        """Begins a piece of work once the previous one is done."""
        self.wait()
        if ENABLED:
            self._last = self._pool.submit(work)
        else:
            work()

    def wait(self) -> None:
        """Waits for the current piece. Raises its exception, if any."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def settled(self) -> bool:
        """Waits for the current piece; returns whether it succeeded. Any thread may call it."""
        last = self._last
        return last is None or last.exception() is None

    def __enter__(self) -> Behind:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.wait()
        finally:
            self._pool.shutdown(wait=False)
