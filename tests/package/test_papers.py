"""docs/papers.md: every module that its table names exists, and every command and option."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest
from pages import PAGES

from revise_captions.command_line.captions import load_command
from revise_captions.pipelines.reproduce.catalog import not_taken, tables

ROOT = Path(__file__).parents[2]
CELLS = [
    [cell.strip() for cell in line.strip("|").split(" | ")]
    for line in PAGES["docs/papers.md"].splitlines()
    if line.startswith("| ") and not line.startswith(("| ---", "| paper's"))
]
COMMANDS = sorted({c for row in CELLS for c in re.findall(r"`captions ([^`]+)`", row[-1])})


def test_rows_are_whole_and_name_what_is_there():
    assert len(CELLS) > 40
    for row in CELLS:
        assert len(row) == 5, row
        for where in re.findall(r"`([\w/.]+)`", row[1]):
            assert (ROOT / where).exists() or (ROOT / "src/revise_captions" / where).exists(), where


def test_what_is_ours_is_called_exact_under_no_protocol():
    said = {re.split(r"[,: ]", row[2])[0] for row in CELLS}
    assert said == {"paper", "released", "neither", "ours", "–"}


@pytest.mark.parametrize("line", COMMANDS)
def test_commands_and_their_options_exist(line):
    words = line.split()
    command = load_command(words.pop(0))
    assert command is not None
    while isinstance(command, click.Group) and words:
        command = command.commands[words.pop(0)]
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("--") and word != "--…"} <= known


def test_every_table_of_the_papers_is_computed_or_says_why_not():
    named = set(tables()) | set(not_taken())
    assert not set(tables()) & set(not_taken())
    numbers = {"vnli-critique": 11, "posh": 9, "dcscore": 12, "vela": 8, "contextref": 1}
    parts = {
        re.sub(r"-.*", "", one.rpartition(":table")[2]) + one.partition(":")[0] for one in named
    }
    merged = {"6posh"}  # of which Table 3 is a part
    for paper, last in numbers.items():
        assert {f"{k}{paper}" for k in range(1, last + 1)} <= parts | merged
    written = " ".join(cell for row in CELLS for cell in row)
    for one in re.findall(r"reproduce ([\w-]+:[\w-]+)", written):
        assert one in tables()
