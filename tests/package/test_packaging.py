"""The wheel holds everything; names in the repository's root do not hide anybody else's."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import distributions
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet

ROOT = Path(__file__).parents[2]
SETUP = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]
#: Made by a build, a run or a tool: in the root, and in any folder.
NOT_COPIED = {".git", ".venv", "build", "dist", "runs", "demo-out"}
NOWHERE_COPIED = shutil.ignore_patterns("*.egg-info", "__pycache__", ".*_cache")
BUNDLED = (ROOT / "critic/bundled/config.json", ROOT / "reviser/bundled/config.json")


def test_tested_packages_install_on_the_oldest_python():
    """Debian 12 has Python 3.11.2, where a release for 3.11.5 and later cannot be installed."""
    asked = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    oldest = f"{asked.removeprefix('>=')}.0"
    pinned = (ROOT / "scripts/constraints.txt").read_text().split()
    found = {
        name: one.metadata["Requires-Python"] or asked
        for one in distributions()
        if (name := f"{one.name}=={one.version}") in pinned
    }
    assert SpecifierSet(asked).contains(oldest)
    assert len(found) > 100
    assert [name for name, python in found.items() if oldest not in SpecifierSet(python)] == []


def test_the_list_of_packages_is_the_tree():
    folders = SETUP["package-dir"]
    found = {}
    for base in ("src", "critic", "reviser", "finetune", "pipelines", "datasets"):
        for init in (ROOT / base).rglob("__init__.py"):
            found[str(init.parent.relative_to(ROOT))] = init
    assert sorted(folders.values()) == sorted(found)
    assert sorted(folders) == sorted(SETUP["packages"])
    for base in ("critic", "reviser", "finetune", "pipelines", "datasets/picturebook"):
        strays = [p for p in (ROOT / base).rglob("*.py") if str(p.parent.relative_to(ROOT)) not in
                  found and "bundled" not in p.parts]  # fmt: skip
        assert strays == []
    assert not (ROOT / "datasets/__init__.py").exists()  # it would hide Hugging Face's
    assert not (ROOT / "revise_captions").exists()  # it would hide the mapped packages


def test_package_data_is_there():
    for package, patterns in SETUP["package-data"].items():
        for pattern in patterns:
            folder = ROOT / SETUP["package-dir"][package]
            if pattern.startswith("bundled/") and not (folder / "bundled").exists():
                continue  # weights that are not trained yet
            assert list(folder.glob(pattern)), f"{package}: {pattern}"


def _not_copied(folder: str, names: list[str]) -> set[str]:
    """A package may have the name of a folder of the root, as `runs` does."""
    return {*NOWHERE_COPIED(folder, names), *(NOT_COPIED if Path(folder) == ROOT else ())}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, as setuptools leaves a build folder whose old files go into the wheel."""
    pytest.importorskip("setuptools")
    copy = tmp_path_factory.mktemp("tree") / "tree"
    shutil.copytree(ROOT, copy, ignore=_not_copied)
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", str(copy.parent)]
    subprocess.run([*command, str(copy)], check=True)
    (built,) = copy.parent.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed(wheel: Path) -> Path:
    """The folder of an environment that holds the wheel and nothing else of ours.

    Its dependencies come from the environment that runs the tests, by a `.pth` line: torch alone
    would take minutes to install. The editable install there is not followed, because `.pth` files
    in folders that a `.pth` file names are not read.
    """
    folder = wheel.parent / "env"
    venv.create(folder, with_pip=False)
    python = folder / "bin/python"
    pip = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet"]
    options = ["--disable-pip-version-check", "--no-deps", "--no-index"]
    subprocess.run([*pip, *options, str(wheel)], check=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    folders = [path for path in sys.path if Path(path).name == "site-packages"]
    (packages / "dependencies.pth").write_text("\n".join(folders) + "\n")
    return folder


def clean() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}


def test_the_wheel_holds_the_tree(wheel):
    tree = wheel.parent / "tree"
    names = set(zipfile.ZipFile(wheel).namelist())
    for package, folder in SETUP["package-dir"].items():
        inside = package.replace(".", "/")
        for path in (tree / folder).glob("*.py"):
            assert f"{inside}/{path.name}" in names
        for pattern in SETUP["package-data"].get(package, ()):
            for path in (tree / folder).glob(pattern):
                if path.is_file():
                    assert f"{inside}/{path.relative_to(tree / folder)}" in names
    assert "revise_captions/py.typed" in names
    assert any(name.endswith("licenses/LICENSE") for name in names)
    assert not any(name.startswith(("critic/", "datasets/", "tests/")) for name in names)


