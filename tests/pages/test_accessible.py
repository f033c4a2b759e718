"""axe-core finds nothing serious on any page of ours, light and dark, wide and on a phone.

It is a package of npm: `npm install axe-core` in some folder, then
AXE=FOLDER/node_modules/axe-core/axe.min.js bash scripts/test-slow tests/pages
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest
from board_pages import board_page, posh_page
from browser import Browser, needs_browser
from explored import serving, write_run
from report_pages import page  # noqa: F401  # the story book's report

from revise_captions.pipelines.explore.static import write_static

ROOT = Path(__file__).parents[2]
AXE = os.environ.get("AXE", "")
RUN = """axe.run({resultTypes: ["violations"]}).then(found => JSON.stringify(
    found.violations.filter(v => ["serious", "critical"].includes(v.impact))
        .map(v => [v.id, v.nodes.length, v.nodes[0].html.slice(0, 200), v.nodes[0].failureSummary])
))"""
pytestmark = [
    needs_browser,
    pytest.mark.slow,
    pytest.mark.skipif(not AXE, reason="AXE does not name a file of axe-core"),
]


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--site-dir", str(folder)]
    subprocess.run(command, cwd=ROOT, check=True)
    return folder


def serious(browser, url, dark, width):
    browser.look(width, 900, dark=dark)
    browser.open(url)
    browser.call("Runtime.evaluate", expression=Path(AXE).read_text(encoding="utf-8"))
    found = [tuple(each) for each in json.loads(browser.value(RUN))]
    browser.value("localStorage.clear()")  # the next look has a theme of its own,
    browser.open("about:blank")  # and this page does not see the look change, and keep it
    return found


def check(browser, url):
    for dark in (False, True):
        for width in (1200, 390):
            assert serious(browser, url, dark, width) == [], (url, dark, width)


def test_report(browser, page):  # noqa: F811
    check(browser, page.as_uri())


@pytest.mark.parametrize("made", [board_page, posh_page])
def test_leaderboard_and_posh_page(browser, tmp_path, made):
    path = tmp_path / "page.html"
    path.write_text(made(), encoding="utf-8")
    check(browser, path.as_uri())


def test_explorer(browser, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    run = write_run(tmp_path, 25, start=3)
    with serving(run) as explorer:
        check(browser, explorer.url)
        write_static(explorer.session, tmp_path / "static")
    for name in ("index.html", "figures.html"):
        check(browser, (tmp_path / "static" / name).as_uri())


@pytest.mark.timeout(3600)
def test_site(browser, site):
    """All pages have one layout, so each is seen light and wide, and dark on a phone."""
    pages = [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]
    assert len(pages) > 60
    looks = ((False, 1200), (True, 390))
    found = {
        (path.name, look): wrong
        for path in pages
        for look in looks
        if (wrong := serious(browser, path.as_uri(), *look))
    }
    assert found == {}


def test_page_of_what_is_not_there(browser, site):
    """Only a server answers with it, so its scripts are at the server's root."""
    handler = partial(SimpleHTTPRequestHandler, directory=str(site))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        check(browser, f"http://127.0.0.1:{server.server_port}/404.html")
        server.shutdown()
