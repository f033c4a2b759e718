"""Hostile input for the commands beside the main one; `fuzz.py` runs these kinds, too.

Each command either does its work, counting what it cannot use, or ends in one line with status 2.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from revise_captions.pipelines.annotate import cli as annotate
from revise_captions.pipelines.metrics import cli as metrics
from revise_captions.pipelines.rating import cli as rating
from revise_captions.posh import cli as posh
from scripts.checks import hostile
from scripts.checks.fuzzing import (
    DAMAGED,
    FIELDS,
    Broken,
    command,
    lines_of,
    mixed,
    program,
    quarantined,
    sign,
)


def scores(rng: random.Random, good: list[bytes]) -> int:
    """`captions posh`: each line of IN is in OUT or in the quarantine, once and in order."""
    texts = (hostile.CAPTION, "A dog.", hostile.text(rng), rng.choice(hostile.TEXTS)[:2000])
    rows: list[Any] = [
        {"generation": rng.choice(texts), "reference": rng.choice((hostile.CAPTION, "A red dog."))}
        for _ in range(rng.randint(3, 12))
    ]
    for row in rng.sample(rows, 2):
        row[rng.choice(tuple(row))] = hostile.value(rng)
    lines = [json.dumps(row).encode() for row in rows]
    lines += [hostile.mutated(rng, rng.choice(lines)) for _ in range(3)]
    lines += rng.sample(hostile.CORPUS, 5)
    lines = [line.replace(b"\n", b" ") for line in lines if line.strip()]
    rng.shuffle(lines)
    Path("in.jsonl").write_bytes(b"\n".join(lines))
    options = rng.choice(([], ["--html", "scores.html"]))
    command("in.jsonl", "out.jsonl", *options, main=program(posh.score_posh))
    written = [json.loads(line)["line"] for line in lines_of(Path("out.jsonl"))]
    bad = [row["line"] for row in quarantined(Path("out.jsonl"))]
    numbers = sorted(written + bad)
    if written != sorted(written) or numbers != list(range(1, len(lines) + 1)):
        raise Broken(f"{len(lines)} lines in, out {written}, in quarantine {bad}")
    return len(numbers)


def board(rng: random.Random, good: list[bytes]) -> int:
    """`captions rate`: judged rows that were tampered with, and rows that it judges itself."""
    named = [_with(row, model=rng.choice(("a", "b", "c"))) for row in good]
    Path("in.jsonl").write_bytes(b"\n".join(named))
    command("in.jsonl", "judged.jsonl", *FIELDS, "--stage", "critique")
    judged = lines_of(Path("judged.jsonl"))
    bad = [hostile.hostile_revision(rng, row) for row in rng.sample(judged, 3)]
    bad += [hostile.mutated(rng, rng.choice(judged)).replace(b"\n", b" ") for _ in range(2)]
    Path("bad.jsonl").write_bytes(b"\n".join(mixed(rng, judged, bad)))
    rows = mixed(rng, named, [hostile.hostile_row(rng, good) for _ in range(9)])
    Path("new.jsonl").write_bytes(b"\n".join(rows))
    options = ["--out", "board", "--replicates", "100", "--allow-unscored", *FIELDS]
    sign("judged.jsonl", "bad.jsonl")
    command("bad.jsonl", *options, allowed=DAMAGED, main=program(rating.rate_captions))
    command("X=new.jsonl", *options, allowed=DAMAGED, main=program(rating.rate_captions))
    return len(rows) + len(judged)


def metric(rng: random.Random, good: list[bytes]) -> int:
    """`captions evaluate-metric`: hostile scores, and a hostile benchmark."""
    import rated

    entries = [json.dumps(entry).encode() for entry in rated.captions()]
    scored = [
        json.dumps({"id": entry["id"], "score": rng.random()}).encode()
        for entry in rated.captions()
    ]
    spoilt = [_spoiled(rng, row) for row in scored]
    folder = Path("benchmark")
    folder.mkdir()
    (folder / "captions.jsonl").write_bytes(b"\n".join(entries))
    for name, rows in (("one", spoilt), ("row", mixed(rng, scored, [rng.choice(spoilt)]))):
        Path(f"{name}.jsonl").write_bytes(b"\n".join(rows))
        options = ["--replicates", "100", f"{name}.jsonl"]
        command(
            "plain", "benchmark", *options, allowed=DAMAGED, main=program(metrics.evaluate_metric)
        )
    entries[rng.randrange(len(entries))] = _spoiled(rng, entries[0])
    (folder / "captions.jsonl").write_bytes(b"\n".join(entries))
    options = ["--replicates", "100", "--floors"]
    command("plain", "benchmark", *options, allowed=DAMAGED, main=program(metrics.evaluate_metric))
    return len(scored) + len(entries)


def answers(rng: random.Random, good: list[bytes]) -> int:
    """`captions annotate`: raters' answers that were tampered with, and a hostile run to export."""
    exported = _exported()
    shutil.copytree(exported, "ask")
    said = json.loads((exported.parent / "answers.json").read_bytes())
    for _ in range(rng.randint(1, 5)):
        hostile.spoil_value(rng, said)
    data = json.dumps(said).encode()
    Path("answers.json").write_bytes(data if rng.random() < 0.7 else hostile.mutated(rng, data))
    options = ["--out", "data", "--replicates", "100"]
    command(
        "import", "ask", "answers.json", *options, allowed=DAMAGED, main=program(annotate.annotate)
    )
    Path("in.jsonl").write_bytes(b"\n".join(good))
    command("in.jsonl", "judged.jsonl", *FIELDS)
    rows = lines_of(Path("judged.jsonl"))
    for number in rng.sample(range(len(rows)), rng.choice((1, 1, 4))):
        rows[number] = hostile.hostile_revision(rng, rows[number])
    Path("run.jsonl").write_bytes(b"\n".join(rows))
    sign("judged.jsonl", "run.jsonl")
    options = ["--size", "20", *FIELDS]
    command(
        "export", "run.jsonl", "tasks", *options, allowed=DAMAGED, main=program(annotate.annotate)
    )
    return len(said) + len(rows)


@cache
def _exported() -> Path:
    """A folder of tasks, with answers beside it."""
    import tempfile

    import annotated

    folder = Path(tempfile.mkdtemp(prefix="fuzz-annotated-"))
    run = annotated.write_run(folder / "run", 6)
    command("export", str(run.path), str(folder / "ask"), main=program(annotate.annotate))
    said = annotated.label_studio(run, folder / "ask", "factuality", raters=3)
    (folder / "answers.json").write_text(json.dumps(said))
    return folder / "ask"


def _with(row: bytes, **more: object) -> bytes:
    return json.dumps({**json.loads(row), **more}).encode()


def _spoiled(rng: random.Random, row: bytes) -> bytes:
    """A row with one value replaced, or bytes changed."""
    if rng.random() < 0.5:
        return hostile.mutated(rng, row).replace(b"\n", b" ")
    data = json.loads(row)
    hostile.spoil_value(rng, data)
    return json.dumps(data).encode()


#: Each returns how many rows it gave to commands.
KINDS: dict[str, Callable[[random.Random, list[bytes]], int]] = {
    "scores": scores,
    "board": board,
    "metric": metric,
    "answers": answers,
}
