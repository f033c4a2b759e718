"""Memory that hostile files take, and how a long run ends, through the whole command.

    python -m scripts.checks.memory                       # 100,000 records
    python -m scripts.checks.memory --records 1000000     # some minutes on an idle machine
    python -m scripts.checks.memory --bundled             # images alone, with the bundled models

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


#: For the bundled models: the images of a file, by what they are.
BUNDLED = {
    "one image of 64² pixels": ("small", 1),
    "one 1-bit PNG of 9,000²": ("bits", 1),
    "four of them": ("bits", 4),
    "six images of 1,224²": ("middle", 6),
    "six times a PNG of 9,459² at 16 bits": ("bomb", 6),
}


def bundled_peak(folder: Path, image: str, count: int) -> float:
    """The peak in MB of the command with both experts, on one caption for each of the images."""
    path = folder / "image.png"
    if image == "bomb":
        path.write_bytes(bombs.png_bomb())
    else:
        mode, side = {"small": ("RGB", 64), "bits": ("1", 9000), "middle": ("L", 1224)}[image]
        Image.new(mode, (side, side)).save(path)
    row = json.dumps({"image": "image.png", "caption": "A dog stands near the tree."})
    (folder / "in.jsonl").write_text(f"{row}\n" * count)
    code = "from revise_captions.pipelines.cli import main; main()"
    command = [sys.executable, "-c", code, "in.jsonl", "out.jsonl", "--allow-unscored"]
    with (folder / "said").open("wb") as said:
        run = subprocess.Popen(command, cwd=folder, stdout=said, stderr=said)
        _, status, used = os.wait4(run.pid, 0)
    run.returncode = os.waitstatus_to_exitcode(status)
    if run.returncode not in (0, 4):
        raise SystemExit((folder / "said").read_text())
    return used.ru_maxrss * 1024 / 1e6


@click.command(help=(__doc__ or "").partition("\n")[0])
@click.option("--records", default=100_000, show_default=True, help="Of the long run.")
@click.option("--bundled", is_flag=True, help="Measure images with the bundled models instead.")
def main(records: int, bundled: bool) -> None:
    if bundled:
        click.echo("| input | peak, MB |\n| --- | --- |")
        for name, (image, count) in BUNDLED.items():
            with tempfile.TemporaryDirectory() as folder:
                click.echo(f"| {name} | {bundled_peak(Path(folder), image, count):,.0f} |")
        return
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
