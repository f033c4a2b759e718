"""The reference pages have what the code has, and the code says something of each."""

from __future__ import annotations

import pytest
from pages import ROOT

from revise_captions.pipelines.output.schema import MEANINGS
from revise_captions.records import UnknownWord, Unscored
from scripts import reference, stable


def test_the_pages_have_the_present_tables():
    stale = [path.relative_to(ROOT).as_posix() for path in reference.differing()]
    assert stale == [], "python -m scripts.reference --write"


def test_a_changed_page_is_noticed(monkeypatch, tmp_path):
    page = tmp_path / "docs" / "reference" / "statuses.md"
    page.parent.mkdir(parents=True)
    text = (ROOT / "docs/reference/statuses.md").read_text(encoding="utf-8")
    page.write_text(text.replace("| `image_gray` |", "| `image_grey` |"), encoding="utf-8")
    monkeypatch.setattr(reference, "ROOT", tmp_path)
    held = ("reasons of the quarantine", "exit statuses")
    monkeypatch.setattr(reference, "MADE", {name: reference.MADE[name] for name in held})
    assert reference.differing() == {page: text}


@pytest.mark.parametrize("name", reference.MADE)
def test_no_cell_of_a_table_is_empty(name):
    for line in reference.MADE[name]().splitlines():
        assert not line.startswith("|") or all(map(str.strip, line.strip("|").split(" | "))), line


def test_every_key_of_a_row_is_explained():
    """Beside those of a whole row, which a stable file has, what only some rows hold."""
    made = {place: set(keys) for place, keys in stable.row_keys().items() if place}
    only_some = {"revision.sentences": {"by", "by_after", "decided"}}
    explained = {place: set(keys) - only_some.get(place, set()) for place, keys in MEANINGS.items()}
    assert explained == made


def test_there_is_a_remedy_for_every_reason():
    told = reference.remedies()
    assert all(f"| {reason} |" in told for reason in (*Unscored, UnknownWord.KIND))
