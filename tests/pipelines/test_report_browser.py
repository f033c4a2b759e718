"""The report in a browser: no errors, hostile captions stay text, keys and filters, phones."""

import json
import re

import pytest
from browser import Browser, needs_browser
from report_pages import HOSTILE


def unwritten(text):
    """Text as the page shows it: what cannot be seen is spelt out."""
    return re.sub(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]",
        lambda m: f"U+{ord(m.group()):04X}",
        text,
    )


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


def browse(browser, path):
    """The page's DOM after its scripts ran, and what the console said."""
    browser.look(800)
    browser.said.clear()
    browser.open(path.as_uri())
    return browser.value("document.documentElement.outerHTML"), list(browser.said)


def drive(browser, page, script):
    """Runs `script` in the page; gives back what it returns."""
    browse(browser, page)
    browser.value("localStorage.clear()")
    found = browser.value(f"(() => {{{script}}})()")
    assert browser.said == []
    return found


@needs_browser
def test_no_error_and_no_policy_violation_in_a_browser(page, browser):
    dom, said = browse(browser, page)
    assert said == []
    assert '<html lang="en" class="live">' in dom


@needs_browser
def test_hostile_captions_stay_text_in_a_browser(hostile_page, browser):
    dom, said = browse(browser, hostile_page)
    assert said == []
    assert "data-hacked" not in dom
    shown = drive(
        browser,
        hostile_page,
        "return {hacked: document.body.dataset.hacked ?? null,"
        " sources: [...document.querySelectorAll('#records .rationale')].map(e => e.textContent),"
        " old: [...document.querySelectorAll('.text > .caption')].map(e => {"
        "   e = e.cloneNode(true); e.querySelectorAll('ins, sup').forEach(x => x.remove());"
        "   return e.textContent; }),"
        " groups: [...document.querySelectorAll('#groups tbody th')].map(e => e.textContent),"
        " raw: document.querySelector('.raw').textContent,"
        " title: document.querySelector('h1').textContent}",
    )
    expected = [unwritten(caption) for caption in HOSTILE]
    assert shown["hacked"] is None
    assert shown["sources"] == expected
    assert shown["old"] == expected
    assert shown["groups"] == expected
    assert shown["raw"] == HOSTILE[0]
    assert shown["title"] == unwritten(" ".join(HOSTILE))


@needs_browser
def test_filter_search_keys_sort_and_theme_in_a_browser(page, browser):
    result = drive(
        browser,
        page,
        """
        const shown = () => [...document.querySelectorAll('.card')].filter(c => !c.hidden);
        const key = k => document.activeElement.dispatchEvent(
          new KeyboardEvent('keydown', {key: k, bubbles: true, cancelable: true}));
        const out = {all: shown().length};
        document.querySelector('[data-outcome="sentence removed"].chip').click();
        out.filtered = [...new Set(shown().map(c => c.dataset.outcome))];
        out.status = document.getElementById('status').textContent;
        key('j'); const first = document.activeElement === shown()[0];
        key('j'); key('ArrowRight'); key('k');
        out.moved = first && document.activeElement === shown()[1];
        document.querySelector('.chip').click();
        key('/');
        const search = document.getElementById('search');
        out.searching = document.activeElement === search;
        search.value = 'BAKERY'; search.dispatchEvent(new Event('input'));
        out.found = shown().length;
        out.right = shown().every(c => c.textContent.includes('BAKERY'));
        key('Escape');
        out.back = shown().length;
        const column = n => [...document.querySelectorAll('#group-table tbody tr')]
          .map(r => r.cells[n].dataset.v);
        const press = n => document.querySelectorAll('#group-table .sort')[n].click();
        press(2); out.down = column(2).map(Number); press(2); out.up = column(2).map(Number);
        press(0); out.names = column(0);
        document.getElementById('theme').click();
        out.theme = document.documentElement.dataset.theme;
        return out;
        """,
    )
    assert result["all"] == result["back"] == 60
    assert result["filtered"] == ["sentence removed"]
    assert re.fullmatch(r"\d+ of 60 shown", result["status"])
    assert result["moved"]
    assert result["searching"]
    assert 0 < result["found"] < 60
    assert result["right"]
    assert result["down"] == sorted(result["down"], reverse=True)
    assert result["up"] == sorted(result["up"])
    assert result["names"][0] == "BLIP-3 4.6B"
    assert result["theme"] == "light"


@needs_browser
def test_orders_and_filters_in_a_browser(page, browser):
    found = drive(
        browser,
        page,
        """
        const tools = document.getElementById('tools');
        const pick = (name, value) => {
          tools.elements[name].value = value;
          tools.elements[name].dispatchEvent(new Event('change', {bubbles: true}));
        };
        const shown = () => [...document.querySelectorAll('.card')].filter(c => !c.hidden);
        const of = (name) => shown().map(c => c.dataset[name]);
        const out = {before: of('outcome')};
        for (const name of ['worst', 'changed', 'unsure']) {
          pick('sort', name);
          out[name] = of(name).map(Number);
        }
        pick('sort', '');
        out.again = of('outcome');
        const last = (name) => tools.elements[name].options[tools.elements[name].length - 1].value;
        for (const name of ['model', 'kind', 'reason']) {
          const value = last(name);
          pick(name, value);
          out[name] = [value, of(name)];
          pick(name, '');
        }
        return out;
        """,
    )
    assert found["again"] == found["before"]
    assert found["worst"] == sorted(found["worst"])
    assert found["unsure"] == sorted(found["unsure"])
    assert found["changed"] == sorted(found["changed"], reverse=True)
    assert len(found["worst"]) == 60
    value, models = found["model"]
    assert set(models) == {value}
    for name in ("kind", "reason"):
        value, lists = found[name]
        assert 0 < len(lists) < 60
        assert all(value in json.loads(text) for text in lists)


@needs_browser
def test_nothing_is_wider_than_a_phone(page, browser):
    browser.look(390, 800)
    browser.open(page.as_uri())
    sizes = "[document.documentElement.scrollWidth, document.documentElement.clientWidth]"
    needed, given = browser.value(sizes)
    assert needed == given
    assert 360 < int(given) <= 390
    assert browser.too_wide() == []
