"""How fast captions are taken apart, on one core: words per second of processor time.

python -m scripts.research.dcscore.speed FOLDER SECONDS
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import cycle, islice
from pathlib import Path

from scripts.research.posh.figures import ReportedFigure

_BATCH = 32


def speed(folder: Path, seconds: float = 15) -> Iterator[ReportedFigure]:
    """Measured in a new process with one thread."""
    command = [sys.executable, "-m", "scripts.research.dcscore.speed", str(folder), str(seconds)]
    one = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=one)
    rate = float(done.stdout)
    yield ReportedFigure("words decomposed a second, on one core", rate, target=120, digits=0)


def measure(folder: Path, seconds: float) -> float:
    """Words a second, after a warm-up."""
    from revise_captions.dcscore.graph_decomposer import GraphDecomposer

    with (folder / "oracle_facts.jsonl").open(encoding="utf-8") as lines:
        texts = [json.loads(line)["oracle_caption"] for line in lines]
    decomposer = GraphDecomposer()
    decomposer.decompose(texts[:_BATCH])
    rest, words = cycle(texts[_BATCH:]), 0
    used = time.process_time()
    while time.process_time() - used < seconds:
        part = list(islice(rest, _BATCH))
        decomposer.decompose(part)
        words += sum(len(text.split()) for text in part)
    return words / (time.process_time() - used)


if __name__ == "__main__":
    print(measure(Path(sys.argv[1]), float(sys.argv[2])))
