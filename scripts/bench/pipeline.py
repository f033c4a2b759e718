"""What the pipeline itself costs: everything but the models and the decoding of images.

    python -m scripts.bench.pipeline [--records 5000] [--profile]

Runs the whole job (read, split, loop, journal, output, tally, report) on captions of seven
sentences with a scripted critic and reviser, once with a seventh of the sentences flagged and
rewritten, once with none, and prints JSON. `per_cpu_second` is what a core of one's own would do.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import io
import json
import os
import platform
import pstats
import random
import tempfile
import time
from pathlib import Path
from typing import Any

from PIL import Image

from revise_captions.critic.protocol import JudgeRequest
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.pipelines.job import models, run
from revise_captions.pipelines.options import JobOptions
from revise_captions.records import Verdict
from revise_captions.reviser.protocol import RewriteRequest
from revise_captions.reviser.scripted import ScriptedReviser
from revise_captions.runs import inputs

SENTENCES = 7
TARGET = 2000.0
WRONG = "floats above"


def write_captions(path: Path, records: int) -> None:
    """Captions of seven sentences, one of them wrong, all different."""
    rng = random.Random(0)
    subjects = ("A brown dog", "The tall house", "A woman in a red coat", "Two birds", "The sun")
    things = ("the old tree", "a wooden fence", "the blue ball", "a bench", "the open door")
    with path.open("w", encoding="utf-8") as file:
        for number in range(records):
            verbs = [WRONG] + ["stands near"] * (SENTENCES - 1)
            rng.shuffle(verbs)
            text = " ".join(f"{rng.choice(subjects)} {v} {rng.choice(things)}." for v in verbs)
            row = {"id": number, "image": "none.png", "caption": text, "model": number % 3}
            file.write(json.dumps(row) + "\n")


def judge(paragraph: JudgeRequest, index: int) -> Verdict:
    wrong = WRONG in paragraph.spans[index].of(paragraph.text)
    return Verdict(0.1 if wrong else 0.9, assessable=True)


def rewrite(request: RewriteRequest) -> str:
    return request.sentence.replace(WRONG, "stands near")


def measure(folder: Path, records: int, flagged: bool, profile: bool) -> dict[str, Any]:
    """One run in this process. Wall and processor seconds, model loading excluded."""
    critic = ScriptedCritic(judge if flagged else {}, lambda claim: "It stands near it.")
    picture = Image.new("RGB", (64, 64))
    replaced: list[tuple[object, str, Any]] = [
        (models, "load_critic_of", lambda options: critic),
        (models, "load_reviser_of", lambda options: ScriptedReviser(rewrite)),
        (inputs, "load_image", lambda *given, **options: picture),
    ]
    for module, name, value in replaced:
        setattr(module, name, value)
    name = "flagged" if flagged else "plain"
    out, report = str(folder / f"{name}.jsonl"), folder / f"{name}.html"
    options = JobOptions.of(
        {"source": str(folder / "in.jsonl"), "out": out, "report": report, "group_by": "model"}
    )
    profiler = cProfile.Profile()
    wall, cpu = time.perf_counter(), time.process_time()
    with contextlib.redirect_stdout(io.StringIO()):
        summary = profiler.runcall(run.run, options) if profile else run.run(options)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(30)
    sentences = summary["sentences"]
    return {
        "flagged_sentences": sentences["flagged"],
        "accepted_rewrites": sentences["accepted"],
        "seconds": round(wall, 2),
        "cpu_seconds": round(cpu, 2),
        "records_per_second": round(records / wall, 1),
        "records_per_cpu_second": round(records / cpu, 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=int, default=5000)
    parser.add_argument("--profile", action="store_true", help="also print where the time went")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_captions(folder / "in.jsonl", given.records)
        figures = {
            "records": given.records,
            "sentences_per_record": SENTENCES,
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "target_records_per_second": TARGET,
            "one_in_seven_flagged": measure(folder, given.records, True, given.profile),
            "none_flagged": measure(folder, given.records, False, given.profile),
        }
    print(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
