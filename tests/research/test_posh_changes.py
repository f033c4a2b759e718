"""The note on POSH's figures shows what its table and the earlier ones say."""

from __future__ import annotations

import json

from scripts.research.markdown import with_block
from scripts.research.posh import changes


def test_the_note_has_the_present_figures():
    earlier = json.loads(changes.EARLIER.read_text(encoding="utf-8"))
    table = changes.table(changes.TABLE.read_text(encoding="utf-8"), earlier)
    note = changes.NOTE.read_text(encoding="utf-8")
    assert with_block(note, table, "posh changes") == note, "run it with --write"


def test_a_figure_stands_beside_its_earlier_values():
    page = (
        "<!-- posh -->\n| figure | value | floor | published | target |\n| --- |\n"
        "| contrasts, all: right [half, 2] | 0.9 | | | ≥ 0.95: missed |\n| EWT | 1 | | | |\n"
        "<!-- /posh -->"
    )
    found = changes.table(page, {"3": {}, "4": {"contrasts, all: right": "0.8"}})
    assert found.splitlines()[2:] == [
        "| contrasts, all: right [half, 2] |  | 0.8 | 0.9 | ≥ 0.95: missed |"
    ]
