"""How fast captions become graphs, and in how much memory: in a process of its own, on one core.

    python -m scripts.research.posh.speed FOLDER PIPELINE SECONDS

prints captions of 120 words per second of processor time, and the most memory held, in MiB.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from revise_captions.process_memory import peak_memory
from scripts.research.frame.figures import ReportedFigure

_WORDS = 120
_WARM = 64


def speed(folder: Path, pipeline: str, seconds: float = 20) -> Iterator[ReportedFigure]:
    """The two figures, measured in a new process. `folder` holds captions of large models."""
    command = [sys.executable, "-m", __spec__.name if __spec__ else __name__]
    done = subprocess.run(
        [*command, str(folder), pipeline, str(seconds)], check=True, capture_output=True, text=True
    )
    rate, peak = json.loads(done.stdout)
    yield ReportedFigure("captions of 120 words a second, on one core", rate, target=50, digits=1)
    yield ReportedFigure("memory of that process, MiB", peak, target=400, digits=0, at_most=True)


def captions(folder: Path) -> Iterator[str]:
    """From `mplug.json` and `minigpt-4.json`: one object a line."""
    for name in ("mplug.json", "minigpt-4.json"):
        if not (folder / name).is_file():
            continue
        with (folder / name).open(encoding="utf-8") as lines:
            for row in map(json.loads, lines):
                for key in ("caption", "text", "answer", "response", "output"):
                    if isinstance(row.get(key), str):
                        yield row[key]
                        break


def measure(folder: Path, pipeline: str, seconds: float) -> tuple[float, float]:
    from revise_captions.graphs.parse import parse

    texts = list(captions(folder))
    for _ in parse(texts[:_WARM], pipeline):
        pass
    rest, words = cycle(texts), 0
    used = time.process_time()
    while time.process_time() - used < seconds:
        part = list(islice(rest, _WARM))
        for _ in parse(part, pipeline):
            pass
        words += sum(len(text.split()) for text in part)
    rate = words / _WORDS / (time.process_time() - used)
    return rate, peak_memory() / 2**20


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="with mplug.json and minigpt-4.json")
    parser.add_argument("pipeline")
    parser.add_argument("seconds", type=float)
    given = parser.parse_args()
    print(json.dumps(measure(given.folder, given.pipeline, given.seconds)))
