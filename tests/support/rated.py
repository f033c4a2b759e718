"""A benchmark small enough to work by hand, and scores of its captions."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from revise_captions.pipelines.metrics.evaluate import as_text, evaluate
from revise_captions.pipelines.metrics.options import EvaluationOptions

CAPTION = "It is red. It is big."
#: (captioner, labels of the two sentences, score by people) of images 1, 2, …
ROWS = {
    "good": [("ff", 5), ("ff", 4), ("fn", 4), ("ff", 5), ("ff", 3), ("ff", 5)],
    "fair": [("fn", 3), ("ff", 4), ("fn", 2), ("nf", 3), ("ff", 3), ("fn", 2)],
    "poor": [("nn", 1), ("fn", 2), ("nn", 1), ("nn", 2), ("nf", 1), ("nn", 1)],
}


def write(path: Path, rows: list[dict[str, object]]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def captions() -> list[dict[str, object]]:
    return [
        {
            "id": f"{captioner}-{image}", "image": f"{image}.png", "model": captioner,
            "caption": CAPTION,
            "sentences": [
                {"start": start, "end": end,
                 "label": "factual" if label == "f" else "nonfactual"}
                for (start, end), label in zip(((0, 10), (11, 21)), labels, strict=True)
            ],
            "scores": [{"axis": "quality", "value": score + by, "rater": str(by)} for by in (0, 1)],
        }
        for captioner, of_images in ROWS.items()
        for image, (labels, score) in enumerate(of_images, start=1)
    ]  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "captions.jsonl", captions())
    return tmp_path


def figures(found, **wanted):
    return [
        figure
        for figure in found["figures"]
        if all(figure[key] == value for key, value in wanted.items())
    ]


def value(found, **wanted):
    (figure,) = figures(found, **wanted)
    return figure["value"]


def run(folder: Path, *scores: Path | str, only: tuple[str, ...], **more):
    job = EvaluationOptions("plain", folder, tuple(map(str, scores)), only, replicates=100, **more)
    found = evaluate(job)
    as_text(found)
    return found


def oracle(folder: Path, wrong: float = 0.2, right: float = 0.9) -> Path:
    """Scores of every sentence that follow the labels."""
    rows = [
        {"id": row["id"], "sentence": k, "score": right if s["label"] == "factual" else wrong}
        for row in captions()
        for k, s in enumerate(row["sentences"])
    ]
    return write(folder / "oracle.jsonl", rows)


def scores_csv(folder: Path) -> Path:
    """A metric: the people's mean, but 0.5 lower for the images 1 to 3."""
    path = folder / "metric.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "score"])
        for captioner, rows in ROWS.items():
            for image, (_, score) in enumerate(rows, start=1):
                writer.writerow([f"{captioner}-{image}", score + (0 if image <= 3 else 0.5)])
    return path
