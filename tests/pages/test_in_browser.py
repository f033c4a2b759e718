"""Leaderboard and POSH page on a phone, in both themes: nothing clipped, whatever the names."""

from __future__ import annotations

import pytest
from board_pages import board_page, posh_page
from browser import Browser, needs_browser

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("make", [board_page, posh_page])
def test_nothing_is_clipped_on_a_phone(browser, tmp_path, make, dark):
    path = tmp_path / "page.html"
    path.write_text(make(), encoding="utf-8")
    browser.look(390, 800, dark=dark)
    browser.said.clear()
    browser.open(path.as_uri())
    assert browser.value("document.documentElement.scrollWidth") == 390
    assert browser.too_wide() == []
    assert browser.value("document.body.dataset.hacked ?? null") is None
    assert browser.said == []


def test_each_bar_leads_to_its_examples(browser, tmp_path):
    for number, make in enumerate((board_page, posh_page)):
        path = tmp_path / f"{number}.html"
        path.write_text(make(), encoding="utf-8")
        browser.open(path.as_uri())
        missing = browser.value(
            "[...document.querySelectorAll('main a[href^=\"#\"]')]"
            ".filter(a => !document.querySelector(a.getAttribute('href'))).length"
        )
        assert missing == 0
        assert browser.value("document.querySelectorAll('main a[href^=\"#\"]').length") >= 5
