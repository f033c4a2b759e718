"""VELA in the picture-book world, several ways to its features; writes docs/vela.md.

    python -m scripts.research.vela.picture_book BOOK
    python -m scripts.research.vela.book BOOK OUT --cache features.sqlite [--write]

The language model is the bundled reviser's, which knows the world's words; the tower the bundled
critic's. Weight decay, patience and features were chosen by τ-c on the validation scenes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click
import numpy as np

from revise_captions.io.readers import open_rows
from revise_captions.io.rows import Row
from revise_captions.metrics import MetricInput, StoredImage, load_metric, scored
from revise_captions.records import ImageRef
from revise_captions.reviser.load import BUNDLED as REVISER
from revise_captions.stats.correlations import correlation
from revise_captions.stats.paired_tests import measured
from revise_captions.vela.training.run import VelaJob, run
from revise_captions.vela.training.settings import VelaSettings
from scripts.research.markdown import write_to_pages

ROOT = Path(__file__).resolve().parents[3]
AXES = ("descriptiveness", "relevance")
_CHOSEN = VelaSettings(weight_decay=1.0, patience=2, epochs=30)
_READER = str(REVISER)
#: Options of `VelaJob`, and how many of the training captions.
WAYS: Mapping[str, tuple[Mapping[str, Any], int]] = {
    "R2C alone": ({"language": _READER, "pair": "none"}, 3000),
    "`#late` alone": ({"language": "none", "pair": "bundled#late"}, 1200),
    "R2C and `#late`": ({"language": _READER, "pair": "bundled#late"}, 1200),
    "`#early` alone": ({"language": "none", "pair": "bundled#early"}, 1200),
    "R2C and `#early`": ({"language": _READER, "pair": "bundled#early"}, 1200),
    "`#verdict` alone, the paper's settings": (
        {"language": "none", "pair": "bundled#verdict", "settings": VelaSettings()},
        3000,
    ),
    "`#verdict` alone": ({"language": "none", "pair": "bundled#verdict"}, 3000),
    "R2C and `#verdict`": ({"language": _READER, "pair": "bundled#verdict"}, 3000),
    "`#verdict` alone, more captions": ({"language": "none", "pair": "bundled#verdict"}, 12000),
}


def rows_of(path: Path) -> list[Mapping[str, Any]]:
    return [row.data for row in open_rows(str(path)).rows() if isinstance(row, Row)]


def fewer(book: Path, out: Path, count: int) -> Path:
    """The data with only the first training captions."""
    folder = out / f"first-{count}"
    folder.mkdir(exist_ok=True)
    if not (folder / "images").is_symlink():
        (folder / "images").symlink_to((book / "images").resolve())
    for split in ("train", "validation", "test"):
        lines = (book / f"{split}.jsonl").read_text(encoding="utf-8").splitlines()
        kept = lines[:count] if split == "train" else lines
        (folder / f"{split}.jsonl").write_text("\n".join(kept) + "\n", encoding="utf-8")
    return folder


def floors(book: Path) -> dict[str, list[float]]:
    """What needs no training: caption length, and the critic's mean P(factual)."""
    rows = rows_of(book / "test.jsonl")
    inputs = [MetricInput(r["caption"], StoredImage(ImageRef(path=r["image"]), book)) for r in rows]
    found = scored(load_metric("critic"), inputs)
    return {
        "floor: caption length": [float(len(r["caption"].split())) for r in rows],
        "floor: mean P(factual) of the critic": [s.value or 0.0 for s in found],
    }


def cells(scores: list[float], rows: list[Mapping[str, Any]], axis: str) -> str:
    found = measured(
        partial(correlation, "kendall-c"),
        np.array(scores),
        np.array([row["scores"][axis] for row in rows]),
        [row["image"] for row in rows],
        500,
    )
    return f"{found.value:.3f} ({found.low:.3f}–{found.high:.3f})"


@click.command(help=__doc__.splitlines()[0])
@click.argument("book", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option("--cache", required=True, type=click.Path(path_type=Path, dir_okay=False))
@click.option("--write", is_flag=True, help="Put the table into docs/vela.md.")
def main(book: Path, out: Path, cache: Path, write: bool) -> None:
    out.mkdir(parents=True, exist_ok=True)
    rows = rows_of(book / "test.jsonl")
    job = VelaJob(
        book, out, cache=cache, device="cpu", dtype="float32", settings=_CHOSEN, replicates=100,
        force=True,
    )  # fmt: skip
    title = f"{len(rows)} captions of {len({row['image'] for row in rows})} held-out scenes"
    lines = [
        f"| {title}, τ-c | descriptiveness | relevance | trained on |",
        "| --- | --- | --- | --- |",
    ]
    for name, values in floors(book).items():
        lines.append(f"| {name} | {' | '.join(cells(values, rows, axis) for axis in AXES)} | – |")
    for number, (name, (options, count)) in enumerate(WAYS.items()):
        folder = out / str(number)
        data = fewer(book, out, count)
        run(replace(job, data=data, out=folder, **options), lambda line: click.echo(line, err=True))
        found = []
        for axis in AXES:
            text = (folder / "training" / f"test-{axis}.jsonl").read_text(encoding="utf-8")
            scores = {row["id"]: row["score"] for row in map(json.loads, text.splitlines())}
            found.append(cells([scores[row["id"]] for row in rows], rows, axis))
        lines.append(f"| {name} | {' | '.join(found)} | {count:,} captions |")
    table = "\n".join(lines)
    click.echo(table)
    if write:
        write_to_pages(ROOT, {"vela book": table})


if __name__ == "__main__":
    main()
