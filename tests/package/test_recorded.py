"""Figures of the pages in docs are those that commands have printed: recorded, or printed again."""

from __future__ import annotations

import re

from click.testing import CliRunner
from pages import PAGES

from revise_captions.posh.cli import score_posh

POSH = PAGES["docs/posh.md"]


def test_the_verification_of_the_demo_is_a_block():
    """`showcase` writes it; its counts are those of the same run as the demo's table."""
    text = PAGES["docs/measurements/verifying.md"]
    block = re.search(r"<!-- verify -->\n```\n(.*?)```\n", text, re.DOTALL)[1]
    assert re.fullmatch(
        r"Preservation +[\d.]+ % \[.*\]  of \d+ unflagged claims\n"
        r"Edit scope +[\d.]+ % \[.*\]  of \d+ changed claims\n",
        block,
    )
    outside = text.replace(block, "")
    assert not re.search(r"(?m)^Preservation  ", outside)


def test_the_example_of_posh_prints_what_the_page_shows(tmp_path):
    """The page's line through `posh`, to the last digit. Its programs: test_programs.py."""
    row = re.search(r"single line `(\{.*?\})`", POSH, re.DOTALL)[1].replace("\n", " ")
    (tmp_path / "in.jsonl").write_text(row + "\n")
    paths = [str(tmp_path / "in.jsonl"), str(tmp_path / "out.jsonl")]
    done = CliRunner().invoke(score_posh, paths)
    assert done.exit_code == 0
    blocks = re.findall(r"(?ms)^```(\w*)\n(.*?)^```$", POSH)
    assert next(text for language, text in blocks if not language) in done.output
