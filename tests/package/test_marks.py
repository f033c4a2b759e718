"""Each generated block of a page is written by the command that stands beside it."""

from __future__ import annotations

import importlib
import inspect
import re

import click
import pytest
from pages import ROOT

BEGIN = re.compile(r"^<!-- ([a-z][a-z -]*) -->$", re.MULTILINE)
#: README.md, docs and every card and page beside code.
FILES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "src/**/*.md", "*/bundled/*.md", "scripts/**/*.md")
    for path in ROOT.glob(pattern)
    if BEGIN.search(path.read_text(encoding="utf-8"))
)
BLOCKS = [
    (path, name) for path in FILES for name in BEGIN.findall(path.read_text(encoding="utf-8"))
]
#: Made by hand and compared in full by a test.
HELD = {"main path": "test_main_path.py", "plan": "test_docs.py"}
COMMAND = re.compile(r"python -m (scripts(?:\.\w+)+)((?: +(?:--?)?[\w./*=-]+)*)")


def section(text: str, name: str) -> str:
    """From the heading before a block to the one after it."""
    start, end = text.index(f"<!-- {name} -->"), text.index(f"<!-- /{name} -->")
    after = text.find("\n#", end)
    return text[text.rfind("\n#", 0, start) + 1 : after if after > 0 else None]


def commands(text: str) -> list[tuple[str, str]]:
    return COMMAND.findall(text.replace("\\\n", " ").replace("\n", " "))


@pytest.mark.parametrize(("path", "name"), BLOCKS, ids=[name for _, name in BLOCKS])
def test_a_block_is_written_by_the_command_beside_it(path, name):
    text = path.read_text(encoding="utf-8")
    assert text.count(f"<!-- {name} -->") == text.count(f"<!-- /{name} -->") == 1
    if name in HELD:
        test = (ROOT / "tests/package" / HELD[name]).read_text(encoding="utf-8")
        assert f"<!-- {name} -->" in test
        return
    told = [module for module, _ in commands(section(text, name))]
    assert told, f"{path.relative_to(ROOT)}: no command stands beside “{name}”"
    assert any(writes(module, name) for module in told), f"none of {told} writes “{name}”"


def writes(module: str, name: str) -> bool:
    """Whether a module's code names the marks, and its command has --write."""
    loaded = importlib.import_module(module)
    options = {option for parameter in entry_of(loaded).params for option in parameter.opts}
    return re.search(rf"""["']{name}["']""", inspect.getsource(loaded)) is not None and (
        "--write" in options
    )


def entry_of(module: object) -> click.Command:
    return next(v for v in vars(module).values() if isinstance(v, click.Command))
