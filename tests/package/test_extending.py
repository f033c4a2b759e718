"""Packages of somebody else's, installed by pip and used from the command line, as docs say."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import outcome
from pages import PAGES, ROOT, code
from PIL import Image

from revise_captions.command_line.captions import main
from revise_captions.registry import KINDS, LAYOUTS

#: One has a critic, a reviser, a metric and a command, the other a benchmark.
PACKAGES = [ROOT / "tests/support/calm_captions", ROOT / "tests/support/guestbook"]
SOURCE = "\n".join(path.read_text() for folder in PACKAGES for path in folder.glob("*.*"))
PAGE = PAGES["docs/extending.md"] + PAGES["docs/extending-data.md"]
#: What neither of them has is installed from the page: the module, and a line of its code.
SHOWN = {"yes_engine": "class Yes", "album_layout": "ALBUM = Layout"}
EXAMPLES = ROOT / "datasets/picturebook/examples"
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def block(line: str) -> str:
    """The page's code that has a line."""
    (found,) = [part for part in code(PAGE, "python") if line in part]
    return found


def declared() -> str:
    return "\n".join(code(PAGE, "toml"))


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where pip has put the packages."""
    site, work = tmp_path_factory.mktemp("site"), tmp_path_factory.mktemp("packages")
    for folder in PACKAGES:
        (work / folder.name).mkdir()
        for path in folder.glob("*.*"):
            (work / folder.name / path.name).write_bytes(path.read_bytes())
    for module, line in SHOWN.items():
        (work / module).mkdir()
        (work / module / f"{module}.py").write_text(block(line))
        (kind, entry) = next(
            (group, declaration)
            for group, declaration in re.findall(r"(\[project\.entry.*\])\n(.*)\n", declared())
            if f'"{module}:' in declaration
        )
        name = f'[project]\nname = "{module}"\nversion = "1"\n{kind}\n{entry}\n'
        (work / module / "pyproject.toml").write_text(name)
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    subprocess.run([*pip, *options, *map(str, work.iterdir())], check=True)

    return site


@pytest.fixture
def captions(installed: Path, monkeypatch, capsys) -> Run:
    """`captions` in an environment that has the packages, too."""
    monkeypatch.syspath_prepend(str(installed))

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess(words, *outcome(main, capsys, *words))

    return run


@pytest.fixture(scope="module")
def guests(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("hotel")
    rows = [
        {"photo": f"{k}.png", "said": "A room" + "!" * k, "guest": "g", "calm": 5 - k}
        for k in range(4)
    ]
    (folder / "guests.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_the_command_is_one_of_captions(captions, installed, tmp_path):
    """In a process of its own; the other tests spare themselves the imports."""
    command = [sys.executable, "-m", "revise_captions", "--help"]
    env = {**os.environ, "PYTHONPATH": str(installed)}
    shown = subprocess.run(command, capture_output=True, text=True, env=env, check=True).stdout
    assert "  count-shouts       Count the captions that shout.\n" in shown
    rows = [{"image": "a.png", "caption": text} for text in ("A dog.", "A cat!", "A bird!!")]
    (tmp_path / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    assert captions("count-shouts", tmp_path / "in.jsonl").stdout == "2 of 3 shout\n"
    assert captions("count-shouts", tmp_path / "in.jsonl", "--least", 2).stdout == "1 of 3 shout\n"
    ran = captions("count-shout", tmp_path / "in.jsonl")
    assert (ran.returncode, "did you mean count-shouts?" in ran.stderr) == (2, True)


def test_the_benchmark_is_shown_checked_and_evaluated_on(captions, guests, tmp_path):
    assert "guestbook" in captions("benchmarks", "list").stdout
    assert "the hotel" in captions("benchmarks", "show", "guestbook").stdout
    assert captions("benchmarks", "check", "guestbook", guests, "--as", "summer").returncode == 0
    out = tmp_path / "out.json"
    words = ["guestbook", guests, "metric:shouting", "metric:length", "--level", "segment"]
    ran = captions("evaluate-metric", *words, "--replicates", 100, "--json", out)
    assert ran.returncode == 0, ran.stderr
    assert "shouting:1.0" in ran.stdout  # in the signature
    figures = json.loads(out.read_text())["figures"]
    (pearson,) = [f for f in figures if (f["metric"], f["name"]) == ("shouting", "pearson")]
    assert pearson["value"] == pytest.approx(1)


def test_the_metric_is_listed(captions):
    listed = captions("stress-metric", "--list").stdout
    assert "shouting              The fewer exclamation marks, the better.\n" in listed


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A plain surface, and a scene of the picture book."""
    folder = tmp_path_factory.mktemp("pictures")
    Image.new("RGB", (320, 240), (90, 140, 200)).save(folder / "blue.png")
    (folder / "scene.png").write_bytes((EXAMPLES / "images/test-076.png").read_bytes())
    rows = [
        {"image": "blue.png", "caption": "It is blue. The surface is amazing."},
        {"image": "scene.png", "caption": "An amazing scene. One car is visible."},
    ]
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


