"""The documentation site builds without a warning, and asks no other host for anything."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("mkdocs", reason="the documentation site needs the extra `docs`")
pytest.importorskip("mkdocstrings_handlers.python", reason="the site needs the extra `docs`")

from scripts import docs_site

ROOT = Path(__file__).parents[2]


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
    assert built - expected == {Path("404.md")}


def test_no_page_fetches_anything_from_another_host(site):
    pages = list(site.rglob("*.html"))
    fetched = {link for page in pages for link in Page(page).fetched}
    assert any(link.endswith(".css") for link in fetched)
    assert [link for link in fetched if re.match(r"(\w+:)?//", link)] == []
    sheets = "".join(sheet.read_text(encoding="utf-8") for sheet in site.rglob("*.css"))
    assert re.findall(r"(?:url\(|@import)[\"'\s]*(?:https?:)?//[^)]*", sheets) == []
    # Material would load this library from another host, for pages with such a diagram.
    assert not any('class="mermaid"' in page.read_text(encoding="utf-8") for page in pages)


def test_links_to_pages_outside_docs_lead_to_their_copies(site):
    assert 'href="revising.html#options"' in (site / "index.html").read_text(encoding="utf-8")
    revising = (site / "revising.html").read_text(encoding="utf-8")
    assert 'href="index.html#what-comes-out"' in revising
