"""When a request may be sent to a server, and how many at once.

The server's own limit is felt out: additive increase, multiplicative decrease. Each answer lets a
little more be on their way (one more after a round of answers), each refusal for too many requests
halves their number, once for those that were sent together. The user's limits are kept by spacing
requests, by what they are expected to take.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from revise_captions.errors import EngineDead

logger = logging.getLogger(__name__)

#: Seconds from which a pause is worth a line.
NOTED = 1.0


class Pace:
    """Of one server, shared by threads.

    Args:
        most: Requests that may be on their way at once.
        requests: Most requests a minute.
        tokens: Most tokens a minute, of prompts and answers.
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
        if self._of_token and not self._answers and self._on_way:  # the first says what they take
            return float("inf")
        return max(self._free, self._not_before) - time.monotonic()

    def end(self, tokens: int | None) -> None:
        """A request is over. `tokens`: of a usable answer, 0 where it tells none; None: there is
        no answer."""
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
        """The server wants fewer requests: nothing is sent for so long, then half as many."""
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
        """Waits before another try. Raises `EngineDead` where the run is over meanwhile."""
        with self._changed:
            self._rest(seconds, lambda: False)

    def _rest(self, seconds: float | None, ready: Callable[[], bool]) -> None:
        stops = self._stops
        self._changed.wait_for(lambda: self._stops != stops or ready(), seconds)
        if self._stops != stops:
            raise EngineDead("the run is over")

    def stop(self) -> None:
        """The run is over: who waits stops waiting."""
        with self._changed:
            self._stops += 1
            self._changed.notify_all()
