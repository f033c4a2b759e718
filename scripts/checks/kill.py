"""Kills the main job at random moments, resumes it, and compares what comes out.

    python -m scripts.checks.kill                  # 100 kills over 264 records, bundled models
    python -m scripts.checks.kill --kills 5 --copies 4

A run is killed (SIGKILL) after a random time, resumed and killed again until it completes. The time
follows the machine, which may be busy otherwise: it grows after a kill that left no room for a
window, and shrinks after one that did, or a run that none hit. Then the files in the run's folder
must be those of an uninterrupted run, byte for byte. Runs follow each other until there were as
many kills as asked for. Prints one JSON line, with what the killed run was doing; ends with 1 if
anything differed.

The uninterrupted run is the command, started as usual. The others are forked from a process that
has loaded the models, so that their time, and the kills, go to their work.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path

import click

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "datasets/picturebook/examples"


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


ARGUMENTS = ("in.jsonl", "out.jsonl", "--image-root", "/")  # the examples' own folder


def whole_run(folder: Path) -> None:
    command = [sys.executable, "-m", "revise_captions.pipelines.cli", *ARGUMENTS]
    null = subprocess.DEVNULL
    subprocess.run(command, cwd=folder, stdout=null, stderr=null, check=True)


def serve(pipe: Connection) -> None:
    """Forks a run with `--resume` for each folder received; sends its process id and its status."""
    import torch

    from revise_captions.pipelines import cli
    from revise_captions.pipelines.job import models, run  # noqa: F401
    from revise_captions.pipelines.options import ModelOptions

    torch.set_num_threads(1)  # a fork has no other threads
    critic = models.load_critic_of(ModelOptions())
    reviser = models.load_reviser_of(ModelOptions())
    setattr(models, "load_critic_of", lambda *given, **more: critic)  # noqa: B010
    setattr(models, "load_reviser_of", lambda *given: reviser)  # noqa: B010
    while folder := pipe.recv():
        child = os.fork()
        if child == 0:
            os.chdir(folder)
            null = os.open(os.devnull, os.O_RDWR)
            for number in range(3):
                os.dup2(null, number)
            cli.main([*ARGUMENTS, "--resume"])
        pipe.send(child)
        pipe.send(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


def files(folder: Path) -> dict[str, bytes]:
    """Everything in a folder."""
    return {path.name: path.read_bytes() for path in folder.iterdir()}


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


def killed_run(
    server: Connection, folder: Path, longest: float, rng: random.Random, limit: int
) -> tuple[list[str], float]:
    """One run, killed until it completes, at most `limit` times.

    Returns:
        Each kill's moment, and `longest` (seconds until a kill) for the next run.
    """
    kills: list[str] = []
    while True:
        before = journal_size(folder)
        server.send(str(folder))
        process = server.recv()
        if not server.poll(rng.uniform(0, longest) if len(kills) < limit else None):
            os.kill(process, signal.SIGKILL)
        status = server.recv()
        if status == -signal.SIGKILL:
            kills.append(moment(folder, before))
            print(folder.name, kills[-1], f"{longest:.1f} s", file=sys.stderr, flush=True)
            longest *= 1.25 if kills[-1] == "before a window" else 0.8
        elif status != 0:
            raise SystemExit(f"a resumed run ended with {status}")
        if status == 0 or kills[-1] == "after the output":
            return kills, longest if kills else longest / 2


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--kills", default=100, show_default=True)
@click.option("--copies", default=10, show_default=True, help="Of the 27 example records.")
@click.option("--records", default=264, show_default=True, help="At most this many records.")
@click.option("--seed", default=0, show_default=True)
def main(kills: int, copies: int, records: int, seed: int) -> None:
    rng, began = random.Random(seed), time.monotonic()
    killed: list[str] = []
    identical = runs = 0
    server, pipe = get_context("spawn").Pipe()
    get_context("spawn").Process(target=serve, args=(pipe,), daemon=True).start()
    with tempfile.TemporaryDirectory() as name:
        whole = Path(name) / "whole"
        whole.mkdir()
        write_input(whole, copies)
        lines = (whole / "in.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        text = "".join(lines[:records])
        (whole / "in.jsonl").write_text(text, encoding="utf-8")
        whole_run(whole)
        expected = files(whole)
        longest = 10.0
        while len(killed) < kills:
            folder = Path(name) / f"run-{runs}"
            folder.mkdir()
            (folder / "in.jsonl").write_text(text, encoding="utf-8")
            moments, longest = killed_run(server, folder, longest, rng, kills - len(killed))
            killed += moments
            identical += files(folder) == expected
            runs += 1
    server.send("")
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
