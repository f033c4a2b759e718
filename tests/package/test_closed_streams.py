"""Closed and full standard streams: one line and a status, never a traceback."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

SCRIPTED = Path(__file__).parents[1] / "support/scripted_run.py"
FULL, ENDED = "No space left on device", "is closed"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has /dev/full")
@pytest.mark.parametrize(
    ("arguments", "redirected", "status", "said"),
    [
        ("in.jsonl -", ">&-", 2, f"standard output {ENDED}"),
        ("in.jsonl -", ">/dev/full", 2, FULL),
        ("in.jsonl out.jsonl", ">&-", 0, ""),
        ("in.jsonl out.jsonl", ">/dev/full", 2, FULL),
        ("--help", ">/dev/full", 2, FULL),
        ("- out.jsonl", "<&-", 2, f"standard input {ENDED}"),
        ("in.jsonl out.jsonl", "<&-", 0, ""),
        ("in.jsonl out.jsonl", "2>&-", 0, ""),
        ("in.jsonl out.jsonl", "2>/dev/full", 0, ""),
        ("nowhere.jsonl out.jsonl", "2>/dev/full", 2, ""),
        ("in.jsonl out.jsonl", "<&- >&- 2>&-", 0, ""),
    ],
)
def test_a_stream_that_is_closed_or_full(tmp_path, arguments, redirected, status, said):
    Image.new("RGB", (9, 7)).save(tmp_path / "a.png")
    row = {"image": "a.png", "caption": "A dog stands near the tree."}
    (tmp_path / "in.jsonl").write_text(json.dumps(row))
    command = f"'{sys.executable}' '{SCRIPTED}' {arguments} {redirected}"
    ran = subprocess.run(
        command, shell=True, cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "SCRIPTED_FAST": "1", "PYTHONUNBUFFERED": ""},
    )  # fmt: skip
    assert ran.returncode == status, ran.stderr
    assert said in ran.stderr
    assert "Traceback" not in ran.stderr
    assert "Exception" not in ran.stderr
    if said:
        assert ran.stderr.startswith("revise-captions: ")
    if status == 0 or arguments == "in.jsonl out.jsonl":
        assert len((tmp_path / "out.jsonl").read_text().splitlines()) == 1
