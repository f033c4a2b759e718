"""Each tutorial runs from nothing, in an empty folder, every block as it stands on its page.

With TUTORIAL_PICTURES=docs/images it also makes the pictures on the pages.
"""

from __future__ import annotations

import io
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
from rich.console import Console
from rich.text import Text

from revise_captions.pipelines.annotate.tasks.decided import decidable

TUTORIALS = sorted(page for page in PAGES if page.startswith("docs/tutorials/"))
#: What the last command of each has made.
MADE = {
    "clean-a-dataset": "world/train.jsonl",
    "keep-a-leaderboard": "board/leaderboard.html",
    "train-a-critic": "first/mine.jsonl",
}
PICTURES = os.environ.get("TUTORIAL_PICTURES", "")
#: Commands of whose output there is a picture: its name, and how its first line and the line behind
#: its last one begin; "": it ends with the output.
TERMINALS = {
    "captions run recipe.toml --pilot": ("tutorial-pilot", "Factuality", ""),
    "captions evaluate-metric ": ("tutorial-evaluation", "sentence", "each captioner"),
}
#: rich's export without fonts that another host would be asked for.
SVG = """<svg viewBox="0 0 {width} {height}" xmlns="http://www.w3.org/2000/svg">
<style>
.{unique_id}-matrix {{ font: {char_height}px monospace; line-height: {line_height}px }}
{styles}
</style>
<defs>
<clipPath id="{unique_id}-clip-terminal">
<rect x="0" y="0" width="{terminal_width}" height="{terminal_height}"/>
</clipPath>
{lines}
</defs>
{chrome}
<g transform="translate({terminal_x}, {terminal_y})" clip-path="url(#{unique_id}-clip-terminal)">
{backgrounds}
<g class="{unique_id}-matrix">
{matrix}
</g>
</g>
</svg>
"""


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
        look(url, "tutorial-explorer", folder, "article.card")
    shown.send_signal(signal.SIGINT)
    assert shown.wait(60) == 0


def look(url: str, name: str, folder: Path, place: str = "body", *, phone: bool = True) -> None:
    """Pictures of a page from a place on, as wide as a screen and as a phone."""
    with Browser(folder) as browser:
        browser.call("Emulation.setScrollbarsHidden", hidden=True)
        for suffix, width, height in (("", 1000, 700), ("-phone", 390, 700))[: 1 + phone]:
            path = ROOT / PICTURES / f"{name}{suffix}.png"
            browser.look(width, height)
            browser.open(url)
            browser.value(
                f"document.querySelector({place!r}).scrollIntoView({{behavior: 'instant'}})"
            )
            browser.wait("[...document.images].every(image => image.complete || image.y > 2000)")
            browser.screenshot(path, whole=False)
            Image.open(path).convert("RGB").quantize(256).save(path, optimize=True)


def terminal(printed: str, command: str) -> None:
    """A picture of what a command has printed, as a terminal shows it."""
    name, first, behind = next(found for start, found in TERMINALS.items() if start in command)
    lines = [Text.from_ansi(line) for line in printed.splitlines()]
    starts = [line.plain.lstrip() for line in lines]
    begin = next(n for n, line in enumerate(starts) if line.startswith(first))
    found = (n for n, line in enumerate(starts) if n > begin and line.startswith(behind))
    shown = Text("\n").join(lines[begin : next(found) if behind else None])
    width = max(len(line.plain) for line in shown.split())
    console = Console(record=True, width=width, file=io.StringIO(), force_terminal=True)
    console.print(shown, soft_wrap=True, end="")
    text = console.export_svg(title=command.splitlines()[-1], code_format=SVG, unique_id=name)
    (ROOT / PICTURES / f"{name}.svg").write_text(text, encoding="utf-8")


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("page", TUTORIALS)
def test_a_tutorial_runs_as_it_stands(page, tmp_path):
    tools = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    cache = str(tmp_path / "cache")
    env = {**os.environ, "PATH": tools, "HF_HUB_OFFLINE": "1", "XDG_CACHE_HOME": cache}
    env |= {"FORCE_COLOR": "1", "COLUMNS": "100"} if PICTURES else {}
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
        if PICTURES and any(start in block for start in TERMINALS):
            terminal(done.stdout, block.strip())
        if PICTURES and block.strip() == "captions run recipe.toml":
            look((tmp_path / "report.html").as_uri(), "tutorial-report", tmp_path)
    made = tmp_path / MADE[Path(page).stem]
    assert made.stat().st_size > 1000
    if PICTURES and made.suffix == ".html":
        assert PROGRAM
        look(made.as_uri(), "tutorial-leaderboard", tmp_path, "#overall", phone=False)
