"""ARCHITECTURE.md, CONTRIBUTING.md: what they name is there, and the rules are the ones held."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
ENTRANCE = ("ARCHITECTURE.md", "CONTRIBUTING.md")
#: A path of the repository: it has a slash, or the ending of a file.
PATH = re.compile(r"(?<![\w./-])(?:[\w.-]+/)+[\w.-]*|(?<![\w./-])[\w-]+\.(?:md|toml|cff|yml)\b")
#: Made by commands, or named as an example.
NOT_THERE = {
    "pipelines/report/templates/panel_ID.html.j2",
    "site/index.html",
    "site/",
    ".venv/bin/python",
    ".venv/bin/mkdocs",
    "dataclasses/",
    "FOLDER/node_modules/axe-core/axe.min.js",
}


@pytest.mark.parametrize("page", ENTRANCE)
def test_paths_exist(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    code = re.findall(r"```.*?```|`[^`\n]+`|\]\([^)#]+", text, re.DOTALL)
    named = {path for part in code for path in PATH.findall(part)} - NOT_THERE
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_every_package_is_in_the_picture():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    (picture,) = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    folders = PROJECT["tool"]["setuptools"]["package-dir"].values()
    top = {"/".join(folder.split("/")[:2]) for folder in folders if "/" in folder}
    shown = set(re.findall(r"\w+", picture))
    hidden = {"verify_revisions", "evaluation"}
    names = {folder.split("/")[1] for folder in top} | {f.split("/")[0] for f in folders}
    base = {f.split("/")[2] for f in folders if f.startswith("src/") and f.count("/") == 2}
    assert {name for name in (names | base) - hidden if name not in shown} == set()


def test_the_commands_of_the_entrance_are_scripts():
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    scripts = set(re.findall(r"bash (scripts/[\w-]+)", text))
    assert scripts == {"scripts/demo", "scripts/fix", "scripts/test", "scripts/test-slow"}
    assert all((ROOT / script).is_file() for script in scripts)


def test_terms_are_in_order_and_said_once():
    text = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
    glossary = text[text.index("## Glossary") :]
    terms = re.findall(r"(?m)^\| ([^|]+) \|", glossary)[1:]
    terms = [term for term in terms if term != "---"]
    assert len(terms) > 30
    assert terms == sorted(set(terms), key=lambda term: re.sub(r"\W", " ", term.lower()))
