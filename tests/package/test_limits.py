"""No file and no function of what ships is longer than CONTRIBUTING.md allows."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest
from pages import ROOT

PRODUCT = ("src", "critic", "reviser", "finetune", "datasets", "pipelines", "scripts")


def long_functions(code: str, most: int) -> Iterator[str]:
    """Names and lengths of functions of more than so many lines."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = (node.end_lineno or node.lineno) - node.lineno + 1
            if lines > most:
                yield f"{node.name}: {lines}"


@pytest.mark.parametrize("folder", PRODUCT)
def test_files_have_under_400_lines_and_functions_under_60(folder):
    files = list((ROOT / folder).rglob("*.py"))
    assert files
    long = []
    for path in files:
        code = path.read_text(encoding="utf-8")
        found = list(long_functions(code, 59))
        if (lines := len(code.splitlines())) >= 400:
            found.append(f"{lines} lines")
        long += [f"{path.relative_to(ROOT)}: {one}" for one in found]
    assert long == []


def test_a_long_function_is_found():
    code = "class A:\n    async def f(self):\n        a = 1\n        return a\n"
    assert list(long_functions(code, 2)) == ["f: 3"]
    assert list(long_functions(code, 3)) == []
