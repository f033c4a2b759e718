"""Progress on stderr: a live line on a terminal, a line every half minute elsewhere.

Does not use rich or tqdm: they redraw one line, which leaves a log file with nothing, or with
thousands of carriage returns.
"""

from __future__ import annotations

import shutil
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import TracebackType
from typing import TypeVar

from revise_captions.text.formatting import duration

LINE_SECONDS = 30.0
PATIENCE = 3.0
BEAT_SECONDS = 1.0


T = TypeVar("T")


def shown(items: Iterable[T], doing: str, total: int | None) -> Iterator[T]:
    """Yields the items, showing how many so far: `writing: 120,000 of 1,000,000 rows`."""
    live = sys.stderr.isatty()
    written = time.monotonic()
    count = 0
    for count, item in enumerate(items, 1):
        yield item
        if count % 256 or time.monotonic() - written < (0.2 if live else LINE_SECONDS):
            continue
        written = time.monotonic()
        _show(f"{doing}: {count:,}{f' of {total:,}' if total else ''} rows", live)
    if live and count:
        _show("", live)


def _show(text: str, live: bool) -> None:
    if live:  # a line that wraps cannot be redrawn
        text = text[: shutil.get_terminal_size().columns - 1]
    end = ("\r\x1b[K", "") if live else ("", "\n")
    sys.stderr.write(f"{end[0]}{text}{end[1]}")
    sys.stderr.flush()


@contextmanager
def announced(doing: str) -> Iterator[None]:
    """Announces slow work: at once on a terminal, elsewhere only if it takes `PATIENCE`."""
    live = sys.stderr.isatty()
    later = threading.Timer(PATIENCE, _show, (doing, False))
    later.daemon = True
    if live:
        _show(doing, live)
    else:
        later.start()
    try:
        yield
    finally:
        later.cancel()
        if live:
            _show("", live)


class Progress:
    """Counts records and sentences, or units of another name; shows rate and time left.

    Inside its `with`, a thread keeps the display current even while a single batch takes minutes.

    Args:
        total: How many there are; None if not known.
        unit: What is counted. Sentences are shown only beside records.
        beside: Returns anything else that the line should say now; "" for nothing.
    """

    def __init__(
        self, total: int | None, unit: str = "records", beside: Callable[[], str] = str
    ) -> None:
        self.total, self.unit, self._beside = total, unit, beside
        self._doing = ""
        self._writing = threading.Lock()
        self._ended = threading.Event()
        self.records = 0
        self.sentences = 0
        self.skipped = 0
        self.counts: Counter[str] = Counter()
        self._began = self._shown = self._call = time.monotonic()
        self._counted = 0.0
        self._live = sys.stderr.isatty()

    @property
    def seconds(self) -> float:
        """Wall-clock seconds since this began."""
        return time.monotonic() - self._began

    def __enter__(self) -> Progress:
        threading.Thread(target=self._beat, daemon=True).start()
        return self

    def _beat(self) -> None:
        seconds = BEAT_SECONDS if self._live else max(BEAT_SECONDS, LINE_SECONDS)
        while not self._ended.wait(seconds):
            self._show(self._doing)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ended.set()
        with self._writing:
            if self._live:
                _show("", self._live)

    def skip(self, records: int) -> None:
        """Counts records that an earlier run finished toward the total, but not toward rates."""
        self.skipped += records

    def advance(
        self, records: int, sentences: int, counts: Mapping[str, int] | None = None
    ) -> None:
        """Reports a finished window; `counts`, such as of flagged sentences, are summed up."""
        self.records += records
        self.sentences += sentences
        self.counts.update(counts or {})
        self._counted = self.seconds
        self._doing = ""
        self._show()

    def batch(self, doing: str, done: int, of: int) -> None:
        """Reports a finished batch in a window, beginning with 0 done. Any thread may call it."""
        self._doing = f"{doing} {done:,} of {of:,}"
        if not done:
            self._call = time.monotonic()
        elif done < of and (took := time.monotonic() - self._call) >= PATIENCE:
            self._doing += f", {duration(took / done * (of - done))} left"
        self._show(self._doing)

    def _show(self, more: str = "") -> None:
        with self._writing:
            now = time.monotonic()
            early = now - self._shown < (0.2 if self._live else LINE_SECONDS)
            if early or self._ended.is_set():
                return
            self._shown = now
            counted = self._counted or now - self._began
            line = self.line(counted, now - self._began - counted)
            _show("; ".join(filter(None, (line, more))), self._live)

    def line(self, seconds: float, since: float = 0.0) -> str:
        """`1,280 of 5,000 records (26 %), 31.0 records/s, 210 sentences/s, 2 min left`.

        Args:
            seconds: The time in which they were counted.
            since: Seconds since then: within a window the time left falls, but rates do not.
        """
        rate = self.records / seconds if seconds > 0 else 0.0
        done = self.skipped + self.records
        parts = [f"{done:,} {self.unit}"]
        if self.total:
            parts = [f"{done:,} of {self.total:,} {self.unit} ({100 * done / self.total:.0f} %)"]
        parts.append(f"{rate:.1f} {self.unit}/s")
        if self.unit == "records":
            parts.append(f"{self.sentences / max(seconds, 1e-9):.0f} sentences/s")
        if self.total and rate and (left := (self.total - done) / rate - since) > 0:
            parts.append(f"{duration(left)} left")
        parts += [f"{count:,} {name}" for name, count in self.counts.items() if count]
        return ", ".join([*parts, *filter(None, [self._beside()])])
