"""What is found by name, ours and that of other installed packages: entry points, loaded when used.

A package adds to a kind by declaring a name and where it lives; ours are declared the same way:

    [project.entry-points."revise_captions.metrics"]
    exclamations = "my_package.exclamations:load"

What the object must be, each kind's protocol says (docs/extending.md).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache
from importlib.metadata import Distribution, EntryPoint, EntryPoints, distributions
from itertools import islice
from pathlib import Path
from typing import Any

from revise_captions.command_line.extras import missing
from revise_captions.errors import UserError

OURS = "revise-captions"
#: How a path begins that cannot be a name.
_PATHS = ("/", "./", "../", "~")


@dataclass(frozen=True, slots=True)
class Kind:
    """What can be added.

    Attributes:
        group: The entry-point group that names are declared in.
        noun: What messages call one of them.
    """

    group: str
    noun: str


CRITICS = Kind("revise_captions.critics", "critic")
REVISERS = Kind("revise_captions.revisers", "reviser")
ENGINES = Kind("revise_captions.engines", "engine")
METRICS = Kind("revise_captions.metrics", "metric")
BENCHMARKS = Kind("revise_captions.benchmarks", "benchmark")
LAYOUTS = Kind("revise_captions.layouts", "layout")
COMMANDS = Kind("revise_captions.commands", "command")
KINDS = (CRITICS, REVISERS, ENGINES, METRICS, BENCHMARKS, LAYOUTS, COMMANDS)


def entries(kind: Kind) -> dict[str, EntryPoint]:
    """What is installed of a kind, by name and in the order of the names. Imports nothing.

    Raises:
        UserError: Two packages use one name.
    """
    found: dict[str, EntryPoint] = {}
    for entry in sorted(_declared(kind.group), key=lambda entry: entry.name):
        other = found.setdefault(entry.name, entry)
        if package(other) != package(entry):
            homes = " and ".join(sorted({package(other), package(entry)}))
            raise UserError(
                f"two packages have a {kind.noun} {entry.name!r}: {homes}", hint="uninstall one"
            )
    return found


def _declared(group: str) -> Iterator[EntryPoint]:
    """The entry points of a group, of each package those of the first on the path.

    What a build leaves beside its sources (an `.egg-info`, which has no METADATA) is not installed.
    """
    homes: dict[str, Distribution] = {}
    for distribution in _declaring(tuple(sys.path)):
        if homes.setdefault(_name(distribution), distribution) is distribution:
            yield from _points(distribution).select(group=group)


@lru_cache(maxsize=8)
def _declaring(path: tuple[str, ...]) -> tuple[Distribution, ...]:
    """The packages on a path that declare anything of ours, looked for once in a process."""
    ours = {kind.group for kind in KINDS}
    return tuple(
        distribution
        for distribution in distributions(path=[*path])
        if ours & distribution.entry_points.groups
        and distribution.read_text("METADATA") is not None
    )


@lru_cache(maxsize=64)
def _name(distribution: Distribution) -> str:
    """Kept, as METADATA is parsed for it, with a whole README in it, and every entry is asked."""
    return distribution.name


@lru_cache(maxsize=64)
def _points(distribution: Distribution) -> EntryPoints:
    """Kept, as the whole file of them is parsed for each group."""
    return distribution.entry_points


def names(kind: Kind) -> tuple[str, ...]:
    """The names of all that is installed of a kind."""
    return tuple(entries(kind))


def load(kind: Kind, name: str) -> Any:
    """The object that a name stands for; its module is imported.

    Raises:
        UserError: There is no such name, or its module cannot be imported.
    """
    known = entries(kind)
    if name not in known:
        raise unknown(kind, name)
    return _loaded(kind, known[name])


def load_all(kind: Kind) -> list[Any]:
    """All objects of a kind in the order of their names, those of other packages first.

    Raises:
        UserError: The module of one cannot be imported.
    """
    known = sorted(entries(kind).values(), key=lambda entry: package(entry) == OURS)
    return [_loaded(kind, entry) for entry in known]


def _loaded(kind: Kind, entry: EntryPoint) -> Any:
    try:
        return entry.load()
    except (ImportError, AttributeError) as error:
        lacking = missing(error) if isinstance(error, ModuleNotFoundError) else None
        if lacking is not None:
            raise lacking from error
        home = package(entry)
        raise UserError(
            f"the {kind.noun} {entry.name!r} of the package {home} cannot be imported: {error}",
            hint=f"reinstall {home} with what it needs, or uninstall it",
        ) from error


def unknown(kind: Kind, given: str, *, also: Iterable[str] = (), hint: str = "") -> UserError:
    """What to tell of a name that nothing has: the nearest name, and all of them; of a path, that
    nothing is there.

    Args:
        kind: What it should have been.
        given: The name.
        also: Names that are no entries, such as `annotations` among the benchmarks.
        hint: What else may stand there, such as a folder.
    """
    known = sorted({*names(kind), *also})
    said = [f"installed are: {', '.join(known) or 'none'}", hint]
    nearest = " and no such folder" if "/" in given else did_you_mean(given, known)
    return UserError(
        f"there is no {kind.noun} {given!r}{nearest}",
        hint="; ".join(filter(None, said)),
    )


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """`: did you mean NAME?` for the known name nearest to a misspelled one, else nothing."""
    near = get_close_matches(given.lower(), list(known), n=1)
    return f": did you mean {near[0]}?" if near else ""


def nearest_path(path: Path) -> str:
    """The same for a path that does not exist, of the first thousand names in its folder."""
    try:
        with os.scandir(path.parent) as found:
            return did_you_mean(path.name, [entry.name for entry in islice(found, 1000)])
    except OSError:  # nor does its folder
        return ""


def is_folder(kind: Kind, given: str) -> bool:
    """Whether a folder is meant, and not a name.

    That is so where it is written as a path, or where it is there and nothing installed has this
    name: `./posh` is a folder, `posh` the metric, whatever lies in the working directory.
    """
    if given.startswith(_PATHS) or given in (".", ".."):
        return True
    return bool(given) and given not in entries(kind) and Path(given).is_dir()


def package(entry: EntryPoint) -> str:
    """The name of the distribution that declares an entry, for messages."""
    return _name(entry.dist) if entry.dist is not None else entry.value
