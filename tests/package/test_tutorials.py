"""Each tutorial runs from nothing, in an empty folder, every block as it stands on its page.

With TUTORIAL_PICTURES=docs/images it also makes the pictures on the pages.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest
from browser import PROGRAM, Browser
from pages import PAGES, ROOT
from PIL import Image

from revise_captions.pipelines.annotate.tasks.decided import decidable

TUTORIALS = sorted(page for page in PAGES if page.startswith("docs/tutorials/"))
#: What the last command of each has made.
MADE = {
    "clean-a-dataset": "world/train.jsonl",
    "keep-a-leaderboard": "board/leaderboard.html",
    "train-a-critic": "first/mine.jsonl",
}
PICTURES = os.environ.get("TUTORIAL_PICTURES", "")


def test_every_picture_of_a_tutorial_is_small():
    assert {Path(page).stem for page in TUTORIALS} == set(MADE)
    for page in TUTORIALS:
        for name in re.findall(r"!\[[^\]]+\]\(([^)]+)\)", PAGES[page]):
            assert ((ROOT / page).parent / name).stat().st_size < 150_000


def decide(block: str, folder: Path, env: dict[str, str]) -> None:
    """Serves the explorer, accepts three rewrites as its page's keys do, and ends it."""
    shown = subprocess.Popen(
        block.split(), cwd=folder, env=env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
    )
    assert shown.stdout is not None
    url = shown.stdout.readline().decode().strip()
    lines = (folder / block.split()[-1]).with_name("test-clean.jsonl.evidence.jsonl")
    rows = [json.loads(line) for line in lines.read_text(encoding="utf-8").splitlines()]
    places = [(n, k) for n, row in enumerate(rows) for k in decidable(row["revision"])]
    for n, k in places[:3]:
        body = json.dumps({"caption": n, "sentence": k, "decision": "accept"}).encode()
        headers = {"Content-Type": "application/json"}
        with urllib.request.urlopen(urllib.request.Request(f"{url}decide", body, headers)) as said:
            assert said.status == 200
    if PICTURES:
        look(url, "tutorial-explorer", folder)
    shown.send_signal(signal.SIGINT)
    assert shown.wait(60) == 0


def look(url: str, name: str, folder: Path) -> None:
    path = ROOT / PICTURES / f"{name}.png"
    with Browser(folder) as browser:
        browser.look(1000, 760)
        browser.open(url)
        browser.screenshot(path, whole=False)
    Image.open(path).convert("RGB").quantize(96).save(path, optimize=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_runs_as_it_stands(page, tmp_path):
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cache = str(tmp_path / "cache")
    env = {**os.environ, "PATH": tools, "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": cache}
    blocks = re.findall(r"(?ms)^```(bash|python)\n(.*?)^```", PAGES[page])
    assert blocks[0][1].startswith("pip install ")
    for language, block in blocks[1:]:
        if block.startswith("captions explore "):
            decide(block, tmp_path, env)
            continue
        program = ["bash", "-eu", "-c"] if language == "bash" else [sys.executable, "-c"]
        done = subprocess.run(
            [*program, block], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        sys.stdout.write(done.stdout)
    made = tmp_path / MADE[Path(page).stem]
    assert made.stat().st_size > 1000
    if PICTURES and made.suffix == ".html":
        assert PROGRAM
        look(made.as_uri(), "tutorial-leaderboard", tmp_path)
