"""Explorer and report in a real browser, by mouse and by keyboard alone."""

from __future__ import annotations

import json
import re
from html import unescape

import pytest
import storybook
from browser import Browser, needs_browser
from click.testing import CliRunner
from explored import rows_of, serving, write_run
from report_pages import HOSTILE, page  # noqa: F401  # the story book's report

from revise_captions.io.rows import Row
from revise_captions.pipelines.annotate.tasks.decided import (
    decidable,
    decided_unit,
    decision_rows,
)
from revise_captions.pipelines.annotate.tasks.units import RunCaption
from revise_captions.pipelines.apply.cli import apply_to_captions
from revise_captions.pipelines.explore.cli import explore
from revise_captions.pipelines.explore.index import RunFile
from revise_captions.pipelines.explore.session import ExploreOptions, open_session
from revise_captions.pipelines.explore.static import write_static

pytestmark = needs_browser


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with Browser(tmp_path_factory.mktemp("browser")) as found:
        yield found


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return write_run(tmp_path, 25, start=3)


def focused(browser):
    return browser.value("document.activeElement.id || document.activeElement.tagName")


def test_decisions_by_keyboard_alone(run, browser):
    path = run.with_name("revised.decisions.jsonl")
    with serving(run) as server:
        browser.look(1280)
        browser.said.clear()
        browser.open(server.url)
        browser.press("j")
        assert focused(browser) == "c0"
        browser.press("n")
        assert browser.value("document.activeElement.dataset.sentence") is not None
        first = browser.value("document.activeElement.id")
        assert browser.value("document.activeElement.matches(':focus-visible')")
        browser.press("a")
        browser.wait("document.getElementById('decided').textContent === '1 decided'")
        browser.wait(f"document.activeElement.id !== '{first}'")  # on to the next
        browser.press("r")
        browser.wait("document.getElementById('decided').textContent === '2 decided'")
        browser.press("e")
        assert browser.value("document.activeElement.tagName") == "TEXTAREA"
        browser.value("document.activeElement.select()")
        browser.type("A brown door <b>is</b> closed. j a r")
        browser.press("Enter", ctrl=True)
        browser.wait("document.getElementById('decided').textContent === '3 decided'")
        rows = rows_of(path)
        assert [r["decision"] for r in rows] == ["accept", "accept", "reject", "edit"]
        assert rows[-1]["rewrite"] == "A brown door <b>is</b> closed. j a r"
        browser.press("u")
        browser.wait("document.getElementById('decided').textContent === '2 decided'")
        assert len(rows_of(path)) == 3
        assert browser.said == []


def test_filters_pages_and_large_images(run, browser):
    with serving(run) as server:
        browser.look(1280)
        browser.said.clear()
        browser.open(server.url)
        assert browser.value("document.querySelectorAll('.card').length") == 20
        browser.press("]")
        browser.loaded()
        assert browser.value("document.querySelectorAll('.card').length") == 5
        browser.value(
            "(s => { s.value = 'worst'; s.dispatchEvent(new Event('change', {bubbles: true})); })"
            "(document.querySelector('[name=sort]'))"
        )
        browser.loaded()
        worst = browser.value("[...document.querySelectorAll('.card')].map(c => +c.dataset.worst)")
        assert worst == sorted(worst)
        browser.value("document.querySelector('.chip[value=revised]').click()")
        browser.loaded()
        shown = browser.value("[...document.querySelectorAll('.card')].map(c => c.dataset.outcome)")
        assert set(shown) == {"revised"}
        assert browser.value("document.querySelector('[name=sort]').value") == "worst"
        browser.value("document.querySelector('.enlarge').focus()")
        browser.press("Enter")
        browser.wait("document.getElementById('large').open")
        browser.wait("document.querySelector('#large img').naturalWidth === 448")
        browser.press("Escape")
        browser.wait("!document.getElementById('large').open")
        assert browser.value("document.activeElement.className") == "enlarge"
        assert browser.said == []


def test_every_control_has_a_name(run, browser):
    with serving(run) as server:
        browser.open(server.url)
        browser.call("Accessibility.enable")
        nodes = browser.call("Accessibility.getFullAXTree")["nodes"]
        roles = {"button", "combobox", "searchbox", "textbox", "link", "image", "dialog"}
        found = [n for n in nodes if n.get("role", {}).get("value") in roles and not n["ignored"]]
        assert len(found) > 60
        assert [n["role"]["value"] for n in found if not n.get("name", {}).get("value")] == []


