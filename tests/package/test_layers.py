"""Imports only go downward, heavy ones only inside functions, and `--help` is quick."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]
FOLDERS = {folder: package for package, folder in SETUP["package-dir"].items()}
BASE = "revise_captions"
MODELS = {
    f"revise_captions.{name}"
    for name in ("critic", "reviser", "benchmarks", "picturebook", "chart_world")
}
CHARTS = "revise_captions.charts"
ENGINES = "revise_captions.engines"
GRAPHS = "revise_captions.graphs"
METRICS = "revise_captions.metrics"
POSH = "revise_captions.posh"
DCSCORE = "revise_captions.dcscore"
VELA = "revise_captions.vela"
CRITIC_METRIC = "revise_captions.critic_metric"
CRITIC, BENCHMARKS = "revise_captions.critic", "revise_captions.benchmarks"
LOWER = {BASE, CHARTS, ENGINES, GRAPHS, METRICS}
#: The rooms of metrics: what stands above them may use them all.
ROOMS = {CRITIC_METRIC, DCSCORE, POSH, VELA}
ALLOWED = {
    BASE: {BASE},
    CHARTS: {BASE, CHARTS},
    ENGINES: {BASE, ENGINES},
    GRAPHS: {BASE, GRAPHS},
    METRICS: {BASE, ENGINES, METRICS},
    POSH: {BASE, ENGINES, GRAPHS, METRICS, POSH},
    DCSCORE: {BASE, ENGINES, GRAPHS, METRICS, CRITIC, DCSCORE},
    CRITIC_METRIC: {BASE, METRICS, CRITIC, CRITIC_METRIC},
    VELA: {BASE, ENGINES, METRICS, BENCHMARKS, VELA},
    **{package: {*LOWER, package} for package in MODELS},
    "revise_captions.finetune": {*LOWER, *MODELS, *ROOMS, "revise_captions.finetune"},
    "revise_captions.pipelines": {*LOWER, *MODELS, *ROOMS, "revise_captions.pipelines"},
}
#: What trains imports torch as `finetune` does: its command imports it when it runs.
TRAINING = {"revise_captions.vela.training"}
HEAVY = {
    *("torch", "transformers", "datasets", "pyarrow", "sklearn", "scipy", "spacy", "peft"),
    *("accelerate", "huggingface_hub", "nltk", "httpx", "tenacity", "vllm", "cv2", "rapidocr"),
    *("matplotlib", "vl_convert"),
}


@cache
def modules() -> list[tuple[str, Path]]:
    return [
        (package, path)
        for folder, package in FOLDERS.items()
        for path in sorted((ROOT / folder).glob("*.py"))
    ]


@cache
def nodes(path: Path) -> list[ast.AST]:
    """What in a module imports or names something, and its classes; read once for all tests."""
    kinds = (ast.Import, ast.ImportFrom, ast.ClassDef, ast.Constant)
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return [node for node in ast.walk(tree) if isinstance(node, kinds)]


def outermost(path: Path) -> list[ast.AST]:
    """Those of them that stand in nothing else of the module."""
    return [node for node in nodes(path) if getattr(node, "col_offset", 1) == 0]


def imported(path: Path, package: str) -> Iterator[tuple[str, int]]:
    """Full names of what a module imports, anywhere in it, with the line."""
    for node in nodes(path):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                parts = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*parts, base]).rstrip(".")
            yield from ((f"{base}.{alias.name}", node.lineno) for alias in node.names)


@cache
def scripts() -> list[Path]:
    return sorted((ROOT / "scripts").rglob("*.py"))


def owner(name: str) -> str | None:
    """The package of ours that a full name belongs to."""
    if name != BASE and not name.startswith(BASE + "."):
        return None
    second = ".".join(name.split(".")[:2])
    return second if second in ALLOWED else BASE


def test_imports_go_downward():
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package, path in modules()
        for name, line in imported(path, package)
        # The root's __init__ names what users import; it does so lazily (next test).
        if path != ROOT / "src/revise_captions/__init__.py"
        and (found := owner(name)) is not None
        and found not in ALLOWED[owner(package) or BASE]
    ]
    assert wrong == []


def test_no_module_of_the_package_imports_scripts_or_tests():
    """Neither is installed."""
    wrong = [
        f"{path.relative_to(ROOT)}:{line} imports {name}"
        for package, path in modules()
        for name, line in imported(path, package)
        if name.partition(".")[0] in ("scripts", "tests")
    ]
    assert wrong == []


def test_imports_by_string_name_modules_of_the_package():
    """What is imported lazily by its name is neither in `scripts` nor in `tests` either."""
    wrong = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.value!r}"
        for _, path in modules()
        for node in nodes(path)
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"(scripts|tests)(\.\w+)+", node.value)
    ]
    assert wrong == []


def module_name(package: str, path: Path) -> str:
    return package if path.name == "__init__.py" else f"{package}.{path.stem}"


def graph() -> dict[str, set[str]]:
    """What each module imports of ours, anywhere in it."""
    names = {module_name(package, path) for package, path in modules()}
    found: dict[str, set[str]] = {}
    for package, path in modules():
        own = module_name(package, path)
        targets = (name for name, _ in imported(path, package) if owner(name))
        known = {n if n in names else n.rpartition(".")[0] for n in targets}
        found[own] = (known & names) - {own}
    return found


def circle(edges: dict[str, set[str]]) -> list[str]:
    """A circle in a graph, [] where there is none."""
    try:
        TopologicalSorter(edges).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_modules_import_each_other_in_a_circle():
    assert circle(graph()) == []


def test_no_packages_import_each_other_in_a_circle():
    """A package and those inside it may: `critic.load` chooses among users of `critic.protocol`."""
    homes = {module_name(package, path): package for package, path in modules()}
    edges: dict[str, set[str]] = {package: set() for package in FOLDERS.values()}
    for name, targets in graph().items():
        own = homes[name]
        for other in {homes[target] for target in targets} - {own}:
            if not (other.startswith(f"{own}.") or own.startswith(f"{other}.")):
                edges[own].add(other)
    assert circle(edges) == []


def test_a_circle_is_found():
    assert circle({"a": {"b"}, "b": {"c"}, "c": {"a"}})
    assert circle({"a": {"b"}, "b": {"c"}}) == []


#: Folders of more than 15 modules, each with why it is not two.
CROWDED = {
    "scripts/checks": "what is too heavy for the tests, one module a check",
    "critic": "what each critic shares: loading by name, cards, profiles, panels, prompts; the "
    "critics of more than a module have rooms of their own",
    "critic/charts": "one critic whole: what it sees of a chart and of a caption's structure, its "
    "evidence, its rationales, and which of its fixes are certain",
    "src/revise_captions/charts": "what all kinds of charts are read by: text, axes, colors, "
    "legends, panels; kinds with rules of their own have rooms",
    "src/revise_captions/dcscore": "a metric whole: what takes captions apart, verifies, matches, "
    "scores and shows their units, and its command and options",
    "src/revise_captions/stats": "each statistic once, for all rooms: one module a method",
}


def test_a_folder_with_many_modules_has_a_reason():
    counts = {
        folder: len(list((ROOT / folder).glob("[!_]*.py")))
        for folder in {*FOLDERS, *(str(path.parent.relative_to(ROOT)) for path in scripts())}
    }
    assert {folder for folder, count in counts.items() if count > 15} == CROWDED.keys()


def test_a_public_class_name_means_one_thing():
    homes: dict[str, list[str]] = {}
    for path in (*(path for _, path in modules()), *scripts()):
        for node in outermost(path):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(str(path.relative_to(ROOT)))
    assert {name: where for name, where in homes.items() if len(where) > 1} == {}


def test_the_layers_are_looked_at():
    """The test above sees what it should: a wrong import would be found."""
    found = [owner(name) for package, path in modules() for name, _ in imported(path, package)]
    assert found.count("revise_captions.critic") > 10
    assert found.count(BASE) > 50
    assert owner("revise_captions.critic.protocol") == "revise_captions.critic"
    assert owner("revise_captions.records.Span") == BASE
    assert owner("json") is None


def _lazily(path: Path) -> Iterator[str]:
    """Top packages that a module imports when it is imported itself."""
    for node in outermost(path):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield (node.module or "").partition(".")[0]


@pytest.mark.parametrize("package", [BASE, CHARTS, ENGINES, VELA, "revise_captions.pipelines"])
def test_heavy_libraries_are_imported_where_they_are_used(package):
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for owner_, path in modules()
        if owner(owner_) == package and owner_ not in TRAINING
        for name in _lazily(path)
        if name in HEAVY
    ]
    assert wrong == []


def test_the_root_package_imports_nothing():
    code = (
        "import sys, revise_captions\n"
        "ours = {n for n in sys.modules if n.startswith('revise_captions.')}\n"
        "assert not ours and 'numpy' not in sys.modules, ours\n"
        "assert revise_captions.Span(1, 2).of('abc') == 'b'\n"
        "assert set(revise_captions.__all__) <= set(dir(revise_captions))\n"
        "try:\n    revise_captions.nothing\nexcept AttributeError: pass\nelse: raise SystemExit(1)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_every_public_name_is_there():
    import revise_captions

    for name in revise_captions.__all__:
        assert callable(getattr(revise_captions, name))


@pytest.mark.parametrize("module", ["cli", "annotate.cli"])
def test_help_is_quick(module):
    """Half a second, once of five times, in time of the processor: the machine may be busy."""
    seconds = []
    for _ in range(5):
        child = subprocess.Popen(
            [sys.executable, "-m", f"revise_captions.pipelines.{module}", "--help"],
            stdout=subprocess.DEVNULL,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = status
        assert status == 0
        seconds.append(used.ru_utime + used.ru_stime)
        if seconds[-1] < 0.5:
            break
    assert min(seconds) < 0.5
