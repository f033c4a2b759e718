"""The diagrams of the pages are those of their source, and say to everyone what they show."""

from __future__ import annotations

import tomllib
from pathlib import Path
from xml.etree import ElementTree

import pytest

from scripts.diagrams import SOURCE, drawing, drawings

ROOT = Path(__file__).parents[2]
BOXES = [
    {"id": "a", "at": [0, 0], "text": "<one>", "note": "a & b"},
    {"id": "b", "at": [1, 0], "text": "two", "note": ""},
    {"id": "c", "at": [1, 1], "text": "three", "note": ""},
]


def test_pictures_are_those_of_the_source():
    for path, svg in drawings().items():
        assert path.read_text("utf-8") == svg, "python -m scripts.diagrams --write"
    kept = {path.name for path in (ROOT / "docs/images").glob("diagram-*")}
    assert kept == {path.name for path in drawings()}


def test_each_is_on_a_page_with_what_it_shows():
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    for name, own in tomllib.loads(SOURCE.read_text("utf-8")).items():
        assert f"![{own['alt']}](" in text
        assert f"images/diagram-{name}.svg)" in text


def test_an_arrow_ends_at_its_box_and_texts_are_escaped():
    svg = ElementTree.fromstring(drawing("<b>", BOXES, [["a", "b", "x<y"], ["b", "c", ""]]))
    space = "{http://www.w3.org/2000/svg}"
    texts = [text.text for text in svg.findall(f"{space}text")]
    assert texts[:2] == ["<one>", "a & b"]
    assert "x<y" in texts
    assert svg.get("aria-label") == "<b>"
    boxes = svg.findall(f"{space}rect")
    ends = [path.get("d").replace("M", "").split("L") for path in svg.findall(f"{space}path")]
    left = int(boxes[1].get("x"))
    top = int(boxes[2].get("y"))
    assert 0 < left - int(ends[0][1].split()[0]) < 10
    assert 0 < top - int(ends[1][1].split()[1]) < 10


def test_boxes_that_are_not_neighbors_are_refused():
    with pytest.raises(ValueError, match="no neighbors"):
        drawing("", BOXES, [["a", "c", ""]])
