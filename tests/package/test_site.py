"""The documentation site builds without a warning, asks no other host for anything, and its
reference documents what it shows.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from browser import Browser, needs_browser

pytest.importorskip("mkdocs", reason="the documentation site needs the extra `docs`")
pytest.importorskip("mkdocstrings_handlers.python", reason="the site needs the extra `docs`")
griffe = pytest.importorskip("griffe", reason="the documentation site needs the extra `docs`")

from scripts import docs_site  # noqa: E402

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs/reference").glob("*.md"))
#: Functions with so many parameters say what each of them is.
MANY = 4
#: An object that a page shows, and which of its members where the page says so.
SHOWN = re.compile(r"(?m)^::: ([\w.]+)$(?:\n    options:\n      members: \[(.*)\])?")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    quiet = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    built = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, check=False, env=quiet
    )
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return folder


class Page(HTMLParser):
    """What a browser would fetch for a page by itself, and the anchors in it."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.anchors.add(given.get("id", ""))
        self.fetched += [given[name] for name in ("src", "srcset", "poster") if name in given]
        if tag == "link":
            self.fetched.append(given["href"])


def test_every_page_of_the_repository_is_on_the_site(site):
    expected = {page.relative_to(ROOT / "docs") for page in (ROOT / "docs").rglob("*.md")}
    expected = {page.with_name(page.name.replace("README", "index")) for page in expected}
    expected |= {Path(place) for place in docs_site.ADDED.values() if place.endswith(".md")}
    assert len(expected) > 20
    built = {page.relative_to(site).with_suffix(".md") for page in site.rglob("*.html")}
    assert expected - built == set()
    made = {Path("demo-report.md")} if (ROOT / docs_site.DEMO).exists() else set()
    if (ROOT / docs_site.EXPLORER).exists():
        made |= {Path("explorer/index.md"), Path("explorer/figures.md")}
    assert built - expected == {Path("404.md")} | made


def test_no_page_fetches_anything_from_another_host(site):
    pages = list(site.rglob("*.html"))
    fetched = {link for page in pages for link in Page(page).fetched}
    assert any(link.endswith(".css") for link in fetched)
    assert [link for link in fetched if re.match(r"(\w+:)?//", link)] == []
    sheets = "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)[\"'\s]*(?:https?:)?//[^)]*", sheets) == []
    # Material would load this library from another host, for pages with such a diagram.
    assert not any('class="mermaid"' in page.read_text(encoding="utf-8") for page in pages)


def test_no_code_in_a_table_shows_an_escape(site):
    shown = {
        page.name: found
        for page in site.rglob("*.html")
        if (found := re.findall(r"<td>[^\n]*<code>[^<]*\\\|[^<]*</code>", page.read_text("utf-8")))
    }
    assert shown == {}


def test_links_to_pages_outside_docs_lead_to_their_copies(site):
    index = (site / "index.html").read_text(encoding="utf-8")
    assert 'href="reference/output.html#rows"' in index
    running = (site / "running.html").read_text(encoding="utf-8")
    assert 'href="scripts.html#how-fast-is-it"' in running


def public(names: Iterable[str]) -> list[str]:
    return [name for name in names if not name.startswith("_")]


def objects(tree: Path) -> dict[str, Any]:
    """What the reference shows: named objects, and the public members of those that have some."""
    loader = griffe.GriffeLoader(search_paths=[tree])
    package = loader.load("revise_captions")
    found = {}
    for page in PAGES:
        for name, members in SHOWN.findall(page.read_text(encoding="utf-8")):
            shown = found[name] = package[name.removeprefix("revise_captions.")]
            chosen = re.findall(r"\w+", members) or public(shown.members)
            for member in (shown.members[name] for name in chosen):
                if not member.is_alias and (member.is_class or member.is_function):
                    found[member.path] = member
    for shown in [shown for shown in found.values() if shown.is_class]:
        inner = (shown.members[name] for name in public(shown.members))
        found |= {m.path: m for m in inner if not m.is_alias and m.is_function}
    return found


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return objects(docs_site.package_tree(tmp_path_factory.mktemp("tree")))


def test_the_reference_has_an_entry_for_each_of_them(site, reference):
    pages = (site / "reference").glob("*.html")
    anchors = set().union(*(Page(page).anchors for page in pages))
    assert "revise_captions.revise" in reference
    assert len(reference) > 80
    assert sorted(set(reference) - anchors) == []


def test_everything_in_the_reference_has_a_docstring(reference):
    assert [path for path, shown in reference.items() if shown.docstring is None] == []


def parameters(function: Any) -> list[str]:
    return [p.name for p in function.parameters if p.name not in ("self", "cls")]


def test_arguments_are_documented_by_the_names_that_they_have(reference):
    """Where there is an Args section it is whole; functions with many parameters have one."""
    wrong = {}
    for path, shown in reference.items():
        if not shown.is_function or shown.docstring is None:
            continue
        sections = shown.docstring.parse("google", warnings=False)
        kind = griffe.DocstringSectionKind.parameters
        (documented,) = [s.value for s in sections if s.kind is kind] or [None]
        taken = parameters(shown)
        if documented is None:
            if len(taken) >= MANY:
                wrong[path] = taken
        elif [argument.name.lstrip("*") for argument in documented] != taken:
            wrong[path] = [argument.name for argument in documented]
    assert wrong == {}


@needs_browser
def test_search_works_from_a_folder(site, tmp_path):
    with Browser(tmp_path) as browser:
        browser.open((site / "index.html").as_uri())
        browser.value(
            "{const box = document.querySelector('.md-search__input');"
            " document.querySelector('#__search').click(); box.focus(); box.value = 'quarantine';"
            " box.dispatchEvent(new Event('keyup', {bubbles: true}))}"
        )
        browser.wait("document.querySelector('.md-search-result__item a')?.href.includes('.html')")
        assert browser.said == []