def test_critic_and_reviser_judge_and_rewrite(captions, pictures, tmp_path):
    out = tmp_path / "out.jsonl"
    ran = captions("revise", pictures / "in.jsonl", out, "--critic", "calm", "--reviser", "calm")
    assert ran.returncode == 0, ran.stderr
    first, second = map(json.loads, out.read_text().splitlines())
    assert first["revised_caption"] == "It is blue. The surface is plain."
    assert second["revised_caption"] == "An plain scene. One car is visible."
    flagged = first["revision"]["sentences"][1]
    assert (flagged["p_factual"], flagged["rationale"]) == (0.1, "It is a plain surface.")
    assert flagged["fixes"][0]["span"] == [15, 22]
    ran = captions(
        *("revise", pictures / "in.jsonl", tmp_path / "low.jsonl"),
        *("--critic", "calm", "--threshold", 0.05),  # and the reviser that goes with it
    )
    assert "Nothing flagged in 4 sentences." in ran.stdout, ran.stderr


def test_the_layout_is_read_written_and_corrected_in_place(captions, pictures, tmp_path):
    page = "image: blue.png\ncaption: The surface is amazing.\n\n"
    (pictures / "in.album").write_text(page * 2)
    given = ["revise", pictures / "in.album", "--critic", "calm"]
    for out in ("whole.album", "lines.jsonl"):
        ran = captions(*given, tmp_path / out)
        assert ran.returncode == 0, ran.stderr
    mended = page.replace("\n\n", "\nrevised_caption: The surface is plain.\nrevision: {")
    assert (tmp_path / "whole.album").read_text().startswith(mended)
    rows = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    assert [row["revised_caption"] for row in rows] == ["The surface is plain."] * 2
    again, style = tmp_path / "again.album", ["--write", "caption", "--evidence", "none"]
    ran = captions("merge", given[1], again, tmp_path / "whole.album")
    assert ran.returncode == 0, ran.stderr
    assert again.read_bytes() == (tmp_path / "whole.album").read_bytes()
    assert captions(*given, tmp_path / "clean.album", *style).returncode == 0
    kept = "image: blue.png\ncaption: The surface is plain.\n"
    kept += "caption_original: The surface is amazing.\n\n"
    assert (tmp_path / "clean.album").read_text() == kept * 2


def test_in_a_panel_the_critic_judges_its_own_images(captions, pictures, tmp_path):
    out = tmp_path / "out.jsonl"
    ran = captions("revise", pictures / "in.jsonl", out, "--critic", "calm,picturebook")
    assert ran.returncode == 0, ran.stderr
    first, second = map(json.loads, out.read_text().splitlines())
    assert first["revision"]["expert"] == "calm"
    assert first["revised_caption"] == "It is blue. The surface is plain."
    assert second["revision"]["expert"] == "picturebook"
    assert "One boat is visible." in second["revised_caption"]


def test_the_engine_computes_a_critic(captions, pictures, tmp_path):
    out = tmp_path / "out.jsonl"
    words = ["--stage", "critique", "--critic", "chat=any", "--engine", "yes"]
    ran = captions("revise", pictures / "in.jsonl", out, *words)
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line)["revision"]["sentences"] for line in out.read_text().splitlines()]
    assert [s["p_factual"] for row in rows for s in row] == [0.9] * 4
    assert "|engine:yes|" in (tmp_path / "out.jsonl.signatures.json").read_text()


MISSPELLED = {
    "critic": ("revise", "IN", "OUT", "--critic", "clam"),
    "reviser": ("revise", "IN", "OUT", "--critic", "calm", "--reviser", "clam"),
    "engine": ("revise", "IN", "OUT", "--engine", "yess"),
    "metric": ("evaluate-metric", "guestbook", "DIR", "metric:shoutin"),
    "benchmark": ("evaluate-metric", "guestbok", "DIR", "metric:shouting"),
    "command": ("count-shout", "IN"),
}


#: Nobody types a layout's name.
NAMED = [kind for kind in KINDS if kind is not LAYOUTS]


@pytest.mark.parametrize("kind", NAMED, ids=lambda kind: kind.noun)
def test_a_misspelled_name_is_answered_with_the_nearest(kind, captions, pictures, guests, tmp_path):
    places = {"IN": pictures / "in.jsonl", "OUT": tmp_path / "out.jsonl", "DIR": guests}
    given = MISSPELLED[kind.noun]
    ran = captions(*(places.get(word, word) for word in given))
    assert ran.returncode == 2
    meant = {"engine": "yes", "metric": "shouting", "benchmark": "guestbook"}
    name = meant.get(kind.noun, "count-shouts" if kind.noun == "command" else "calm")
    assert f"there is no {kind.noun} " in ran.stderr
    assert f"did you mean {name}?" in ran.stderr
    assert not (tmp_path / "out.jsonl").exists()


def test_the_page_shows_the_packages():
    blocks = code(PAGE, "python")
    for block in blocks:
        assert block in SOURCE or any(line in block for line in SHOWN.values())
        assert block.count("\n") < 30
    shown = set(re.findall(r'\."revise_captions\.(\w+)"\]', declared()))
    assert len(blocks) == len(shown) == len(KINDS)
    for group in declared().split("\n\n"):
        assert group.strip() in SOURCE or any(f'"{module}:' in group for module in SHOWN)
    assert SOURCE.count("\n") < 150
