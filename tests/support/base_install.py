"""Runs commands as in an install without extras, or with some: `base_install.py [EXTRA …] < lines`.

Reads JSON lists from standard input, each the words of one command; prints for each a JSON object
with its exit status and what it wrote to standard error. All run in this one process, in which no
library of an extra can be imported.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import io
import json
import runpy
import sys
import traceback
from collections.abc import Sequence
from importlib.machinery import ModuleSpec
from importlib.metadata import (
    Distribution,
    PackageNotFoundError,
    entry_points,
    packages_distributions,
    requires,
)
from types import ModuleType
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = "revise-captions"


def installed(*extras: str) -> set[str]:
    """The distributions that come with an install with these extras, by default none."""
    found: set[tuple[str, str]] = set()
    waiting = [(ROOT, extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in found:
            continue
        found.add((name, extra))
        with contextlib.suppress(ModuleNotFoundError):
            for need in map(Requirement, requires(name) or ()):
                if need.marker is None or need.marker.evaluate({"extra": extra}):
                    other = canonicalize_name(need.name)
                    waiting += [(other, part) for part in ("", *need.extras)]
    return {name for name, _ in found}


def hidden(*extras: str) -> set[str]:
    """The modules of every distribution that such an install does not have."""
    base = installed(*extras)
    owners = packages_distributions().items()
    return {module for module, names in owners if not {canonicalize_name(n) for n in names} & base}


class Base(importlib.abc.MetaPathFinder):
    """Finds what another finder does, but for hidden modules."""

    def __init__(self, finder: importlib.abc.MetaPathFinder, without: set[str]) -> None:
        self.finder, self.without = finder, without

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name.partition(".")[0] in self.without:
            return None
        return self.finder.find_spec(name, path, target)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.finder, name)


def run(words: list[str]) -> dict[str, object]:
    out, err = io.StringIO(), io.StringIO()
    status: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            _call(words)
        except SystemExit as stopped:
            status = stopped.code
        except BaseException:
            traceback.print_exc()
    return {"status": status, "err": err.getvalue(), "out": out.getvalue()}


def _call(words: list[str]) -> None:
    if words[:2] == ["python", "-m"]:
        sys.argv = words[2:]
        runpy.run_module(words[2], run_name="__main__", alter_sys=True)
        return
    (point,) = entry_points(group="console_scripts", name=words[0])
    point.load()(words[1:])


if __name__ == "__main__":
    base = installed(*sys.argv[1:])
    from_name = Distribution.from_name

    def of_base(name: str) -> Distribution:
        if canonicalize_name(name) not in base:
            raise PackageNotFoundError(name)
        return from_name(name)

    Distribution.from_name = of_base  # type: ignore[method-assign]
    unknown = hidden(*sys.argv[1:])
    sys.meta_path[:] = [Base(finder, unknown) for finder in sys.meta_path]
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
