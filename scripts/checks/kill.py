"""Kills the main job at random moments, resumes it, and compares what comes out.

    python -m scripts.checks.kill                  # 100 kills over 264 records, bundled models
    python -m scripts.checks.kill --kills 5 --copies 4

A run is killed (SIGKILL) after a random time, resumed and killed again until it completes; then its
output and quarantine must be those of an uninterrupted run, byte for byte, and nothing else may be
left in the folder. Runs follow each other until there were as many kills as asked for. Prints one
JSON line; ends with 1 if anything differed.
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "datasets/picturebook/examples"
OUTPUTS = ("out.jsonl", "out.quarantine.jsonl")


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


def killed_run(folder: Path, longest: float, rng: random.Random, limit: int) -> int:
    """One run, killed until it completes, at most `limit` times. Returns the number of kills."""
    kills = 0
    while True:
        process = start(folder, "--resume")
        try:
            if kills < limit:
                process.wait(rng.uniform(0, longest))
            else:
                process.wait()
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
            kills += 1
            if (folder / "out.jsonl").exists() and not (folder / "out.jsonl.journal").exists():
                return kills  # it was already complete, and only its table was cut off
            continue
        if process.returncode != 0:
            raise SystemExit(f"a resumed run ended with {process.returncode}")
        return kills


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--kills", default=100, show_default=True)
@click.option("--copies", default=10, show_default=True, help="Of the 27 example records.")
@click.option("--records", default=264, show_default=True, help="At most this many records.")
@click.option("--seed", default=0, show_default=True)
def main(kills: int, copies: int, records: int, seed: int) -> None:
    rng, began, done, runs, identical = random.Random(seed), time.monotonic(), 0, 0, 0
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
        while done < kills:
            folder = Path(name) / f"run-{runs}"
            folder.mkdir()
            (folder / "in.jsonl").write_text(text, encoding="utf-8")
            done += killed_run(folder, longest, rng, kills - done)
            same = outputs(folder) == expected
            identical += same and {path.name for path in folder.iterdir()} == left
            runs += 1
    figures = {
        "records": min(records, len(lines)),
        "kills": done,
        "runs": runs,
        "identical": identical,
        "minutes": round((time.monotonic() - began) / 60, 1),
        "seed": seed,
    }
    print(json.dumps(figures))
    sys.exit(0 if identical == runs else 1)


if __name__ == "__main__":
    main()
