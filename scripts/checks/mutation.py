"""Changes the code that decides verdicts, rewrites, bytes and statistics: do the tests notice?

    python -m scripts.checks.mutation                        # a fortieth of every room's mutants
    python -m scripts.checks.mutation statistics --share 1   # all of one room
    python -m scripts.checks.mutation bytes --write          # its row, into the page that has it

`mutation.toml` beside this file lists the modules by room, the fast tests that have to notice, and
the changes that no test can notice. A mutant is one change, by mutmut's operators, inside a
function: a comparison, an argument, a number, a string, an assignment. It is killed if a test fails
or runs out of time. mutmut expects folders as packages are imported, so a room is run in a tree of
links that has them so. It changes neither a module's constants nor functions with decorators.
Needs the extra `mutation`.
"""

from __future__ import annotations

import difflib
import importlib.util
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from revise_captions.errors import UserError
from revise_captions.io.writing import write_text
from scripts.research.frame import blocks as markdown

ROOT = Path(__file__).resolve().parents[2]
CONFIG = Path(__file__).with_suffix(".toml")
#: Exit statuses of mutants that lived: the tests passed, or none runs the function.
LIVED = (0, 5, 33)


@dataclass(frozen=True, slots=True)
class MutationRoom:
    """What is changed together: dotted names of modules, paths of tests."""

    name: str
    modules: tuple[str, ...]
    tests: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Mutant:
    """One change: mutmut's name of it, the lines it takes out (-) and puts in (+)."""

    name: str
    change: str
    lived: bool


@dataclass(frozen=True, slots=True)
class MutationSample:
    """A sample of a room's mutants. `equivalent`: of the sampled, those that no test can notice."""

    room: MutationRoom
    mutants: int
    sample: tuple[Mutant, ...]
    equivalent: int

    @property
    def lived(self) -> list[Mutant]:
        return [mutant for mutant in self.sample if mutant.lived]


def folders() -> dict[str, str]:
    """Where each package lies in the checkout."""
    with (ROOT / "pyproject.toml").open("rb") as file:
        return dict(tomllib.load(file)["tool"]["setuptools"]["package-dir"])


def location(module: str) -> str:
    """A module's path in the tree."""
    path = f"{module.replace('.', '/')}.py"
    return path if module.startswith("scripts.") else f"src/{path}"


