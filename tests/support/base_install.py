"""Runs commands as in an install without extras: `python base_install.py < lines`.

Reads JSON lists from standard input, each the words of one command; prints for each a JSON object
with its exit status and what it wrote to standard error. All run in this one process, in which no
library of an extra can be imported.
"""

from __future__ import annotations

import contextlib
import importlib.abc
import io
import json
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


def in_base(root: str = "revise-captions") -> set[str]:
    """The distributions that come with an install without extras."""
    found: set[str] = set()
    waiting = [root]
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in found:
            continue
        found.add(name)
        with contextlib.suppress(ModuleNotFoundError):
            needs = [Requirement(text) for text in requires(name) or ()]
            waiting += [
                n.name for n in needs if n.marker is None or n.marker.evaluate({"extra": ""})
            ]
    return found


def hidden() -> set[str]:
    """The modules of every distribution that a base install does not have."""
    base = in_base()
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
    (point,) = entry_points(group="console_scripts", name=words[0])
    out, err = io.StringIO(), io.StringIO()
    status: object = None
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            point.load()(words[1:])
        except SystemExit as stopped:
            status = stopped.code
        except BaseException:
            traceback.print_exc()
    return {"status": status, "err": err.getvalue(), "out": out.getvalue()}


if __name__ == "__main__":
    base = in_base()
    from_name = Distribution.from_name

    def of_base(name: str) -> Distribution:
        if canonicalize_name(name) not in base:
            raise PackageNotFoundError(name)
        return from_name(name)

    Distribution.from_name = of_base  # type: ignore[method-assign]
    extras = hidden()
    sys.meta_path[:] = [Base(finder, extras) for finder in sys.meta_path]
    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)
