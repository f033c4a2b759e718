"""Processor seconds by test, of what it starts, too, and from the processes that run tests."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BURNS = """
import subprocess, sys, time
BURN = "import time\\nwhile time.process_time() < 0.5: pass"
def test_idle(): time.sleep(0.4)
def test_busy(): exec("b = time.process_time()\\nwhile time.process_time() < b + 0.3: pass")
def test_child(): subprocess.run([sys.executable, "-c", BURN], check=True)
"""


@pytest.mark.parametrize("workers", [[], ["-n", "1"]])
def test_what_a_test_and_its_children_take(tmp_path, workers):
    path = tmp_path / "test_burns.py"
    path.write_text(BURNS)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "scripts.checks.processor_time"]
    ran = subprocess.run(
        [*command, *workers, "-p", "no:cacheprovider", "--rootdir", tmp_path, path],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = {
        name: float(seconds)
        for seconds, name in re.findall(r"(?m)^ *([\d.]+)  test_burns.py::test_(\w+)$", ran.stdout)
    }
    assert list(found) == ["child", "busy", "idle"]
    # A kernel may count by ticks of 10 ms, and cut them off.
    assert found["child"] >= 0.45
    assert 0.25 <= found["busy"] < found["child"]
    assert found["idle"] < 0.25
    (total,) = re.findall(r"(?m)^([\d.]+) in all; collection [\d.]+$", ran.stdout)
    assert float(total) > sum(found.values())