def plant(room: MutationRoom, tree: Path) -> None:
    """Makes the tree: `mutants`, where the tests run, and copies of what mutmut is to change."""
    inside = tree / "mutants"
    packages = folders()
    for package, source in sorted(packages.items()):
        target = inside / "src" / package.replace(".", "/")
        target.mkdir(parents=True, exist_ok=True)
        for item in (ROOT / source).iterdir():
            if str(item.relative_to(ROOT)) not in packages.values() and item.name != "__pycache__":
                (target / item.name).symlink_to(item)
    for name in ("scripts", "tests"):
        shutil.copytree(ROOT / name, inside / name, ignore=shutil.ignore_patterns("__pycache__"))
    for module in room.modules:
        path = Path(location(module))
        (tree / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(inside / path, tree / path)
        (inside / path).unlink()
    write_text(
        tree / "pyproject.toml",
        f"[tool.mutmut]\nsource_paths = {json.dumps([*map(location, room.modules)])}\n"
        f"pytest_add_cli_args_test_selection = {json.dumps(room.tests)}\n"
        'pytest_add_cli_args = ["-p", "no:cacheprovider", "-p", "no:timeout", "-m", "not slow"]\n'
        "use_git_change_detection = false\ntrack_dependencies = false\n"
        '[tool.pytest.ini_options]\naddopts = "--import-mode=importlib"\n'
        'pythonpath = ["."]\nmarkers = ["slow: minutes long"]\n',
    )


def names_of(room: MutationRoom, tree: Path) -> list[str]:
    """mutmut's names of all mutants of a room, in order."""
    from mutmut.mutation.file_mutation import mutate_file_contents
    from mutmut.utils.format_utils import get_mutant_name

    found = []
    for path in map(Path, map(location, room.modules)):
        changed = mutate_file_contents(str(path), (tree / path).read_text(encoding="utf-8"))
        found += [get_mutant_name(path, name) for name in changed.mutant_names]
    return found


def run(room: MutationRoom, tree: Path, names: Sequence[str]) -> list[Mutant]:
    """Has mutmut run the tests of each mutant."""
    start = "import sys; from mutmut.__main__ import cli; cli(sys.argv[1:])"
    done = subprocess.run(
        [sys.executable, "-c", start, "run", "--max-children", "1", *names],
        cwd=tree,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        errors="replace",
    )
    if done.returncode:
        raise UserError(
            f"mutmut could not run the room “{room.name}”", hint=done.stdout[-3000:] + done.stderr
        )
    status: dict[str, int] = {}
    for module in room.modules:
        stored = (tree / "mutants" / f"{location(module)}.meta").read_text(encoding="utf-8")
        status |= json.loads(stored)["exit_code_by_key"]
    return [Mutant(name, change_of(tree, name), status[name] in LIVED) for name in names]


def change_of(tree: Path, name: str) -> str:
    """The lines that a mutant takes out and puts in."""
    module, _, function = name.rpartition(".")
    path = tree / "mutants" / location(module)
    spans = json.loads(Path(f"{path}.spans").read_text(encoding="utf-8"))["spans"]
    lines = path.read_text(encoding="utf-8").splitlines()
    plain = f"{function.rpartition('__mutmut_')[0]}__mutmut_orig"
    before, after = (
        [
            re.sub(r"\s+", " ", line.replace(key, ""))
            for line in lines[slice(spans[key][0] - 1, spans[key][1])]
        ]
        for key in (plain, function)
    )
    diff = list(difflib.unified_diff(before, after, lineterm="", n=0))[2:]
    return "\n".join(line for line in diff if not line.startswith("@@"))


def is_equivalent(change: str, patterns: Sequence[str]) -> bool:
    """Whether a change is only to what a pattern finds: without that, both sides are the same."""
    lines = {"-": "", "+": ""}
    for line in change.splitlines():
        lines[line[0]] += line[1:]
    return any(
        re.sub(pattern, "", lines["-"]) == re.sub(pattern, "", lines["+"]) for pattern in patterns
    )


def measure(room: MutationRoom, share: float, seed: int, patterns: Sequence[str]) -> MutationSample:
    """Runs a random share of a room's mutants."""
    with tempfile.TemporaryDirectory(prefix="mutation-") as folder:
        tree = Path(folder)
        plant(room, tree)
        names = names_of(room, tree)
        drawn = random.Random(f"{seed}.{room.name}").sample(names, round(share * len(names)))
        found = run(room, tree, drawn)
    counted = tuple(mutant for mutant in found if not is_equivalent(mutant.change, patterns))
    return MutationSample(room, len(names), counted, len(found) - len(counted))


@dataclass(frozen=True, slots=True)
class MutationRow:
    """A room in the table. `asked`: what the command was asked for to make it."""

    room: str
    modules: int
    mutants: int
    tried: int
    killed: int
    equivalent: int
    asked: str = ""

    @classmethod
    def of(cls, found: MutationSample, share: float, seed: int) -> MutationRow:
        tried, name = len(found.sample), found.room.name
        return cls(
            name,
            len(found.room.modules),
            found.mutants,
            tried,
            tried - len(found.lived),
            found.equivalent,
            f"`{name} --share {share:g} --seed {seed}`",
        )


_HEAD = (
    "| room | modules | mutants | tried | killed | share killed | not to be noticed | asked for |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)


def as_table(rows: Sequence[MutationRow]) -> str:
    """Markdown: a row for each room, and their sum; exact (Clopper–Pearson) 95 % intervals."""
    total = MutationRow(
        "**all**",
        sum(r.modules for r in rows),
        sum(r.mutants for r in rows),
        sum(r.tried for r in rows),
        sum(r.killed for r in rows),
        sum(r.equivalent for r in rows),
    )
    return "\n".join(
        [
            _HEAD,
            *(
                f"| {r.room} | {r.modules} | {r.mutants:,} | {r.tried:,} | {r.killed:,} | "
                f"{_share(r.killed, r.tried)} | {r.equivalent:,} | {r.asked} |"
                for r in (*rows, total)
            ),
        ]
    )


def rows_of(table: str) -> list[MutationRow]:
    """The rooms of a table that `as_table` made."""
    found = []
    for line in table.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 8 and cells[-1].startswith("`"):
            room, *numbers, asked = cells
            del numbers[4]  # the share follows from the counts
            modules, mutants, tried, killed, equal = (int(n.replace(",", "")) for n in numbers)
            found.append(MutationRow(room, modules, mutants, tried, killed, equal, asked))
    return found


def _share(part: int, whole: int) -> str:
    from scipy.stats import binomtest

    if not whole:
        return ""
    bounds = binomtest(part, whole).proportion_ci()
    return f"{part / whole:.3f} ({bounds.low:.3f}–{bounds.high:.3f})"


def written(rows: Sequence[MutationRow]) -> None:
    """Puts rows into the page's table, in the order of the rooms; those of other rooms stay."""
    text = markdown.page_with(ROOT, "mutation").read_text(encoding="utf-8")
    before = text.split("<!-- mutation -->\n")[1].split("<!-- /mutation -->")[0]
    known = {row.room: row for row in (*rows_of(before), *rows)}
    order = [name for name in _config()["rooms"] if name in known]
    markdown.write_to_pages(ROOT, {"mutation": as_table([known[name] for name in order])})


def _config() -> Mapping[str, Any]:
    return tomllib.loads(CONFIG.read_text(encoding="utf-8"))


@click.command(help=__doc__.splitlines()[0])
@click.argument("names", nargs=-1)
@click.option("--share", default=0.025, show_default=True, help="Of each room's mutants.")
@click.option("--seed", default=22, show_default=True, help="Of the sample.")
@click.option(
    "--write",
    is_flag=True,
    help="Each room's row also into docs/measurements/reliability.md, when it is done.",
)
def main(names: tuple[str, ...], share: float, seed: int, write: bool) -> None:
    if not importlib.util.find_spec("mutmut"):
        raise click.UsageError("mutmut is not installed: pip install '.[mutation]'")
    config = _config()
    if unknown := sorted(set(names) - set(config["rooms"])):
        raise click.UsageError(f"no such room: {', '.join(unknown)}")
    patterns = [entry["pattern"] for entry in config["equivalent"]]
    rows = []
    for name in names or config["rooms"]:
        listed = config["rooms"][name]
        room = MutationRoom(name, tuple(listed["modules"]), tuple(listed["tests"]))
        found = measure(room, share, seed, patterns)
        for mutant in found.lived:
            click.echo(f"{mutant.name}\n{mutant.change}\n")
        rows.append(MutationRow.of(found, share, seed))
        if write:
            written(rows[-1:])
    click.echo(as_table(rows))


if __name__ == "__main__":
    sys.exit(main())
