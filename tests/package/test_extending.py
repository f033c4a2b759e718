"""A package of somebody else's, installed by pip and used from the command line, as docs say."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pages import PAGES, ROOT, code

PACKAGE = ROOT / "tests/support/calm_captions"
SOURCE = (PACKAGE / "calm_captions.py").read_text()
PAGE = PAGES["docs/extending.md"]
Run = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture(scope="module")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """`captions` in an environment that has the package, too."""
    site = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(site)]
    copy = site.parent / "package"
    copy.mkdir()
    for path in PACKAGE.glob("*.*"):
        (copy / path.name).write_bytes(path.read_bytes())
    subprocess.run([*pip, *options, str(copy)], check=True)

    def run(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "revise_captions", *map(str, words)]
        env = {**os.environ, "PYTHONPATH": str(site)}
        return subprocess.run(command, capture_output=True, text=True, env=env, check=False)

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


def test_the_command_is_one_of_captions(captions, tmp_path):
    assert "  count-shouts       Count the captions that shout.\n" in captions("--help").stdout
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


def test_the_page_shows_the_package():
    blocks = code(PAGE, "python")
    assert len(blocks) == 3
    for block in blocks:
        assert block in SOURCE
        assert block.count("\n") < 30
    (declared,) = code(PAGE, "toml")
    assert declared in (PACKAGE / "pyproject.toml").read_text()
    size = sum(path.read_text().count("\n") for path in PACKAGE.glob("*.*"))
    assert size < 150
