"""ARCHITECTURE.md shows every call from the command to the critic's forward pass."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import FrameType

import pytest

ROOT = Path(__file__).parents[2]
CAPTIONS = ROOT / "datasets/picturebook/examples/captions.jsonl"
FOLDERS = [ROOT / name for name in ("critic", "reviser", "pipelines", "src")]


class Reached(BaseException):
    """The forward pass begins: nothing after it matters here."""


def ours(frame: FrameType | None) -> list[tuple[str, str]]:
    """(file, function) of our own frames, outermost first."""
    found = []
    while frame is not None:
        path = Path(frame.f_code.co_filename).resolve()
        called = not frame.f_code.co_name.startswith("<")  # a lambda is part of its function
        if called and any(path.is_relative_to(folder) for folder in FOLDERS):
            found.append((path.relative_to(ROOT).as_posix(), frame.f_code.co_name))
        frame = frame.f_back
    return found[::-1]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[str, str]]:
    """The stack when the language model's first layer is called, the models being the bundled."""
    import torch

    from revise_captions.pipelines.cli import main

    call = torch.nn.Module.__call__
    found: list[tuple[str, str]] = []

    def traced(self: torch.nn.Module, *args: object, **kwargs: object) -> object:
        if "DecoderLayer" in type(self).__name__:
            found.extend(ours(sys._getframe(1)))
            raise Reached
        return call(self, *args, **kwargs)

    out = tmp_path_factory.mktemp("traced") / "out.jsonl"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(torch.nn.Module, "__call__", traced)
        with pytest.raises(Reached):
            main([str(CAPTIONS), str(out), "--limit", "1"])
    return found


def test_it_goes_from_the_command_to_the_network(path):
    assert path[0] == ("pipelines/cli.py", "main")
    assert path[-1][0] == "critic/paligemma/model.py"


def test_it_is_short(path):
    assert len(path) <= 14
    assert len({file for file, _ in path}) <= 9


def test_the_page_shows_it(path):
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    table = text[text.index("<!-- main path -->") : text.index("<!-- /main path -->")]
    shown = re.findall(r"(?m)^\| `(\w+)` \| `([\w./]+)` \|", table)
    assert [(file, function) for function, file in shown] == path