def test_hostile_captions_stay_text_in_the_explorer(run, browser):
    rows = rows_of(run)
    for row, text in zip(rows, HOSTILE, strict=False):
        sentence = row["revision"]["sentences"][0] | {"span": [0, len(text)], "rationale": text}
        row |= {"caption": text, "revised_caption": text, "model": text}
        row["revision"]["sentences"] = [sentence]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(run) as server:
        browser.said.clear()
        browser.open(server.url)
        assert browser.value("document.body.dataset.hacked ?? null") is None
        assert browser.value("document.querySelectorAll('.card').length") == 20
        assert browser.said == []


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_nothing_is_clipped_on_a_phone(run, browser, dark):
    with serving(run) as server:
        browser.look(390, 800, dark=dark)
        for where in ("", "figures"):
            browser.open(server.url + where)
            width = browser.value("document.documentElement.scrollWidth")
            assert (width, browser.too_wide()) == (390, [])


def test_the_report_decides_alike(page, browser):  # noqa: F811
    browser.look(1280)
    browser.said.clear()
    browser.open(page.as_uri())
    browser.value("localStorage.clear(); document.getElementById('cards').scrollIntoView()")
    for key, number in (("j", 0), ("n", 0), ("a", 1), ("r", 2)):
        browser.press(key)
        browser.wait(f"document.getElementById('decided').textContent === '{number or ''}"
                     f"{' decided' if number else ''}'")  # fmt: skip
    browser.press("e")
    browser.value("document.activeElement.select()")
    browser.type("It is so.")
    browser.press("Enter", ctrl=True)
    browser.wait("document.getElementById('decided').textContent === '3 decided'")
    text = browser.value(
        "(async () => { const link = document.getElementById('export');"
        " const make = URL.createObjectURL; let blob;"
        " URL.createObjectURL = (given) => { blob = given; return make.call(URL, given); };"
        " link.addEventListener('click', (event) => event.preventDefault());"
        " link.click(); return blob.text(); })()"
    )
    check_export([json.loads(line) for line in text.splitlines()])
    browser.open(page.as_uri())  # and they are still there
    assert browser.value("document.getElementById('decided').textContent") == "3 decided"
    assert browser.said == []


def check_export(rows):
    """The lines that Python makes of the same decisions; only the reviewer's name differs."""
    _, book = storybook.book(300)
    units = [(row, k) for row in book if row.revision is not None for k in decidable(row.revision)]
    made = zip(units, ("accept", "reject", "edit"), strict=False)
    expected = []
    for (row, k), decision in made:
        judged = RunCaption(
            Row(row.line, {}), row.field, row.caption, row.revised_caption, row.revision
        )
        unit = decided_unit(judged, row.image_name, k, row.source)
        expected += decision_rows(unit, decision, "It is so.")
    assert [{k: v for k, v in row.items() if k != "annotator"} for row in rows] == expected


@pytest.fixture
def static(run, tmp_path):
    """The run's page without a server."""
    folder = tmp_path / "static"
    done = CliRunner().invoke(explore, [str(run), "--static", str(folder)])
    assert done.exit_code == 0, done.output
    return folder


def exported(browser):
    """The lines that “Download decisions” saves."""
    text = browser.value(
        "(async () => { const link = document.getElementById('export');"
        " const make = URL.createObjectURL; let blob;"
        " URL.createObjectURL = (given) => { blob = given; return make.call(URL, given); };"
        " link.addEventListener('click', (event) => event.preventDefault(), {once: true});"
        " link.click(); return blob.text(); })()"
    )
    return text


