"""Extensions found by name, ours and other installed packages': entry points, loaded when used.

A package adds to a kind by declaring a name and its location; ours are declared the same way:

    [project.entry-points."revise_captions.metrics"]
    exclamations = "my_package.exclamations:load"

Each kind's protocol says what the object must be (docs/extending.md).
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
#: Beginnings that mark a path, which no name can have.
_PATHS = ("/", "./", "../", "~")


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of extension.

    Attributes:
        group: The entry-point group that names are declared in.
        noun: What messages call one of this kind.
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
    """The installed entries of a kind, by name and sorted by it. Imports nothing.

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
    """The entry points of a group; a package found twice counts where it is first on the path.

    What a build leaves beside its sources (an `.egg-info` without METADATA) is not installed.
    """
    homes: dict[str, Distribution] = {}
    for distribution in _declaring(tuple(sys.path)):
        if homes.setdefault(_name(distribution), distribution) is distribution:
            yield from _points(distribution).select(group=group)


@lru_cache(maxsize=8)
def _declaring(path: tuple[str, ...]) -> tuple[Distribution, ...]:
    """The packages on a path that declare entries in our groups, looked up once per process."""
    ours = {kind.group for kind in KINDS}
    return tuple(
        distribution
        for distribution in distributions(path=[*path])
        if ours & distribution.entry_points.groups
        and distribution.read_text("METADATA") is not None
    )


@lru_cache(maxsize=64)
def _name(distribution: Distribution) -> str:
    """Cached: it parses METADATA, which holds a whole README, and every entry needs it."""
    return distribution.name


@lru_cache(maxsize=64)
def _points(distribution: Distribution) -> EntryPoints:
    """Cached: each group's lookup parses the whole file of entry points."""
    return distribution.entry_points


def names(kind: Kind) -> tuple[str, ...]:
    """The names of all installed entries of a kind."""
    return tuple(entries(kind))


def load(kind: Kind, name: str) -> Any:
    """Imports the object that a name stands for.

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
        UserError: A module cannot be imported.
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
    """The error for an unknown name: gives the nearest name, and all of them; for a path, says that
    nothing is there.

    Args:
        kind: What it should have been.
        given: The name.
        also: Names that are no entries, such as `annotations` among the benchmarks.
        hint: What else may be given, such as a folder.
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
    """The same for a path that does not exist, from the first thousand names in its folder."""
    try:
        with os.scandir(path.parent) as found:
            return did_you_mean(path.name, [entry.name for entry in islice(found, 1000)])
    except OSError:  # its folder does not exist either
        return ""


def is_folder(kind: Kind, given: str) -> bool:
    """Whether a folder is meant rather than a name.

    That is so if it is written as a path, or if it exists and nothing installed has this name:
    `./posh` is a folder, `posh` the metric, whatever is in the working directory.
    """
    if given.startswith(_PATHS) or given in (".", ".."):
        return True
    return bool(given) and given not in entries(kind) and Path(given).is_dir()


def package(entry: EntryPoint) -> str:
    """The name of the distribution that declares an entry, for messages."""
    return _name(entry.dist) if entry.dist is not None else entry.value
