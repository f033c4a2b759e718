"""Memory that hostile files take, and how a long run ends, through the whole command.

    python -m scripts.checks.memory                       # 100,000 records
    python -m scripts.checks.memory --records 1000000     # some minutes on an idle machine

Runs the command, with scripted models, on each bomb of `tests/io/test_memory.py` and prints the
peak of resident memory; then on many small records, and prints the peak and what happens after the
last record was judged: how long OUT takes, and how often the command says how far it is. Ends with
1 above the limit of 1,500 MB.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import click
from PIL import Image

TESTS = Path(__file__).parents[2] / "tests"
sys.path.insert(0, str(TESTS / "io"))
import test_memory as bombs  # noqa: E402

LIMIT_MB = 1500
COMMAND = [sys.executable, str(TESTS / "support/scripted_run.py")]


def peak_of(folder: Path, bomb: str) -> tuple[int, float]:
    """Bytes on disk, and the peak in MB."""
    Image.new("RGB", (8, 8), "red").save(folder / "a.png")
    source, _, _ = getattr(bombs, bomb)(folder)
    size = sum(path.stat().st_size for path in folder.iterdir())
    mark = folder / "peak"
    command = [*COMMAND, str(source), str(folder / "out.jsonl"), "--report", str(folder / "r.html")]
    environment = {**os.environ, "SCRIPTED_PEAK": str(mark)}
    subprocess.run(command, env=environment, check=True, capture_output=True)
    return size, int(mark.read_text()) * 1024 / 1e6


def long_run(folder: Path, records: int) -> dict[str, float]:
    """A run over so many records, watched: its end begins when OUT's working file appears."""
    Image.new("RGB", (8, 8), "red").save(folder / "a.png")
    with (folder / "in.jsonl").open("w") as file:
        for number in range(records):
            text = f"Dog {number} stands near the tree. It looks at bench {number % 97}."
            file.write(json.dumps({"image": "a.png", "caption": text}) + "\n")
    mark, said = folder / "peak", folder / "said"
    command = [*COMMAND, "in.jsonl", "out.jsonl", "--report", "r.html"]
    environment = {**os.environ, "SCRIPTED_FAST": "1", "SCRIPTED_PEAK": str(mark)}
    began = time.monotonic()
    with said.open("wb") as err:
        run = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, stderr=err
        )
        judged = 0.0
        while run.poll() is None:
            if not judged and any(folder.glob("out.jsonl.*.partial")):
                judged = time.monotonic()
            time.sleep(0.01)
    ended = time.monotonic()
    if run.returncode != 0:
        raise SystemExit(said.read_text())
    lines = re.split(r"[\r\n]+", said.read_text(errors="replace"))
    return {
        "records": records,
        "seconds": round(ended - began, 1),
        "seconds at the end": round(ended - judged, 1),
        "signs of life at the end": sum("writing" in line for line in lines),
        "peak MB": round(int(mark.read_text()) * 1024 / 1e6),
    }


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--records", default=100_000, show_default=True, help="Of the long run.")
def main(records: int) -> None:
    click.echo("| input | bytes on disk | peak, MB |\n| --- | --- | --- |")
    worst = 0.0
    for bomb in ("images", "zst", "gz", "values", "elements", "tar"):
        with tempfile.TemporaryDirectory() as folder:
            size, peak = peak_of(Path(folder), bomb)
        worst = max(worst, peak)
        click.echo(f"| {bomb} | {size:,} | {peak:,.0f} |")
    with tempfile.TemporaryDirectory() as folder:
        click.echo(json.dumps(long_run(Path(folder), records)))
    sys.exit(worst >= LIMIT_MB)


if __name__ == "__main__":
    main()
