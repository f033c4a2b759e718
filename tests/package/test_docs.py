"""The pages in docs: their shape, their Python, what they say of files and numbers.

Commands, options, links and paths of all pages: test_readme.py."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import inspect
import json
import re
import subprocess
import sys
from posixpath import dirname, join, normpath
from typing import Any

import pytest
from pages import OPTION, PAGES, ROOT, code, options

import revise_captions
from revise_captions import posh
from revise_captions.command_line.captions import load_command
from revise_captions.pipelines.verify import as_json
from revise_captions.registry import COMMANDS, names

DOCS = sorted(set(PAGES) - {"README.md"})
PLANNING = PAGES["docs/planning.md"]
RUNNING = [PAGES[f"docs/{name}.md"] for name in ("running", "servers", "clusters", "planning")]
PLAN = ROOT / "scripts/bench/plan_job.py"


def planned(*more: str) -> dict[str, Any]:
    asked = [sys.executable, str(PLAN), "--captions", "10_000_000", "--gpus", "64", *more]
    return json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)


def pages_linked_from(page: str) -> set[str]:
    links = re.findall(r"\]\(([^)#:]+\.md)", PAGES[page])
    return {normpath(join(dirname(page), link)) for link in links}


def test_the_readme_is_short_and_links_to_every_page():
    readme = PAGES["README.md"]
    assert readme.count("\n") <= 150
    measured = [page for page in DOCS if page.startswith("docs/measurements/")]
    linked = {page for page in DOCS if f"]({page}" in readme}
    once_more = {page for first in linked for page in pages_linked_from(first)}
    guides = {page for page in DOCS if page.count("/") == 1 or "/tutorials/" in page}
    assert guides - linked - once_more == set()
    assert len(guides - linked) <= 15  # beside a page that the README has
    first = PAGES["docs/measurements.md"]
    assert [page for page in measured if f"]({page.removeprefix('docs/')}" not in first] == []


def test_the_first_table_of_measurements_has_the_figures_of_the_pages_behind_it():
    """Each cell with a figure stands, to the letter, on the page that its row links to."""
    page = PAGES["docs/measurements.md"]
    rows = re.findall(r"(?m)^\| \[[^\]]+\]\(([^)#]+)[^)]*\)[^|]* \| (.+) \|$", page)
    assert len(rows) >= 15
    for link, cells in rows:
        behind = (ROOT / "docs" / link).read_text(encoding="utf-8")
        figure, *floors = cells.split(" | ")[:2]
        for number in [figure, *(re.findall(r"\d*\.\d+", " ".join(floors)))]:
            assert number in behind, (link, number)


@pytest.mark.parametrize("page", [page for page in DOCS if "/reference/" not in page])
def test_a_page_says_what_it_is_for_and_then_how(page):
    """A heading, a sentence, and a command (or a program) before everything else."""
    title, nothing, purpose, *_ = PAGES[page].split("\n")
    assert title.startswith("# ")
    assert not nothing
    assert purpose[0].isupper()
    assert not purpose.startswith("For whoever ")
    before, _, _ = PAGES[page].partition("```")
    assert "\n## " not in before
    assert before.count("\n") <= 8


@pytest.mark.parametrize("page", PAGES)
def test_fences_stand_alone(page):
    """One with text behind it closes nothing, and the rest of the page is code."""
    fences = re.findall(r"(?m)^ *```(.*)$", PAGES[page])
    assert [text for text in fences if not re.fullmatch(r"\w*", text)] == []
    assert len(fences) % 2 == 0


#: Pages of figures that stand beside the guides.
MEASURED = ("docs/measurements.md", "docs/papers.md")
#: Guides that are longer, and why.
LONGER = {
    "docs/papers.md": "a reference: a row for each table of five papers",
}


@pytest.mark.parametrize("page", [page for page in DOCS if page.count("/") == 1])
def test_a_guide_has_less_than_700_words(page):
    """Its programs, tables and what they print included."""
    words = len(re.findall(r"\S*\w\S*", PAGES[page]))
    assert (words >= 700) == (page in LONGER), words


def test_a_guide_has_no_measurements():
    """No interval, and no block that was measured with a model."""
    guides = [page for page in DOCS if page.count("/") == 1 and page not in MEASURED]
    interval = re.compile(r"\(-?\d?\.\d+(?:–| to )-?\d?\.\d+\)")
    assert [page for page in guides if interval.search(PAGES[page])] == []
    assert [page for page in guides if "<!-- measured with" in PAGES[page]] == ["docs/demo.md"]


@pytest.mark.parametrize("page", [page for page in PAGES if code(PAGES[page], "python")])
def test_programs_import_what_there_is(page):
    for program in code(PAGES[page], "python"):
        for node in ast.walk(ast.parse(program)):
            if isinstance(node, ast.Import):
                assert all(importlib.import_module(name.name) for name in node.names)
            elif isinstance(node, ast.ImportFrom):
                module = importlib.import_module(node.module)
                assert all(hasattr(module, name.name) for name in node.names), program
            elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                named = {"revise_captions": revise_captions, "posh": posh}.get(node.value.id)
                assert named is None or hasattr(named, node.attr), program


def test_keys_of_a_verification_are_the_ones_explained():
    page = PAGES["docs/reference/output.md"]
    section = page[page.index("## `verification`") :]
    around = {"revision", "verification", "signature", "visual", "posh"}  # made by others
    explained = set(re.findall(r"`(\w+)`", section))
    assert around < explained
    tree = ast.parse(inspect.getsource(as_json))
    dicts = [node for node in ast.walk(tree) if isinstance(node, ast.Dict)]
    made = {key.value for d in dicts for key in d.keys if isinstance(key, ast.Constant)}
    assert explained - around | {"unscored"} == made


def test_commands_within_commands_of_a_scheduler_exist():
    blocks = [block for page in RUNNING for block in code(page, "bash")]
    lines = [line for b in blocks for line in b.replace("\\\n", " ").splitlines()]
    seen = 0
    for line in lines:
        for name in ("revise-captions", *(f"captions {name}" for name in names(COMMANDS))):
            if (found := re.search(rf"(?<![\w-]){name} (?P<rest>[^#]*)", line)) is not None:
                command = load_command(name.partition(" ")[2] or "revise")
                assert set(OPTION.findall(found["rest"])) <= options(command), line
                seen += 1
    assert seen >= 12
    known = set(re.findall(r'add\("(--[a-z-]+)"', PLAN.read_text()))
    asked = re.findall(r"python -m scripts\.bench\.plan_job ([^`\n]*)", PLANNING)
    assert len(asked) >= 2
    for line in asked:
        assert set(OPTION.findall(line)) <= known


def test_the_table_is_what_the_script_says():
    table = PLANNING[PLANNING.index("<!-- plan -->") : PLANNING.index("<!-- /plan -->")]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[3:]]
    assert len(rows) == 4
    for rate, *cells in rows:
        found = planned("--records-per-second", rate, "--efficiency", "0.95")
        assert cells == [
            str(found["hours"]),
            f"{found['gpu_hours']:,}",
            str(found["image_megabytes_per_second"]),
            str(found["cores_for_images"]),
            f"{found['seconds_lost_with_a_replica']} s",
        ]


@pytest.mark.parametrize(("name", "tokens"), [("packed", "1380"), ("one prompt", "7906")])
def test_the_bounds_are_what_the_script_says(name, tokens):
    row = next(line for line in PLANNING.splitlines() if line.startswith(f"| {name}"))
    rate, hours = (float(cell) for cell in row.split("|")[2:4])
    found = planned("--teraflops", "400", "--tokens", tokens)
    assert (found["rate_of_one_gpu"], found["rate_is"], found["hours"]) == (rate, "a bound", hours)


def test_weights_of_the_bound_are_those_of_the_architecture():
    """Gemma 2 2B and SigLIP So400m, from their published shapes."""
    layer = 2304 * 256 * (8 + 8) + 2 * 2304 * 256 * 4 + 3 * 2304 * 9216
    assert round(26 * layer / 1e9, 2) == 2.02
    tower = 4 * 1152 * 1152 + 2 * 1152 * 4304
    assert round(27 * tower / 1e9, 2) == 0.41


def test_the_arithmetic_by_hand():
    spec = importlib.util.spec_from_file_location("plan_job", PLAN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["plan_job"] = module
    spec.loader.exec_module(module)
    found = module.plan(module.Job(7200, 4, 0.5, 1.0, 0.01, 1e6, 1000, 3.0))
    assert (found["hours"], found["gpu_hours"], found["cost"]) == (1.0, 4.0, 12.0)
    assert (found["windows"], found["image_megabytes_per_second"]) == (113, 2.0)
    assert module.bound(1, 1e9, 400, 1e9, 100) == 1.0
