"""Each generated block of a page is written by the command that stands beside it."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

import pytest
from pages import ROOT

from scripts.research.frame import shipped

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
#: A command with its own option, or with that of the frame of research scripts.
WRITES = re.compile(r'"--write"|@write_option|table_command\(')
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
    block = text.split(f"<!-- {name} -->\n")[1].split(f"<!-- /{name} -->")[0]
    assert any(makes(module, name, block) for module in told), f"none of {told} makes “{name}”"


def makes(module: str, name: str, block: str) -> bool:
    """Whether a command writes between these marks, or else prints a table with this header."""
    code = (ROOT / f"{module.replace('.', '/')}.py").read_text(encoding="utf-8")
    if WRITES.search(code) and any(pattern.fullmatch(name) for pattern in strings(code)):
        return True
    header = block.splitlines()[0]
    return header.startswith("| ") and f'print("{header}")' in code


def strings(code: str) -> Iterator[re.Pattern[str]]:
    """What the string literals of a program can be: parts of f-strings in braces are anything."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield re.compile(re.escape(node.value))
        elif isinstance(node, ast.JoinedStr) and isinstance(node.values[0], ast.Constant):
            parts = (
                re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+"
                for part in node.values
            )
            yield re.compile("".join(parts))


@pytest.mark.parametrize(("path", "name"), BLOCKS, ids=[name for _, name in BLOCKS])
def test_a_block_says_what_it_was_measured_with_and_that_still_ships(path, name):
    text = path.read_text(encoding="utf-8")
    block = text.split(f"<!-- {name} -->\n")[1].split(f"<!-- /{name} -->")[0]
    page = path.relative_to(ROOT).as_posix()
    known = (
        (page, name) in shipped.BLOCKS,
        (page, name) in shipped.EARLIER,
        name in shipped.WITHOUT,
    )
    assert sum(known) == 1, f"{page}: say in shipped.py what decides “{name}”"
    if (page, name) in shipped.EARLIER:
        assert "earlier" in section(text, name), f"{page}: say that “{name}” is of earlier models"
    stamp = shipped.stamp_of(path, name)
    found = re.findall(r"<!-- measured with .* -->", block)
    assert found == ([stamp] if stamp else []), (
        f"{page}: “{name}” was measured with something else: measure it again"
    )
