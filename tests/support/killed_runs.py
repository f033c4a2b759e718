"""Commands in processes of their own, killed at any moment; disks that are full."""

from __future__ import annotations

import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path

SCRIPT = Path(__file__).with_name("scripted_run.py")


def listen() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)


def start(
    folder: Path, *arguments: str, stdin: bool = False, **environment: str
) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, str(SCRIPT), *arguments],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        # whoever runs the tests in the background of a shell has them inherit a deaf ear
        preexec_fn=listen,
    )


def finish(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=550)
    return process.returncode, out, err


#: Calls that change what is on the disk; what is written in between is lost with the process.
_CHANGES = ("link", "replace", "rename", "fsync", "unlink", "rmdir", "mkdir")


def die_at_change(number: int) -> None:
    """Has this process end by SIGKILL before its so many-th change of the disk, from 0 on."""
    left = count(number, -1)

    def counted(call: Callable[..., object]) -> Callable[..., object]:
        def counting(*given: object, **more: object) -> object:
            if next(left) <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*given, **more)

        return counting

    for name in _CHANGES:
        setattr(os, name, counted(getattr(os, name)))


@contextmanager
def files_up_to(size: int) -> Iterator[None]:
    """As on a disk that is full, no file of this process grows beyond so many bytes."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


class Runs:
    """Runs in processes of their own, forked off one that has imported everything.

    Args:
        folder: Where they run, unless they are told otherwise.
        of: What the arguments are of: `revise-captions` or `captions`.
    """

    def __init__(self, folder: Path, of: str = "revise-captions") -> None:
        self.folder, self.server = folder, start(folder, "serve", of, stdin=True)
        assert self.server.stdin is not None
        assert self.server.stdout is not None
        self.ask, self.answer = self.server.stdin, self.server.stdout

    def run(
        self,
        arguments: list[str],
        kill_at: float | None = None,
        change: int | None = None,
        folder: Path | str = ".",
        environment: dict[str, str] | None = None,
    ) -> tuple[int, float]:
        """Exit status and processor seconds. Kills once it has used so many of those, which, other
        than seconds on the wall, say the same on a busy machine, or at a `change` of the disk."""
        request = {"arguments": arguments, "folder": str(folder), "change": change}
        request["environment"] = environment or {}
        self.ask.write(json.dumps(request) + "\n")
        self.ask.flush()
        process = int(self.answer.readline())
        while kill_at is not None and not select.select([self.answer], [], [], 0.002)[0]:
            with suppress(FileNotFoundError, ProcessLookupError):  # it has just ended
                if processor_seconds(process) >= kill_at:
                    os.kill(process, signal.SIGKILL)
                    break
        status, seconds = self.answer.readline().split()
        return int(status), float(seconds)

    def said(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        """Exit status and what a run printed."""
        status, _ = self.run(list(arguments), environment=environment)
        out, err = ((self.folder / name).read_text() for name in ("printed", "printed.err"))
        return status, out, err

    def close(self) -> None:
        self.ask.close()
        self.server.wait()


def processor_seconds(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
