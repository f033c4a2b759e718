"""What the fuzzer's kinds of runs share: running a command in this process, and good input."""

from __future__ import annotations

import base64
import contextlib
import gzip
import io
import json
import random
import shutil
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.running import run_command
from revise_captions.io.rows import dumps
from revise_captions.io.signature_file import signatures_path
from revise_captions.pipelines import cli
from scripts.checks import hostile

FIELDS = ("--image-field", "image", "--caption-field", "caption")
#: The status where every record went to the quarantine.
NO_RECORD = 5
#: Those of input that may be damaged as a whole.
DAMAGED = (0, 2, NO_RECORD)
ADDED = ("revised_caption", "revision")
Main = Callable[[list[str]], object]


def program(sub_command: click.Command) -> Main:
    """A sub-command of `captions`, as it runs when it is named there."""
    return partial(run_command, sub_command, f"captions {sub_command.name}")


class Broken(Exception):
    """A run that did not keep the promise."""


def command(*arguments: str, allowed: tuple[int, ...] = (0,), main: Main = cli.main) -> int:
    """The command's exit status. Raises `Broken` for another than allowed, or a traceback."""
    out, err = io.TextIOWrapper(io.BytesIO(), "utf-8"), io.StringIO()
    status: object = 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main([*arguments, *(["--allow-unscored"] if main is cli.main else [])])
    except SystemExit as stopped:
        status = stopped.code or 0
    said = err.getvalue()
    if status not in allowed or "Traceback" in said:
        raise Broken(f"{arguments} status {status}: {said[-3000:]}")
    assert isinstance(status, int)
    return status


def mixed(rng: random.Random, good: Sequence[bytes], bad: Sequence[bytes]) -> list[bytes]:
    """All rows; the good ones keep their order, and one of them comes first."""
    rows = list(good)
    for row in bad:
        rows.insert(rng.randint(1, len(rows)), row)
    return rows


def sign(source: str, *copies: str) -> None:
    """Puts the signatures that were written beside one file beside others, too."""
    for copy in copies:
        shutil.copyfile(signatures_path(source), signatures_path(copy))


def lines_of(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines() if path.exists() else []


def packed(rng: random.Random, data: bytes) -> bytes:
    kind = rng.randrange(4)
    if kind == 0:
        return gzip.compress(data, 1)
    if kind == 1:
        import zstandard

        return zstandard.compress(data)
    return data


def is_element(row: bytes) -> bool:
    """Whether brackets tell where this element of an array ends."""
    try:
        json.loads(row, parse_int=float)
    except RecursionError:
        return row in hostile.CORPUS and row.endswith(b"}")
    except ValueError:
        return False
    return row == row.strip()


def quarantined(out: Path) -> list[dict[str, Any]]:
    from revise_captions.runs.paths import quarantine_path

    path = quarantine_path(str(out))
    return [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def original(bad: dict[str, Any]) -> bytes:
    if "bytes" in bad:
        return base64.b64decode(bad["bytes"])
    return str(bad["text"]).encode("utf-8", "surrogatepass")


def same_fields(row: bytes, line: bytes) -> bool:
    """Whether an output row holds the fields of this input row."""

    def fields(text: bytes) -> str:
        data = json.loads(text.decode("utf-8-sig"), parse_int=str)
        return dumps({name: value for name, value in data.items() if name not in ADDED})

    try:
        return fields(row) == fields(line)
    except (ValueError, AttributeError, RecursionError):
        return False
