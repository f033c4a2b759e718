"""Kills the main job at random moments, resumes it, and compares what comes out.

    python -m scripts.checks.kill                  # 100 kills over 264 records, bundled models
    python -m scripts.checks.kill --kills 5 --copies 4

A run is killed (SIGKILL) after a random time, resumed and killed again until it completes; then its
output and quarantine must be those of an uninterrupted run, byte for byte, and nothing else may be
left in the folder. Runs follow each other until there were as many kills as asked for. Prints one
JSON line, with what the killed run was doing; ends with 1 if anything differed.
"""

from __future__ import annotations

import contextlib
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import click

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "datasets/picturebook/examples"
OUTPUTS = ("out.jsonl", "out.quarantine.jsonl", "out.jsonl.signatures.json")


def write_input(folder: Path, copies: int) -> int:
    """The example captions, several times over, with absolute image paths. Returns the count."""
    rows = [json.loads(line) for line in (EXAMPLES / "captions.jsonl").read_text().splitlines()]
    with (folder / "in.jsonl").open("w", encoding="utf-8") as file:
        for copy in range(copies):
            for row in rows:
                image = str(EXAMPLES / row["image"])
                made = {**row, "id": f"{row['id']}-{copy}", "image": image}
                file.write(json.dumps(made, ensure_ascii=False) + "\n")
    return copies * len(rows)


def start(folder: Path, *more: str) -> subprocess.Popen[bytes]:
    """The command on the folder's input, without a terminal."""
    command = [sys.executable, "-m", "revise_captions.pipelines.cli", "in.jsonl", "out.jsonl"]
    command += ["--image-root", "/"]  # the examples' own folder
    null = subprocess.DEVNULL
    return subprocess.Popen([*command, *more], cwd=folder, stdout=null, stderr=null)


def outputs(folder: Path) -> dict[str, bytes]:
    """What stands under the final names."""
    return {name: (folder / name).read_bytes() for name in OUTPUTS if (folder / name).exists()}


def moment(folder: Path, journal_before: int) -> str:
    """What the run that was just killed was doing, by the files it leaves."""
    if any(folder.glob("*.partial")):
        return "writing the output"
    if not (folder / "out.jsonl.journal").exists() and (folder / "out.jsonl").exists():
        return "after the output"
    return "between windows" if journal_size(folder) > journal_before else "before a window"


def journal_size(folder: Path) -> int:
    journal = folder / "out.jsonl.journal"
    return journal.stat().st_size if journal.exists() else 0


def killed_run(folder: Path, longest: float, rng: random.Random, limit: int) -> list[str]:
    """One run, killed until it completes, at most `limit` times. Returns each kill's moment."""
    kills: list[str] = []
    while True:
        before = journal_size(folder)
        process = start(folder, "--resume")
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(rng.uniform(0, longest) if len(kills) < limit else None)
        process.kill()
        status = process.wait()
        if status == -signal.SIGKILL:
            kills.append(moment(folder, before))
        elif status != 0:
            raise SystemExit(f"a resumed run ended with {status}")
        if status == 0 or kills[-1] == "after the output":
            return kills


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--kills", default=100, show_default=True)
@click.option("--copies", default=10, show_default=True, help="Of the 27 example records.")
@click.option("--records", default=264, show_default=True, help="At most this many records.")
@click.option("--seed", default=0, show_default=True)
def main(kills: int, copies: int, records: int, seed: int) -> None:
    rng, began, runs, identical = random.Random(seed), time.monotonic(), 0, 0
    killed: list[str] = []
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "whole"
        whole.mkdir()
        write_input(whole, copies)
        lines = (whole / "in.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        text = "".join(lines[:records])
        (whole / "in.jsonl").write_text(text, encoding="utf-8")
        first = time.monotonic()
        if start(whole).wait() != 0:
            raise SystemExit("the uninterrupted run failed")
        longest = 1.1 * (time.monotonic() - first)
        expected, left = outputs(whole), {path.name for path in whole.iterdir()}
        while len(killed) < kills:
            folder = Path(name) / f"run-{runs}"
            folder.mkdir()
            (folder / "in.jsonl").write_text(text, encoding="utf-8")
            killed += killed_run(folder, longest, rng, kills - len(killed))
            same = outputs(folder) == expected
            identical += same and {path.name for path in folder.iterdir()} == left
            runs += 1
    figures = {
        "records": min(records, len(lines)),
        "kills": len(killed),
        "killed": dict(Counter(killed).most_common()),
        "runs": runs,
        "identical": identical,
        "minutes": round((time.monotonic() - began) / 60, 1),
        "seed": seed,
    }
    print(json.dumps(figures))
    sys.exit(0 if identical == runs else 1)


if __name__ == "__main__":
    main()
