"""What the pages show of a run: the demo's table, one record with its evidence, its verification.

    python -m scripts.research.bundled_models.showcase            # print all three
    python -m scripts.research.bundled_models.showcase --write    # …into README.md and docs

The demo's own command is run as a user would, into a folder that is thrown away, and what it
prints at its end goes between `<!-- demo -->` and `<!-- /demo -->`. The record goes between
`<!-- example -->` and `<!-- /example -->`: the shortest in which all that was flagged was mended,
and nothing is wrong any more (by the scene that was drawn, not by the critic). Between
`<!-- verify -->` and `<!-- /verify -->` goes what `verify-revisions` adds to the table.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.text import sentences
from scripts.research.bundled_models.card import ROOT
from scripts.research.frame.blocks import write_to_pages

EXAMPLES = Path("datasets/picturebook/examples/captions.jsonl")


def run_demo(folder: Path) -> tuple[str, list[dict[str, Any]]]:
    """The demo's table and its output rows. Raises CalledProcessError where the run fails."""
    out = folder / "captions.jsonl"
    command = [str(Path(sys.executable).with_name("revise-captions")), str(EXAMPLES), str(out)]
    command += ["--report", str(folder / "report.html"), "--group-by", "model", "--force"]
    done = subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
    table = done.stdout.partition("\ncaptions:")[0].strip("\n")  # without the files' names
    rows = [json.loads(line) for line in out.read_text(encoding="utf-8").splitlines()]
    return table, rows


def run_verification(folder: Path) -> str:
    """The lines that `verify-revisions` adds to the table of the demo's output in `folder`."""
    name = str(Path(sys.executable).with_name("verify-revisions"))
    command = [name, "captions.jsonl", "verified.jsonl", "--report", "verified.html"]
    done = subprocess.run(command, cwd=folder, check=True, stdout=subprocess.PIPE, text=True)
    return verification(done.stdout)


def verification(printed: str) -> str:
    """The paragraph about preservation. Raises ValueError where there is none."""
    found = [part for part in printed.split("\n\n") if part.startswith("Preservation")]
    if len(found) != 1:
        raise ValueError(f"{len(found)} paragraphs begin with “Preservation”, expected 1")
    return found[0]


def example(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The shortest record in which something was flagged, and all of that was mended, truly."""
    mended = [row for row in rows if _mended(row) and _true(row)]
    return min(mended, key=lambda row: (len(row["caption"]), row["id"]))


def _mended(row: dict[str, Any]) -> bool:
    flagged = [s for s in row["revision"]["sentences"] if s["label"] == "nonfactual"]
    return bool(flagged) and all(s["accepted"] and not s["dropped"] for s in flagged)


def _true(row: dict[str, Any]) -> bool:
    """Whether no sentence of the revised caption is wrong or beyond the oracle."""
    split, _, number = row["id"].rpartition("-")
    scene, text = sample_scene(int(number), split), row["revised_caption"]
    truths = {oracle(scene, text[: s.start], s.of(text)) for s in sentences.split(text)}
    return not truths & {Truth.FALSE, Truth.UNPARSED}


def as_block(row: dict[str, Any]) -> str:
    """The record as JSON with one line for each sentence, fenced."""
    revision = row["revision"]
    lines = ",\n    ".join(_line(sentence) for sentence in revision["sentences"])
    head = {key: value for key, value in row.items() if key != "revision"}
    rest = {key: value for key, value in revision.items() if key != "sentences"}
    fields = ",\n ".join(f"{json.dumps(key)}: {_line(value)}" for key, value in head.items())
    text = f'{{{fields},\n "revision": {_line(rest)[:-1]}, "sentences": [\n    {lines}]}}}}'
    assert json.loads(text) == row
    return f"```json\n{text}\n```"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--write", is_flag=True, help="Into the checkout's README.md and docs.")
def main(write: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        table, rows = run_demo(Path(folder))
        verified = run_verification(Path(folder))
    blocks = {
        "demo": f"```\n{table}\n```",
        "example": as_block(example(rows)),
        "verify": f"```\n{verified}\n```",
    }
    for block in blocks.values():
        click.echo(f"{block}\n")
    if write:
        write_to_pages(ROOT, blocks)


if __name__ == "__main__":
    main()
