"""Memory does not grow with the file: the command's peak, with scripted models."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from PIL import Image

SCRIPT = Path(__file__).parents[1] / "support/scripted_run.py"


def peak(folder: Path, records: int) -> float:
    """The highest resident memory in MiB of a run over so many records, its report included."""
    Image.new("RGB", (8, 8), "red").save(folder / "a.png")
    source, out = folder / f"{records}.jsonl", folder / "out.jsonl"
    with source.open("w") as file:
        for number in range(records):
            text = f"Dog {number} stands near the tree. It looks at bench {number % 97}."
            row = {"image": "a.png", "caption": text, "by": number % 500}
            file.write(json.dumps(row) + "\n")
    command = [sys.executable, str(SCRIPT), str(source), str(out), "--force", "--group-by", "by"]
    mark = folder / "peak"
    subprocess.run(
        [*command, "--report", str(folder / "r.html")],
        env={**os.environ, "SCRIPTED_FAST": "1", "SCRIPTED_PEAK": str(mark)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    with out.open() as file:
        assert sum(1 for _ in file) == records
    return int(mark.read_text()) / 1024


def test_ten_times_the_records_need_no_more_memory(tmp_path):
    """Groups are bounded too (`MAX_GROUPS`); both files have more than that."""
    small, large = peak(tmp_path, 5_000), peak(tmp_path, 50_000)
    assert large < small + 25
    assert large < 400


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_million_records_in_less_than_a_gigabyte(tmp_path):
    assert peak(tmp_path, 1_000_000) < 1000
