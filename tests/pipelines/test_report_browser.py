"""The report in a browser: no errors, hostile captions stay text, keys and filters, phones."""

import html
import json
import re
import shutil
import subprocess

import pytest
from report_pages import HOSTILE


def unwritten(text):
    """Text as the page shows it: what cannot be seen is spelt out."""
    return re.sub(
        "[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\ud800-\udfff]",
        lambda m: f"U+{ord(m.group()):04X}",
        text,
    )


BROWSER = (
    shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no Chromium on this machine")


def browse(path, tmp_path):
    """The page's DOM after its scripts ran, and what the console said."""
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            f"--user-data-dir={tmp_path / 'profile'}",
            "--enable-logging=stderr",
            "--virtual-time-budget=2000",
            "--dump-dom",
            path.as_uri(),
        ],
        capture_output=True,
        timeout=120,
        check=True,
    )
    said = [line for line in done.stderr.decode(errors="replace").splitlines() if "CONSOLE" in line]
    return done.stdout.decode(), said


def drive(page, tmp_path, script):
    """Runs `script` in a copy of the page whose policy allows it; gives back what it returns."""
    text = page.read_text(encoding="utf-8")
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    added = (
        f"<script>document.body.dataset.result = JSON.stringify((() => {{{script}}})())</script>"
    )
    copy = tmp_path / "driven.html"
    copy.write_text(text.replace("</body>", added + "</body>"), encoding="utf-8")
    dom, said = browse(copy, tmp_path)
    assert said == []
    return json.loads(html.unescape(re.search(r'<body[^>]* data-result="([^"]*)"', dom)[1]))


@needs_browser
def test_no_error_and_no_policy_violation_in_a_browser(page, tmp_path):
    dom, said = browse(page, tmp_path)
    assert said == []
    assert '<html lang="en" class="live">' in dom


@needs_browser
def test_hostile_captions_stay_text_in_a_browser(hostile_page, tmp_path):
    dom, said = browse(hostile_page, tmp_path)
    assert said == []
    assert "data-hacked" not in dom
    shown = drive(
        hostile_page,
        tmp_path,
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
def test_filter_search_keys_sort_and_theme_in_a_browser(page, tmp_path):
    result = drive(
        page,
        tmp_path,
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
def test_nothing_is_wider_than_a_phone(page, tmp_path):
    frame = tmp_path / "phone.html"
    page_here = tmp_path / "report.html"
    text = page.read_text(encoding="utf-8").replace(
        "</body>",
        (
            "<script>parent.postMessage(document.documentElement.scrollWidth"
            " + ' of ' + document.documentElement.clientWidth, '*')</script></body>"
        ),
    )
    text = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)
    page_here.write_text(text, encoding="utf-8")
    frame.write_text(
        "<body><script>onmessage = e => { document.body.dataset.width = e.data; }</script>"
        f'<iframe src="{page_here.as_uri()}" style="border:0;width:390px;height:800px"></iframe>'
    )
    dom, _ = browse(frame, tmp_path)
    needed, given = re.search(r'data-width="(\d+) of (\d+)"', dom).groups()
    assert needed == given
    assert 360 < int(given) <= 390
