"""Every command of the pages runs, with the extras that its page names and no others.

What needs a GPU, a model from the hub, a server, public data or a person is parsed instead.
Tutorials: test_tutorials.py.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import base_install
import click
import pytest
from pages import PAGES, PROGRAMS, ROOT, code

from revise_captions.command_line.captions import load_command

EXAMPLES = ROOT / "datasets/picturebook/examples"
#: Why a line of a block is not run, by a part of it.
NOT_RUN = {
    r"@https?://|^vllm |--engine vllm|check-engine in\.jsonl --critic \./qwen": "a server or vLLM",
    r"Qwen/|OpenGVLab/|google/paligemma|en_core_web_trf|maverick|LongCLIP": "a model of the hub",
    r"\bDIR\b|contextual-clipscore|rated/|my-vela": "data or models",
    r"^captions (train-)?preferences ": "data or models",
    r"^ray |--ray-address|^sbatch |^torchrun |^N=": "a cluster",
    r"^docker ": "containers",
    r"^pip install|^bash scripts/|^eval ": "the shell and environment of whoever runs the tests",
    r"scripts\.checks\.|scripts\.research\.|scripts\.bench\.": "minutes; tests of their own",
    r"^captions explore ": "a page that is served until somebody ends it; tests of its own",
    r"answers-\*\.json|decisions\.jsonl|--people|^captions undo ": "what people answered",
    r"--stage (revise|critique) .*(my-critic)|written\.jsonl": "a critic of one's own and stages",
    r"captions annotate match|finetune matched|--base first": "a corpus of captions and minutes",
    r"--compile": "a compiler and minutes",
    r"^captions read-chart ": "charts of one's own; tests of its own",
    r"captions stress-metric tune |tune-train|tuned-a": "scenes that a script draws in minutes",
    r"captions calibrate my-critic data": "more validation sentences than are drawn here",
    r"^captions run recipe\.toml|revised\.tar|llava\.json": "a loader's files; tests of its own",
}
#: Sizes that take minutes, and what the tests take instead.
SMALLER = {"--scenes 4000": "--scenes 8", "--scenes 1000": "--scenes 8", "--epochs 5": "--epochs 1"}
SMALLER |= {"--charts 100": "--charts 4"}
#: A second training on one page, whose OUT the page's first one, which is not run, has made.
SMALLER |= {"--out my-critic --replay": "--out another --replay"}


def lines_of(page: str) -> list[str]:
    blocks = [block.replace("\\\n", " ") for block in code(PAGES[page], "bash")]
    return [line.strip() for block in blocks for line in block.splitlines() if line.strip()]


LINES = {page: lines_of(page) for page in PAGES if lines_of(page)}
EVERY_LINE = list(dict.fromkeys(line for lines in LINES.values() for line in lines))


def why_not(line: str) -> str:
    return next((why for part, why in NOT_RUN.items() if re.search(part, line)), "")


def extras_of(page: str) -> list[str]:
    """What a page tells its readers to install."""
    named = re.findall(r"pip install '(?:revise-captions|\.)\[([a-z0-9,]+)\]'", PAGES[page])
    named += re.findall(r"\(extra `([a-z0-9]+)`", PAGES[page])
    return sorted({extra for part in named for extra in part.split(",")})


def command_and_words(line: str) -> tuple[click.Command, list[str]] | None:
    """The click command of a line and its arguments; None for other programs."""
    words = shlex.split(line, comments=True)
    if words[0] == "captions":
        return load_command(words[1]), words[2:]
    if words[0] == "revise-captions":
        return PROGRAMS[words[0]], words[1:]
    return None


@pytest.mark.parametrize("line", [line for line in EVERY_LINE if command_and_words(line)])
def test_every_line_parses(line):
    """Options exist and have values of their types; there are no more arguments than places."""
    found = command_and_words(line)
    assert found is not None
    command, words = found
    command.make_context(command.name, list(words), resilient_parsing=True)


def test_every_reason_not_to_run_a_line_is_one():
    for part, why in NOT_RUN.items():
        assert any(re.search(part, line) for line in EVERY_LINE), (part, why)
    run = [line for line in EVERY_LINE if not why_not(line)]
    assert len(run) >= 25


# --- What the pages' commands find --------------------------------------------------------------


def stage(folder: Path, revised: Path) -> None:
    """Files under the names that the pages use."""
    shutil.copytree(EXAMPLES / "images", folder / "images")
    rows = examples()
    write(folder / "captions.jsonl", rows)
    write(folder / "in.jsonl", rows)
    write(folder / "gpt.jsonl", [row | {"model": "GPT"} for row in rows[:4]])
    for name in ("revised", "out", "judged", "part-0"):
        for suffix in ("jsonl", "jsonl.signatures.json"):
            shutil.copy(revised.with_name(f"revised.{suffix}"), folder / f"{name}.{suffix}")
    for number in range(1, 8):
        (folder / f"part-{number}.jsonl").touch()
    for name, place in (("my-critic", "critic/bundled"), ("my-reviser", "reviser/bundled")):
        shutil.copytree(ROOT / place, folder / name)  # no link: some commands write into it
    shutil.copytree(revised.with_name("data"), folder / "data")
    (folder / "table.csv").write_text(
        "image,caption\n" + "".join(f'{row["image"]},"{row["caption"]}"\n' for row in rows)
    )
    (folder / "val2014").symlink_to(folder / "images")
    images = [{"id": n, "file_name": Path(row["image"]).name} for n, row in enumerate(rows)]
    notes = [{"id": n, "image_id": n, "caption": r["caption"]} for n, r in enumerate(rows)]
    coco = json.dumps({"images": images, "annotations": notes})
    (folder / "captions_val2014.json").write_text(coco)
    (folder / "photos").mkdir()
    for number, row in enumerate(rows):
        shutil.copy(folder / row["image"], folder / "photos" / f"{number}.png")
        (folder / "photos" / f"{number}.txt").write_text(row["caption"])
    shutil.copy(folder / rows[0]["image"], folder / "image.png")


def examples() -> list[dict[str, str]]:
    lines = (EXAMPLES / "captions.jsonl").read_text().splitlines()[:12]
    rows = [json.loads(line) for line in lines]
    return [
        row | {"generation": row["caption"], "reference": "A girl and a dog by a house."}
        for row in rows
    ]


def write(path: Path, rows: list[dict[str, str]]) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def words_in(line: str, folder: Path) -> list[str]:
    """As a shell expands it."""
    for large, small in SMALLER.items():
        line = line.replace(large, small)
    script = f"printf '%s\\0' {line}"
    done = subprocess.run(["bash", "-c", script], cwd=folder, capture_output=True, check=True)
    return done.stdout.decode().split("\0")[:-1]


def run(folder: Path, extras: list[str], lines: list[str]) -> list[tuple[str, dict[str, object]]]:
    asked = "".join(json.dumps(words_in(line, folder)) + "\n" for line in lines)
    done = subprocess.run(
        [sys.executable, base_install.__file__, *extras],
        input=asked,
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "HF_HUB_OFFLINE": "1", "PYTHONPATH": str(ROOT)},
        check=True,
    )
    return list(zip(lines, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.fixture(scope="module")
def revised(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("revised")
    shutil.copytree(EXAMPLES / "images", folder / "images")
    write(folder / "captions.jsonl", examples())
    lines = ["revise-captions captions.jsonl revised.jsonl"]
    draw = "python -m revise_captions.picturebook.generate data --scenes 24"
    lines += [f"{draw} --split {split}" for split in ("train", "validation", "test")]
    for _, found in run(folder, [], lines):
        assert found["status"] == 0, found["err"]
    shutil.rmtree(folder / "data" / "labels")  # which raters do not give
    return folder / "revised.jsonl"


#: What a line writes stands already, as another line of its page reads it.
def written_by(words: list[str]) -> list[str]:
    command, *rest = words
    if command == "revise-captions" or words[:2] == ["captions", "revise"]:
        return [w for w in rest if not w.startswith("-") and w != "revise"][1:2]
    return [rest[1]] if "picturebook.generate" in rest[1:2] else []


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in LINES if "/tutorials/" not in page])
def test_the_commands_of_a_page_run(page, tmp_path, revised):
    lines = [line for line in LINES[page] if not why_not(line)]
    stage(tmp_path, revised)
    for line in lines:
        for name in written_by(words_in(line, tmp_path)):
            path = tmp_path / name
            for old in (path, path.with_name(f"{path.name}.signatures.json")):
                old.unlink(missing_ok=True)
    for line, found in run(tmp_path, extras_of(page), lines):
        said = str(found["err"])
        repeated = "exists" in said and "--force" in said  # the same OUT twice on one page
        assert found["status"] == 0 or repeated, f"{line}\n{said}"
        assert "Traceback" not in said, line
        assert "it/s" not in said, line
