"""The table of docs/applying.md: its commands, on 200 images, and what reads the result."""

from __future__ import annotations

import json
import re
import shlex
import shutil

import layout_inputs
import pytest
from commands import outcome
from deciding import ALL, EDITED, decide
from layout_inputs import files_of, make, rows_of, texts
from pages import PAGES

from revise_captions.command_line.captions import main

PAGE = PAGES["docs/applying.md"]
SECTION = PAGE[PAGE.index("## In each layout") : PAGE.index("## What ends up")]
ROWS = [line.split("|")[1:5] for line in SECTION.splitlines() if "`revise-captions" in line]
#: The layout of each row, and the name that `make` gives its input.
LAYOUTS = (("beside", "photos"), ("beside", "photos"), ("metadata", "photos"), ("tar", "in.tar"),
           ("llava", "in.json"), ("coco", "in.json"))  # fmt: skip


def words(cell: str) -> list[str]:
    (line,) = re.findall("`([^`]+)`", cell)
    return shlex.split(line)


@pytest.mark.parametrize(
    ("row", "layout"), list(zip(ROWS, LAYOUTS, strict=True)), ids=[row[0] for row in ROWS]
)
def test_the_commands_of_a_row_end_in_captions_that_its_loader_reads(
    row, layout, command, tmp_path, capsys, monkeypatch
):
    pytest.importorskip("datasets")
    monkeypatch.setattr(layout_inputs, "COUNT", 200)
    name, made_as = layout
    made = make(name, tmp_path)
    program, source, out = words(row[1])
    assert program == "revise-captions"
    if made_as != source:
        shutil.move(tmp_path / made_as, tmp_path / source)
    before = files_of(tmp_path / source)
    assert command(source, out, *made.options).code == 0
    _, *apply_ = words(row[2])
    (file,) = [word for word in apply_ if word.endswith(".decisions.jsonl")]
    decide(tmp_path / out, file, ALL)
    code, _, err = outcome(main, capsys, *apply_)
    assert code == 0, err
    in_place = "--in-place" in apply_
    new = source if in_place else apply_[-1]
    found = texts(name, tmp_path / new, tmp_path / "cache")
    assert len(found) == 200
    assert sum(EDITED in text for text in found) > 10
    if name == "beside":  # as sd-scripts do, but for the mark: the first line, stripped
        files = [file for file in sorted((tmp_path / new).glob("*.txt")) if file.stem.isdigit()]
        lines = [file.read_text("utf-8-sig").splitlines()[0].strip() for file in files]
        assert lines == [text.split("\n")[0].strip() for text in found]
    if in_place:
        assert outcome(main, capsys, "undo", source)[0] == 0
    else:  # decisions taken back, the run's own result stands there
        (tmp_path / file).write_text("")
        assert outcome(main, capsys, *apply_, "--force")[0] == 0
        found = texts(name, tmp_path / new, tmp_path / "cache")
        assert found == [row["revised_caption"] for row in rows_of(tmp_path / out)]
    assert files_of(tmp_path / source) == before


def test_every_row_names_what_reads_it():
    assert json.dumps(ROWS).count("captions apply") == len(LAYOUTS)
    assert all(cell.strip() for row in ROWS for cell in row)
