"""Packages as an installer lays them down, with entry points; `conftest.py` lists this module."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest

#: package, group, {name: "module:object"}, {module: source}
Install = Callable[[str, str, dict[str, str], dict[str, str]], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """Adds a package to this process: its metadata, its entry points and its modules."""

    def add(package: str, group: str, declared: dict[str, str], sources: dict[str, str]) -> None:
        info = tmp_path / f"site-{package}" / f"{package.replace('-', '_')}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        lines = [f"{name} = {value}" for name, value in declared.items()]
        (info / "entry_points.txt").write_text("\n".join([f"[{group}]", *lines]))
        for module, source in sources.items():
            (info.parent / f"{module}.py").write_text(source)
            monkeypatch.delitem(sys.modules, module, raising=False)  # of a test before
        monkeypatch.syspath_prepend(str(info.parent))

    return add
