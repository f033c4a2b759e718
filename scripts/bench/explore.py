"""How long the explorer takes to open a large run: at first, and once it is indexed.

    python -m scripts.bench.explore [--records 100000] [--write]

Writes a run of made-up captions of seven sentences, one of them wrong and rewritten, builds its
index, and then opens it again and asks for pages. `--write` puts the table into
docs/measurements/exploring.md.
"""

from __future__ import annotations

import json
import os
import platform
import random
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from revise_captions.pipelines.explore.index import RunFile, open_index
from revise_captions.pipelines.explore.query import Query
from revise_captions.pipelines.explore.session import ExploreOptions, open_session
from revise_captions.pipelines.explore.views import ExploreViews
from scripts.bench.pipeline import SENTENCES, WRONG, write_captions
from scripts.research.frame.blocks import write_to_pages

ROOT = Path(__file__).resolve().parents[2]
SIGNATURE = "critic:made-up|reviser:made-up|threshold:0.5|revise-captions:0"
_NOTHING: dict[str, Any] = {
    "label": "factual", "reason": None, "assessable": True, "share": 1.0, "rationale": None,
    "rewrite": None, "accepted": None, "why": None, "reason_after": None, "dropped": False,
    "attempts": [], "fixes": [],
}  # fmt: skip


def write_run(path: Path, records: int) -> None:
    """A run as revise-captions writes it."""
    captions, rng = path.with_name("in.jsonl"), random.Random(0)
    write_captions(captions, records)
    with captions.open() as given, path.open("w") as out:
        for line in given:
            row = json.loads(line)
            out.write(json.dumps(row | _revised(row["caption"], rng)) + "\n")
    captions.unlink()


def _revised(caption: str, rng: random.Random) -> dict[str, Any]:
    sentences, start = [], 0
    for text in caption.split(". "):
        text = text.rstrip(".") + "."
        p = round(rng.random() * 0.4, 4) if WRONG in text else round(1 - rng.random() * 0.4, 4)
        found = _NOTHING | {"span": [start, start + len(text)], "p_factual": p, "p_after": p}
        if WRONG in text:
            rewrite = text.replace(WRONG, "stands near")
            attempt = {"text": rewrite, "accepted": True, "round": 1, "p_before": p}
            attempt |= {"why": "judged factual, and better than before", "warning": ""}
            found |= {"label": "nonfactual", "rationale": "It stands near it.", "p_after": 0.9}
            found |= {"rewrite": rewrite, "accepted": True, "why": attempt["why"]}
            found["attempts"] = [attempt | {"p_after": 0.9}]
        sentences.append(found)
        start += len(text) + 1
    revision = {"signature": SIGNATURE, "threshold": 0.5, "rounds": 1, "sentences": sentences}
    return {"revised_caption": caption.replace(WRONG, "stands near"), "revision": revision}


def timed(work: Callable[[], object]) -> tuple[str, str]:
    """Seconds on the clock, and of the processor: others may use the machine."""
    start, used = time.perf_counter(), time.process_time()
    work()
    spent = (time.perf_counter() - start, time.process_time() - used)
    return f"{spent[0]:.2f} s", f"{spent[1]:.2f} s"


def measure(folder: Path, records: int) -> list[tuple[str, str, str]]:
    os.environ["XDG_CACHE_HOME"] = str(folder / "cache")
    run = folder / "revised.jsonl"
    write_run(run, records)
    file = RunFile(str(run))
    first = timed(lambda: open_index(file))
    views: list[ExploreViews] = []

    def open_again() -> None:
        views.append(ExploreViews(open_session(ExploreOptions(file))))
        views[0].captions(Query())

    rows = [("first start: reading and indexing", *first)]
    rows.append(("a later start, up to the first page", *timed(open_again)))
    last = records // 20
    for name, query in (
        ("worst first", Query(sort="worst")),
        ("least sure first, the last page", Query(sort="unsure", page=last)),
        ("one model, most changed first", Query(sort="changed", model="1")),
        ("one kind of error", Query(kind="other")),
        ("left to decide, most to gain first", Query(only="undecided", sort="gain")),
        ("search", Query(q="woman in a red coat floats above the old tree")),
    ):
        rows.append((f"a page: {name}", *timed(partial(views[0].captions, query))))
    against = ExploreOptions(file, against=str(run))
    rows.append(("a start beside another indexed run", *timed(lambda: open_session(against))))
    size = sum(p.stat().st_size for p in (folder / "cache").rglob("*.sqlite")) / 1e6
    sizes = ("run, and index", f"{run.stat().st_size / 1e6:.0f} MB", f"{size:.0f} MB")
    return [*rows, sizes]


@click.command(help=(__doc__ or "").splitlines()[0])
@click.option("--records", default=100_000, show_default=True)
@click.option("--write", is_flag=True, help="Into docs/measurements/exploring.md.")
def main(records: int, write: bool) -> None:
    with tempfile.TemporaryDirectory() as folder:
        rows = measure(Path(folder), records)
    what = f"{records:,} captions of {SENTENCES} sentences"
    lines = [f"| {what} | wall time | one {platform.machine()} core |", "| --- | --- | --- |"]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    block = "\n".join([*lines, "", "Command: `python -m scripts.bench.explore`."])
    click.echo(block)
    if write:
        write_to_pages(ROOT, {"explore": block})


if __name__ == "__main__":
    main()
