"""Running servers: does each judge and revise the demo's records, and do the same come out?

    python -m scripts.checks.servers llama.cpp=http://localhost:8080/v1 vllm=http://localhost:8000/v1
    python -m scripts.checks.servers vllm=http://localhost:8000/v1 … --here MODEL_FOLDER

The bundled critic judges the demo's captions once; each server then rewrites what was flagged.
Rewrites are compared with those of the first server: the same model gives the same, up to its
precision and the template of its prompts. With --here, the servers run the vision model of that
folder, which judges and rewrites, by hard labels where a server gives no log-probabilities; what
comes out of the same model in process comes first.
`python -m scripts.checks.served_vision FOLDER` makes a tiny one.
Ends with 1 where a server loses a record, leaves a flagged sentence without a rewrite or a sentence
without a label, or judges otherwise than the model in process.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from revise_captions.command_line.printing import echo

ROOT = Path(__file__).resolve().parents[2]
DEMO = ROOT / "datasets/picturebook/examples/captions.jsonl"
#: A sentence: its row's id and its number.
At = tuple[str, int]
#: Largest difference in P(factual) that passes: llama.cpp resizes images by itself, and keeps keys
#: and values in 16 bits.
LIMIT = 5e-3


def revise_captions(*arguments: object) -> None:
    ours = [sys.executable, "-m", "revise_captions", "revise", *map(str, arguments), "--force"]
    subprocess.run(ours, check=True, stdout=subprocess.DEVNULL)


def rows_of(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def sentences(rows: list[dict[str, Any]]) -> Iterator[tuple[At, Mapping[str, Any]]]:
    """Sentences by their row's id and their number."""
    for row in rows:
        for number, sentence in enumerate(row["revision"]["sentences"]):
            yield (str(row["id"]), number), sentence


def rewrites(rows: list[dict[str, Any]]) -> dict[At, str]:
    """The first rewrite of each sentence that has one."""
    return {at: one["attempts"][0]["text"] for at, one in sentences(rows) if one["attempts"]}


def judged(rows: list[dict[str, Any]]) -> dict[At, tuple[str, float]]:
    """Label and P(factual) of each sentence that has one."""
    scored = ((at, one) for at, one in sentences(rows) if one["label"] != "unscored")
    return {at: (one["label"], one["p_factual"]) for at, one in scored}


@dataclass(frozen=True, slots=True)
class CheckedServer:
    """What came out of a model: ids in their order, rationales and rewrites of what it flagged, and
    verdicts where it judged."""

    ids: list[str]
    rationales: dict[At, str]
    rewrites: dict[At, str]
    verdicts: dict[At, tuple[str, float]]


def checked(out: Path) -> CheckedServer:
    rows = rows_of(out)
    told = {at: one["rationale"] for at, one in sentences(rows) if one.get("rationale")}
    return CheckedServer([row["id"] for row in rows], told, rewrites(rows), judged(rows))


def judged_alike(found: CheckedServer, first: CheckedServer) -> bool:
    """Prints how verdicts compare; whether they agree."""
    shared = found.verdicts.keys() & first.verdicts.keys()
    both = [(found.verdicts[at], first.verdicts[at]) for at in shared]
    equal = sum(one[0] == other[0] for one, other in both)
    hard = {p for _, p in found.verdicts.values()} <= {0.0, 1.0}
    apart = max((abs(one[1] - other[1]) for one, other in both), default=0.0)
    said = "hard labels" if hard else f"P(factual) at most {apart:.0e} apart"
    echo(f"  {len(both):,} sentences judged, {equal:,} labels as in process, {said}")
    return equal == len(both) and (hard or apart <= LIMIT)


@click.command(help=__doc__)
@click.argument("servers", nargs=-1, required=True, metavar="NAME=[MODEL@]URL…")
@click.option("--records", type=click.IntRange(1), default=10, show_default=True)
@click.option("--here", metavar="FOLDER", help="Also judge, beside this vision model in process.")
def main(servers: tuple[str, ...], records: int, here: str | None) -> None:
    common = ("--limit", records, "--image-root", DEMO.parent)
    with tempfile.TemporaryDirectory() as made:
        flagged, out = Path(made) / "judged.jsonl", Path(made) / "out.jsonl"
        revise_captions(DEMO, flagged, "--stage", "critique", *common)
        expected = checked(flagged)
        asked = {at for at, _ in sentences(rows_of(flagged))}
        first: CheckedServer | None = None
        failed = False
        for text in ([f"in process={here}"] if here else []) + list(servers):
            name, _, model = text.partition("=")
            model = model if "@" in model or "//" not in model else f"@{model}"
            if here:
                revise_captions(
                    DEMO, out, "--critic", model, "--without-logprobs", "label", *common
                )
            else:
                revise_captions(flagged, out, "--stage", "revise", "--reviser", model, *common)
            found = checked(out)
            first = first or found
            judge = first if here else expected
            wrong = {at for at, (label, _) in judge.verdicts.items() if label == "nonfactual"}
            kept = found.ids == expected.ids
            # more than was flagged at first: a rewrite may have a later sentence flagged
            failed |= not kept or not wrong <= found.rewrites.keys()
            equal = sum(found.rewrites.get(at) == text for at, text in first.rewrites.items())
            echo(f"{name}: {len(found.ids):,} records, {'none' if kept else 'SOME'} lost")
            if here:
                failed |= found.verdicts.keys() != asked or not judged_alike(found, first)
                failed |= found.rewrites.keys() != first.rewrites.keys()
                alike = sum(found.rationales.get(at) == t for at, t in first.rationales.items())
                echo(f"  {alike:,} of {len(first.rationales):,} rationales as in process")
            missed = len(wrong - found.rewrites.keys())
            echo(
                f"  {len(found.rewrites):,} rewritten, {equal:,} as the first's, {missed:,} missed"
            )
    raise SystemExit(int(failed))


if __name__ == "__main__":
    main()
