"""Text of pages: names break at their separators, policies allow no more than they must."""

from __future__ import annotations

import pytest
from markupsafe import Markup

from revise_captions.pages.templating import asset, breaks, content_policy


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("google/paligemma2-3b", "google/<wbr>paligemma2-<wbr>3b"),
        ("a_b.jsonl", "a_<wbr>b.<wbr>jsonl"),
        ("<b>/x", "&lt;b&gt;/x"),
        ("a/\u202eb", "a/<wbr>U+202Eb"),
        ("plain words", "plain words"),
        ("--x", "--x"),
    ],
)
def test_names_break_behind_separators(name, shown):
    assert breaks(name) == Markup(shown)


def test_a_file_may_send_nothing_and_a_served_page_only_home():
    alone = content_policy("a{}", "1")
    assert "connect-src 'none'" in alone
    assert "img-src data:;" in alone
    served = content_policy("a{}", served=True)
    assert "connect-src 'self'" in served
    assert "script-src 'none'" in served
    assert "unsafe" not in alone + served
    assert "http" not in alone + served


def test_one_stylesheet_for_all_pages():
    assert "@import" not in asset("page.css")
    assert "url(" not in asset("page.css")
