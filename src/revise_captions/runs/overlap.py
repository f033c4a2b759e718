"""Host work beside the models: the next window is read, the last one written, while they work.

PyTorch, Pillow and files release the interpreter's lock in what takes long, so one thread for each
is enough. Windows and batches are what they would be without, and so is every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from types import TracebackType
from typing import TypeVar

#: False does everything in one thread, one step after the other: what the gain is measured against.
ENABLED = True

Item = TypeVar("Item")
_END = object()


def ahead(items: Iterable[Item]) -> Iterator[Item]:
    """The items; a thread makes the next one while the caller works on this one.

    What it raises is raised here, in the item's turn.
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
    """A context manager that has a thread do one piece of work while the caller goes on.

    What a piece raises is raised by the next call, or on leaving the context, which waits for the
    last piece also where an exception passes through: work that is done is written.
    """

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(1, "behind")
        self._last: Future[None] | None = None

    def do(self, work: Callable[[], None]) -> None:
        """Begins a piece of work once the one before is done."""
        self.wait()
        if ENABLED:
            self._last = self._pool.submit(work)
        else:
            work()

    def wait(self) -> None:
        """Waits for the piece in work. Raises what it raised."""
        last, self._last = self._last, None
        if last is not None:
            last.result()

    def settled(self) -> bool:
        """Waits for the piece in work; whether it came to a good end. Any thread may ask."""
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
