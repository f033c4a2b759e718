"""FaithScore's facts, each judged against the five captions and the object boxes of its image.

Nothing is learnt from them; `posh/README.md` has what was tried.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from revise_captions.posh.judge import LEAST, MOST, GradingTask, Judge
from scripts.research.posh.boxes import Box
from scripts.research.posh.claims import (
    ImageClaim,
    check_claims,
    graphs_of,
    references,
    stems,
)
from scripts.research.posh.people import Floats, Rated


def faithscore(folder: Path) -> tuple[list[Rated], list[ImageClaim]]:
    """Facts with 1 (supported) or 0, and the same as claims. References are captions and boxes."""
    captions: dict[str, tuple[str, ...]] = {}
    boxes: dict[str, tuple[Box, ...]] = {}
    with (folder / "captions_boxes.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            captions[row["id"]] = tuple(row["captions"])
            boxes[row["id"]] = tuple(Box(b["category"], *b["bbox"]) for b in row["instances"])
    items, claims = [], []
    with (folder / "annotation.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            if row["id"] not in captions:
                continue
            for fact, label in row["stage 2"].items():
                claim = ImageClaim(fact, captions[row["id"]], boxes[row["id"]])
                claims.append(claim)
                items.append(Rated(row["id"], fact, references(claim), (float(label),)))
    return items, claims


def containment(items: Sequence[Rated]) -> Floats:
    """The share of a text's stems that some reference has."""
    found = []
    for item in items:
        own = stems(item.text)
        known = frozenset[str]().union(*(stems(r) for r in item.references))
        found.append(len(own & known) / max(1, len(own)))
    return np.array(found)


def least(claims: Sequence[ImageClaim], judge: Judge, pipeline: str) -> Floats:
    """The lowest grade of a fact's components, from 0 to 1; one half where it has none."""
    graphs = graphs_of(claims, pipeline)
    tasks = [
        GradingTask(graphs[c.text], tuple(graphs[r] for r in references(c)), precision=True)
        for c in claims
    ]
    found = []
    for grades in judge.grade(tasks):
        scores = [grade.score for grade in grades if grade.score is not None]
        found.append((min(scores) - LEAST) / (MOST - LEAST) if scores else 0.5)
    return np.array(found)


def supported(claims: Sequence[ImageClaim], judge: Judge, pipeline: str) -> Floats:
    return np.array([found.score for found in check_claims(claims, judge, pipeline)])
