"""Reading and writing beside the models: nothing is lost, doubled or changed, and time is saved."""

from __future__ import annotations

import errno
import itertools
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import pytest
import scripted_run
from commands import write_input

from revise_captions.errors import UserError
from revise_captions.io.writing import cannot_write
from revise_captions.pipelines.job import window
from revise_captions.runs import overlap, windows
from revise_captions.runs.journal import Journal
from revise_captions.runs.overlap import Behind, ahead

WINDOWS = 6
#: Seconds of reading and writing a window, half of it each.
HOST = 0.16


def counted(made: list[int], upto: int, fails: int = -1) -> Iterator[int]:
    for number in range(upto):
        if number == fails:
            raise OSError("torn")
        made.append(number)
        yield number


def test_one_item_is_made_ahead_and_no_more():
    made: list[int] = []
    for number in ahead(counted(made, 5)):
        deadline = time.monotonic() + 20
        while len(made) < min(number + 2, 5) and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(0.02)
        assert made == list(range(min(number + 2, 5)))


def test_an_error_is_raised_in_its_turn():
    items = ahead(counted([], 5, fails=3))
    assert list(itertools.islice(items, 3)) == [0, 1, 2]
    with pytest.raises(OSError, match="torn"):
        next(items)


def test_whoever_stops_early_stops_the_thread():
    made: list[int] = []
    items = ahead(itertools.chain(counted(made, 2), counted(made, 10**9)))
    assert next(items) == 0
    items.close()  # type: ignore[attr-defined]
    deadline = time.monotonic() + 20
    while any(t.name.startswith("ahead") for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    assert len(made) <= 2


def background(pieces: Iterable[Callable[[], None]], end: BaseException | None = None) -> None:
    with Behind() as behind:
        for piece in pieces:
            behind.do(piece)
        if end is not None:
            raise end


def test_work_is_done_in_order_and_errors_come_back():
    done: list[int] = []

    def work(number: int) -> None:
        time.sleep(0.01)
        if number == 3:
            raise UserError("full")
        done.append(number)

    pieces = [partial(work, number) for number in range(6)]
    with pytest.raises(UserError, match="full"):
        background(pieces)
    assert done == [0, 1, 2]
    with pytest.raises(UserError, match="full"):
        background(pieces[3:4])
    with pytest.raises(KeyboardInterrupt):
        background(pieces[4:5], KeyboardInterrupt())
    assert done == [0, 1, 2, 4]


def test_whether_work_came_to_a_good_end():
    behind = Behind()
    assert behind.settled()
    behind.do(lambda: time.sleep(0.01))
    assert behind.settled()
    behind.do(lambda: [][0])
    assert not behind.settled()


@pytest.fixture
def slow(command, monkeypatch) -> Callable:
    """A command that takes its time over reading a window and over writing one."""
    write_input(Path("in.jsonl"), 64 * WINDOWS, seed=3)
    digest, append = windows.window_digest, Journal.append

    def digesting(*given):
        time.sleep(HOST / 2)
        return digest(*given)

    def appending(*given):
        time.sleep(HOST / 2)
        append(*given)

    monkeypatch.setattr(windows, "window_digest", digesting)
    monkeypatch.setattr(Journal, "append", appending)
    return command


@pytest.mark.slow
def test_host_work_hides_behind_a_model_that_sleeps(slow, monkeypatch):
    """Wall time is the models'; without overlap, reading and writing add theirs. Same bytes."""
    slept = 0.0
    judge = scripted_run.HashCritic.judge

    def judging(self, paragraphs):
        nonlocal slept
        began = time.perf_counter()
        time.sleep(HOST)
        answers = judge(self, paragraphs)
        slept += time.perf_counter() - began
        return answers

    monkeypatch.setattr(scripted_run.HashCritic, "judge", judging)
    outside = {}
    for name, enabled in (("off", False), ("on", True)):
        monkeypatch.setattr(overlap, "ENABLED", enabled)
        slept = 0.0
        began = time.perf_counter()
        ran = slow("in.jsonl", f"{name}.jsonl", "--rounds", "1")
        assert ran.code == 0, ran.err
        outside[name] = time.perf_counter() - began - slept
    assert Path("on.jsonl").read_bytes() == Path("off.jsonl").read_bytes()
    # of reading and writing, what is left is the first window's and the writing of the last
    hidden = outside["off"] - outside["on"]
    assert hidden > 0.75 * (WINDOWS - 2) * HOST


def finished_windows(out: str) -> list[int]:
    lines = Path(f"{out}.journal").read_bytes().splitlines()[1:]
    return [int(line.split(b" ")[1]) for line in lines]


ENDS = {
    "reading": (windows, "window_digest", UserError("it cannot be read")),
    "writing": (Journal, "append", cannot_write(Path("out"), OSError(errno.ENOSPC, "disk full"))),
    "models": (window, "revise_window", KeyboardInterrupt()),
}


@pytest.mark.parametrize(
    ("where", "code", "said", "kept"),
    [
        ("reading", 2, "it cannot be read", [0, 1]),  # 2 had no images yet
        ("writing", 2, "disk full", [0, 1, 2]),
        ("models", 130, "interrupted", [0, 1, 2]),
    ],
)
def test_a_run_that_ends_in_any_thread_goes_on_where_it_ended(
    slow, monkeypatch, where, code, said, kept
):
    """What was computed before the end is in the journal, in order and once."""
    assert slow("in.jsonl", "whole.jsonl").code == 0
    owner, name, error = ENDS[where]
    plain, calls = getattr(owner, name), itertools.count()

    def failing(*given):
        if next(calls) == 3:
            raise error
        return plain(*given)

    with monkeypatch.context() as patch:
        patch.setattr(owner, name, failing)
        ran = slow("in.jsonl", "out.jsonl")
    assert ran.code == code
    assert said in ran.err
    assert finished_windows("out.jsonl") == kept
    assert slow("in.jsonl", "out.jsonl", "--resume").code == 0
    assert Path("out.jsonl").read_bytes() == Path("whole.jsonl").read_bytes()
    assert not list(Path().glob("out.jsonl.journal*"))
