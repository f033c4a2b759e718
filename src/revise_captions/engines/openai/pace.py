"""When a request may be sent to a server, and how many at once.

The server's own limit is probed by additive increase, multiplicative decrease: each answer raises
the number of requests in flight a little (by one after a round of answers), and each refusal for
too many requests halves it, once for all that were sent together. The user's limits are kept by
spacing out requests according to their expected cost.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from revise_captions.errors import EngineDead

logger = logging.getLogger(__name__)

#: Pauses of at least this many seconds are reported.
NOTED = 1.0


class Pace:
    """The pace of one server, shared by threads.

    Args:
        most: Most requests in flight.
        requests: Most requests per minute.
        tokens: Most tokens per minute, in prompts and answers.
    """

    def __init__(self, most: int, requests: int | None = None, tokens: int | None = None) -> None:
        self.most, self.at_once = most, float(most)
        self._of_request = 60 / requests if requests else 0.0
        self._of_token = 60 / tokens if tokens else 0.0
        self._on_way = self._answers = self._round = 0
        self._expected = 0.0
        self._free = self._not_before = time.monotonic()
        self._changed = threading.Condition()
        self._stops = 0

    def begin(self) -> int:
        """Waits until a request may be sent. Returns its round, for `end` and `refused`.

        Raises `EngineDead` where the run is over meanwhile.
        """
        with self._changed:
            while (wait := self._wait()) > 0:
                self._rest(None if wait == float("inf") else wait, lambda: self._wait() <= 0)
            self._on_way += 1
            taken = max(self._of_request, self._expected * self._of_token)
            self._free = max(self._free, time.monotonic()) + taken
            return self._round

    def _wait(self) -> float:
        if self._on_way >= max(1, int(self.at_once)):
            return float("inf")
        if self._of_token and not self._answers and self._on_way:  # the first answer shows the cost
            return float("inf")
        return max(self._free, self._not_before) - time.monotonic()

    def end(self, tokens: int | None) -> None:
        """A request is over. `tokens`: used by a usable answer, 0 if it does not say; None if there
        is no answer."""
        with self._changed:
            self._on_way -= 1
            if tokens is not None:
                self.at_once = min(self.most, self.at_once + 1 / self.at_once)
            if tokens:
                self._free += (tokens - self._expected) * self._of_token
                self._answers += 1
                self._expected += (tokens - self._expected) / min(self._answers, 50)
            self._changed.notify_all()

    def refused(self, round_: int, seconds: float) -> None:
        """The server wants fewer requests: sends none for `seconds`, then half as many at once."""
        with self._changed:
            until = time.monotonic() + seconds
            if round_ == self._round:
                self._round += 1
                self.at_once = max(1.0, self.at_once / 2)
                level = logging.WARNING if seconds >= NOTED else logging.INFO
                logger.log(level, "waiting %.3g s: the server's limit", seconds)
            self._not_before = max(self._not_before, until)
            self._changed.notify_all()

    def sleep(self, seconds: float) -> None:
        """Waits before another try. Raises `EngineDead` if the run ends meanwhile."""
        with self._changed:
            self._rest(seconds, lambda: False)

    def _rest(self, seconds: float | None, ready: Callable[[], bool]) -> None:
        stops = self._stops
        self._changed.wait_for(lambda: self._stops != stops or ready(), seconds)
        if self._stops != stops:
            raise EngineDead("the run is over")

    def stop(self) -> None:
        """The run is over: waiting threads stop waiting."""
        with self._changed:
            self._stops += 1
            self._changed.notify_all()
