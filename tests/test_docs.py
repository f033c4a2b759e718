"""docs/running.md: its commands exist, its numbers are what the script says."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from test_readme import OPTION, SCRIPTS, entry, options

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs/running.md").read_text(encoding="utf-8")
PLAN = ROOT / "scripts/plan_job.py"


def planned(*more: str) -> dict[str, Any]:
    asked = [sys.executable, str(PLAN), "--captions", "10_000_000", "--gpus", "64", *more]
    return json.loads(subprocess.run(asked, check=True, capture_output=True).stdout)


def test_commands_and_options_exist():
    blocks = re.findall(r"```bash\n(.*?)```", PAGE, re.DOTALL)
    lines = [line for b in blocks for line in b.replace("\\\n", " ").splitlines()]
    seen = 0
    for line in lines:
        for name in SCRIPTS:
            if (found := re.search(rf"(?<![\w-]){name} (?P<rest>[^#]*)", line)) is not None:
                assert set(OPTION.findall(found["rest"])) <= options(entry(name)), line
                seen += 1
    assert seen >= 12
    known = set(re.findall(r'add\("(--[a-z-]+)"', PLAN.read_text()))
    section = PAGE[PAGE.index("## 10 million") :]
    for line in re.findall(r"python scripts/plan_job\.py ([^`]*)", section):
        assert set(OPTION.findall(line)) <= known


def test_paths_exist():
    for path in re.findall(r"scripts/[\w.-]+", PAGE):
        assert (ROOT / path).exists(), path
    assert "docs/running.md" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_table_is_what_the_script_says():
    table = PAGE[PAGE.index("<!-- plan -->") : PAGE.index("<!-- /plan -->")]
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in table.splitlines()[3:]]
    assert len(rows) == 4
    for rate, *cells in rows:
        found = planned("--records-per-second", rate, "--efficiency", "0.95")
        assert cells == [
            str(found["hours"]),
            f"{found['gpu_hours']:,}",
            str(found["image_megabytes_per_second"]),
            str(found["cores_for_images"]),
            f"{found['seconds_lost_with_a_replica']} s",
        ]


@pytest.mark.parametrize(("name", "tokens"), [("packed", "1380"), ("one prompt", "7906")])
def test_the_bounds_are_what_the_script_says(name, tokens):
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {name}"))
    rate, hours = (float(cell) for cell in row.split("|")[2:4])
    found = planned("--teraflops", "400", "--tokens", tokens)
    assert (found["rate_of_one_gpu"], found["rate_is"], found["hours"]) == (rate, "a bound", hours)


def test_weights_of_the_bound_are_those_of_the_architecture():
    """Gemma 2 2B and SigLIP So400m, from their published shapes."""
    layer = 2304 * 256 * (8 + 8) + 2 * 2304 * 256 * 4 + 3 * 2304 * 9216
    assert round(26 * layer / 1e9, 2) == 2.02
    tower = 4 * 1152 * 1152 + 2 * 1152 * 4304
    assert round(27 * tower / 1e9, 2) == 0.41


def test_the_arithmetic_by_hand():
    spec = importlib.util.spec_from_file_location("plan_job", PLAN)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["plan_job"] = module
    spec.loader.exec_module(module)
    found = module.plan(module.Job(7200, 4, 0.5, 1.0, 0.01, 1e6, 1000, 3.0))
    assert (found["hours"], found["gpu_hours"], found["cost"]) == (1.0, 4.0, 12.0)
    assert (found["windows"], found["image_megabytes_per_second"]) == (113, 2.0)
    assert module.bound(1, 1e9, 400, 1e9, 100) == 1.0
