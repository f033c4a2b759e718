"""The whole command in this process, with scripted models, and input for it."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import click
import pytest
import scripted_run
from PIL import Image

from revise_captions.command_line.running import run_command
from revise_captions.io.readers import open_rows
from revise_captions.io.rows import Row
from revise_captions.pipelines import cli

SENTENCES = [
    f"{subject} {verb} {thing}."
    for subject in ("A dog", "The tall house", "A woman in red", "Two birds", "The sun")
    for verb in ("stands near", "is left of", "holds", "floats above")
    for thing in ("the tree", "a wooden fence", "the blue ball", "a bench")
]


class Ran(NamedTuple):
    code: object
    out: str
    err: str


Command = Callable[..., Ran]


def program(command: click.Command) -> Callable[[list[str]], NoReturn]:
    """A sub-command of `captions`, as it runs when it is named there."""
    return partial(run_command, command, f"captions {command.name}")


def outcome(
    main: Callable[[list[str]], object], capsys, *arguments: object
) -> tuple[int, str, str]:
    """What a command ended with and printed."""
    try:
        main([str(argument) for argument in arguments])
        code = 0
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    printed = capsys.readouterr()
    return code, printed.out, printed.err


@pytest.fixture
def command(monkeypatch, capsys, tmp_path) -> Command:
    scripted_run.install(monkeypatch.setattr)
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object) -> Ran:
        with pytest.raises(SystemExit) as stopped:
            cli.main([str(argument) for argument in arguments])
        printed = capsys.readouterr()
        return Ran(stopped.value.code, printed.out, printed.err)

    return run


def caption(rng: random.Random, longest: int = 7) -> str:
    return " ".join(rng.choice(SENTENCES) for _ in range(rng.randint(1, longest)))


def write_input(
    path: Path, count: int = 40, seed: int = 0, longest: int = 7, **fields: str
) -> list[dict[str, Any]]:
    """Rows with captions of up to `longest` sentences, and their image beside them."""
    rng = random.Random(seed)
    Image.new("RGB", (9, 7), "red").save(path.parent / "a.png")
    rows: list[dict[str, Any]] = []
    for i in range(count):
        text = caption(rng, longest)
        rows.append({"id": i, "image": "a.png", "caption": text, "by": rng.choice("xy"), **fields})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


def read(path: Path | str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in Path(path).read_text().splitlines()]


def read_in_full(path: Path | str) -> list[dict[str, Any]]:
    """Rows with their signatures' lines, as this package's readers give them."""
    return [dict(row.data) for row in open_rows(str(path)).rows() if isinstance(row, Row)]