def test_what_only_the_checkout_needs_stays_out_of_the_wheel(wheel):
    names = zipfile.ZipFile(wheel).namelist()
    assert not [name for name in names if "/examples/" in name or "contact-sheet" in name]


def test_the_installed_command_runs(installed, tmp_path):
    python = installed / "bin/python"
    code = (
        "import revise_captions, importlib\n"
        f"for name in {SETUP['packages']!r}:\n"
        "    print(importlib.import_module(name).__file__)"
    )
    found = subprocess.run(
        [python, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True, env=clean()
    ).stdout.split()
    assert len(found) == len(SETUP["packages"])
    assert all(Path(path).is_relative_to(installed) for path in found)
    for command in ("revise-captions", "captions finetune"):
        program, *words = command.split()
        ran = subprocess.run(
            [installed / "bin" / program, *words, "--help"],
            cwd=tmp_path, capture_output=True, text=True, check=True, env=clean(),
        )  # fmt: skip
        assert ran.stdout.startswith(f"Usage: {command}")


def test_the_installed_parser_makes_graphs(installed, tmp_path):
    """Out of the wheel, in an empty folder."""
    code = (
        "from revise_captions.graphs import parse\n"
        "(graph,) = parse.parse(['A red cat sleeps on a mat.'])\n"
        "print(parse._FOLDER, sorted(graph.triples()), sep='\\n')"
    )
    folder, triples = subprocess.run(
        [installed / "bin/python", "-c", code],
        cwd=tmp_path, capture_output=True, text=True, check=True, env=clean(),
    ).stdout.splitlines()  # fmt: skip
    assert Path(folder).is_relative_to(installed)
    assert triples == "[('cat', 'is', 'red'), ('cat', 'sleep on', 'mat')]"


@pytest.mark.skipif(
    not all(path.exists() for path in BUNDLED), reason="the bundled models are not trained yet"
)
def test_the_installed_command_corrects_captions(installed, tmp_path):
    """With the bundled models out of the wheel, without a network."""
    source = ROOT / "datasets/picturebook/examples/captions.jsonl"
    arguments = [str(source), "out.jsonl", "--limit", "3", "--report", "report.html"]
    ran = subprocess.run(
        [installed / "bin/revise-captions", *arguments],
        cwd=tmp_path, capture_output=True, text=True, check=False,
        env={**clean(), "HF_HUB_OFFLINE": "1"},
    )  # fmt: skip
    assert ran.returncode == 0, ran.stderr
    assert (tmp_path / "out.jsonl").read_text().count('"revised_caption"') == 3
    assert (tmp_path / "report.html").stat().st_size > 10_000


CHECK = "import datasets; assert callable(datasets.load_dataset); print(datasets.__file__)"


def test_import_datasets_is_hugging_faces(tmp_path):
    """Run from the root, where a folder of that name stands."""
    expected = importlib.util.find_spec("datasets")
    assert expected is not None
    assert expected.origin is not None, "datasets is our folder, not the library"
    assert not Path(expected.origin).is_relative_to(ROOT / "datasets")
    for flags in ([], ["-P"]):
        ran = subprocess.run(
            [sys.executable, *flags, "-c", CHECK],
            cwd=ROOT, capture_output=True, text=True, check=True, env=clean(),
        )  # fmt: skip
        assert ran.stdout.strip() == expected.origin


@pytest.mark.parametrize("how", ["pytest", "python -m pytest"])
def test_import_datasets_under(how, tmp_path):
    inner = tmp_path / "test_inner.py"
    inner.write_text(
        "import importlib.util\n\ndef test_it():\n"
        "    spec = importlib.util.find_spec('datasets')\n"
        "    assert spec.origin and spec.origin.endswith('site-packages/datasets/__init__.py')\n"
        "    assert importlib.util.find_spec('revise_captions.picturebook').origin\n"
    )
    program = [str(Path(sys.executable).with_name("pytest"))]
    if how != "pytest":
        program = [sys.executable, "-m", "pytest"]
    ran = subprocess.run(
        [*program, "-q", "-c", "pyproject.toml", "-p", "no:cacheprovider", str(inner)],
        cwd=ROOT, capture_output=True, text=True, check=False, env=clean(),
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout
    assert "1 passed" in ran.stdout