def test_a_folder_decides_as_the_server_does(run, static, browser, tmp_path):
    """Opened as files: all captions, their images, filters; its decisions are applied."""
    browser.look(1280)
    browser.said.clear()
    browser.open((static / "index.html").as_uri())
    browser.value("localStorage.clear()")
    browser.open((static / "index.html").as_uri())
    assert browser.value("document.querySelectorAll('.card').length") == 25
    left = int(browser.value("document.getElementById('left').textContent").split()[0])
    browser.value("document.querySelector('.enlarge img').loading = 'eager'")
    browser.wait("document.querySelector('.enlarge img').naturalWidth > 0")
    for key, number in (("j", 0), ("n", 0), ("a", 1), ("r", 2)):
        browser.press(key)
        said = f"{number} decided" if number else ""
        browser.wait(f"document.getElementById('decided').textContent === '{said}'")
    assert browser.value("document.getElementById('left').textContent").startswith(f"{left - 2} ")
    pick = "(s => { s.value = '%s'; s.dispatchEvent(new Event('change', {bubbles: true})); })"
    pick += "(document.querySelector('[name=only]'))"
    shown = "[...document.querySelectorAll('.card')].filter(c => !c.hidden).length"
    browser.value(pick % "decided")
    assert 1 <= browser.value(shown) <= 2
    browser.value(pick % "needs_review")
    assert 0 < browser.value(shown) < 25
    browser.open((static / "index.html").as_uri())  # and they are still there
    assert browser.value("document.getElementById('decided').textContent") == "2 decided"
    decisions = tmp_path / "decisions.jsonl"
    decisions.write_text(exported(browser))
    made = [row["decision"] for row in rows_of(decisions)]
    assert made == ["accept", "accept", "reject"]  # an accepted rewrite makes two lines
    browser.open((static / "figures.html").as_uri())
    assert browser.value("document.querySelector('nav a').getAttribute('href')") == "index.html"
    assert browser.said == []
    done = CliRunner().invoke(
        apply_to_captions, [str(run), str(decisions), str(tmp_path / "new.jsonl")]
    )
    assert done.exit_code == 0, done.output
    decided = [s.get("decided") for row in rows_of(tmp_path / "new.jsonl")
               for s in row["revision"]["sentences"]]  # fmt: skip
    assert [made["as"] for made in decided if made] == ["accept", "reject"]


def test_a_folder_asks_nobody_for_anything(static, browser):
    """Every address on its pages is a file of the folder or a place on the page."""
    for name in ("index.html", "figures.html"):
        text = unescape((static / name).read_text(encoding="utf-8"))
        named = set(re.findall(r' (?:src|href|data-large)="([^"]*)"', text))
        files = {at for at in named if not at.startswith(("#", "data:"))}
        assert files
        assert [at for at in files if not (static / at).is_file()] == []
        assert "connect-src 'none'" in text
        assert "form-action 'none'" in text


def test_hostile_captions_stay_text_in_a_folder(run, browser, tmp_path):
    texts = [*HOSTILE, "</script><script>document.body.dataset.hacked = 1</script>", "'\"><b>&#39;"]
    rows = rows_of(run)
    for row, text in zip(rows, texts, strict=False):
        sentence = row["revision"]["sentences"][0] | {"span": [0, len(text)], "rationale": text}
        sentence |= {"label": "nonfactual", "p_factual": 0.1, "p_after": 0.1, "accepted": None}
        sentence |= {"rewrite": None, "dropped": False, "attempts": []}
        row |= {"caption": text, "revised_caption": text, "model": text}
        row["revision"]["sentences"] = [sentence]
    run.write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_static(open_session(ExploreOptions(RunFile(str(run)))), tmp_path / "static")
    browser.said.clear()
    browser.open((tmp_path / "static/index.html").as_uri())
    assert browser.value("document.body.dataset.hacked ?? null") is None
    assert browser.value("document.querySelectorAll('.card').length") == 25
    rows = "[...document.querySelectorAll('[data-rows]')].map(p => JSON.parse(p.dataset.rows))"
    captions = browser.value(f"{rows}.map(r => r.reject[0].caption)")
    assert set(texts[-2:]) <= set(captions)
    assert browser.said == []


def test_a_folder_of_somebodys_and_other_places_for_decisions_are_refused(run, tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/index.html").write_text("mine")
    for more in (["mine"], ["new", "--decisions", "d.jsonl"], ["new", "--apply-to", "n.jsonl"]):
        folder, *given = more
        line = [str(run), "--static", str(tmp_path / folder), *given]
        done = CliRunner().invoke(explore, line)
        assert done.exit_code != 0
    assert (tmp_path / "mine/index.html").read_text() == "mine"
    assert not (tmp_path / "new").exists()


def test_decisions_are_applied_by_the_button(run, browser, tmp_path):
    with serving(run) as server:
        browser.look(1280)
        browser.said.clear()
        browser.open(f"{server.url}?only=undecided&sort=gain")
        assert browser.value("document.querySelector('[name=only]').value") == "undecided"
        assert browser.value("document.getElementById('apply').hidden")
        left = browser.value("document.getElementById('left').textContent")
        for key in "jnr":
            browser.press(key)
        browser.wait(f"document.getElementById('left').textContent !== '{left}'")
        browser.value("document.getElementById('apply').click()")
        browser.press("a")  # no decision while the dialog is open
        browser.value("document.getElementById('write').click()")
        browser.wait("document.getElementById('applied').textContent.includes('with 1 decision')")
        browser.screenshot(tmp_path / "apply.png", whole=False)
        browser.press("Escape")
        assert len(rows_of(run.with_name("revised.applied.jsonl"))) == 25
        assert browser.said == []
