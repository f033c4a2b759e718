"""Running servers: does each judge and revise the demo's records, and do the same come out?

    python -m scripts.checks.servers llama.cpp=http://localhost:8080/v1 vllm=http://localhost:8000/v1

The bundled critic judges the demo's captions once; each server then rewrites what was flagged, and
with --judge judges them, too. Rewrites and labels are compared with those of the first server: the
same model gives the same, up to its precision and the template of its prompts. Ends with 1 where a
server loses a record, or leaves a flagged sentence without a rewrite.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.printing import echo

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "datasets/picturebook/examples/captions.jsonl"
Answers = dict[tuple[str, int], str]


def revise_captions(*arguments: object) -> None:
    ours = [sys.executable, "-m", "revise_captions", "revise", *map(str, arguments), "--force"]
    subprocess.run(ours, check=True, stdout=subprocess.DEVNULL)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def sentences(rows: list[dict[str, Any]]) -> Iterator[tuple[tuple[str, int], Mapping[str, Any]]]:
    """Sentences by their row's id and their number."""
    for row in rows:
        for number, sentence in enumerate(row["revision"]["sentences"]):
            yield (str(row["id"]), number), sentence


def rewrites(rows: list[dict[str, Any]]) -> Answers:
    """The first rewrite of each sentence that has one."""
    return {at: one["attempts"][0]["text"] for at, one in sentences(rows) if one["attempts"]}


def labels(rows: list[dict[str, Any]]) -> Answers:
    return {at: one["label"] for at, one in sentences(rows) if one["label"] != "unscored"}


def compared(found: Answers, first: Answers) -> str:
    equal = sum(found.get(at) == text for at, text in first.items())
    return f"{equal:,} of {len(first):,} as the first's"


@click.command(help=__doc__)
@click.argument("servers", nargs=-1, required=True, metavar="NAME=[MODEL@]URL…")
@click.option("--records", type=click.IntRange(1), default=10, show_default=True)
@click.option("--judge", is_flag=True, help="Also judge: every model must take images.")
def main(servers: tuple[str, ...], records: int, judge: bool) -> None:
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        judged = folder / "judged.jsonl"
        common = ("--limit", records)
        images = ("--image-root", DEMO.parent)
        revise_captions(DEMO, judged, "--stage", "critique", *common, *images)
        expected = rows_of(judged)
        flagged = {at for at, one in sentences(expected) if one["label"] == "nonfactual"}
        first: tuple[Answers, Answers] | None = None
        failed = False
        for text in servers:
            name, _, server = text.partition("=")
            server = server if "@" in server else f"@{server}"
            out = folder / "out.jsonl"
            revise_captions(judged, out, "--stage", "revise", "--reviser", server, *common)
            rows = rows_of(out)
            kept = [row["id"] for row in rows] == [row["id"] for row in expected]
            answers, said = rewrites(rows), Answers()
            if judge:
                critic = (
                    "--stage",
                    "critique",
                    "--critic",
                    server,
                    "--without-logprobs",
                    "label",
                )
                revise_captions(DEMO, out, *critic, *common, *images)
                said = labels(rows_of(out))
            first = first or (answers, said)
            failed |= not kept or answers.keys() != flagged
            echo(f"{name}: {len(rows):,} records, {'none' if kept else 'SOME'} lost")
            echo(f"  {len(answers):,} of {len(flagged):,} rewritten, {compared(answers, first[0])}")
            if judge:
                echo(f"  {len(said):,} sentences judged, {compared(said, first[1])}")
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
