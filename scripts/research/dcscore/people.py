"""DCScore against people, without looking at images: Flickr8k-Expert, ImageInWords pairs.

Reference-only, as no verifier for photographs works offline: a unit is true where a reference says
it. TIFA's texts have no references, so that they cannot be scored so.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import numpy as np

from revise_captions.dcscore.graph_decomposer import GraphDecomposer
from revise_captions.dcscore.offline_matcher import OfflineMatcher
from revise_captions.dcscore.scorer import CaptionScorer, CaptionTask, ScoredCaption
from revise_captions.posh.offline_judge import OfflineJudge
from revise_captions.text.sentence_encoder import SentenceEncoder, load_encoder
from scripts.research.posh import people
from scripts.research.posh.figures import ReportedFigure, share_of

#: Table 1 of the paper: another data set (500 captions), GPT-4o at every step.
PEERS = "DCScore with GPT-4o on its own 500 captions .533 (τ), PCC .661"
_WINDOW = 256
#: Images of Flickr8k that are scored, the first ones of the file: all take some ten minutes.
IMAGES = 60


def scorer_of(encoder: SentenceEncoder) -> CaptionScorer:
    return CaptionScorer(GraphDecomposer(), OfflineMatcher(encoder), None)


def scored(scorer: CaptionScorer, tasks: Sequence[CaptionTask]) -> list[ScoredCaption]:
    """A window at a time."""
    found: list[ScoredCaption] = []
    for start in range(0, len(tasks), _WINDOW):
        found += scorer.score(tasks[start : start + _WINDOW])
    return found


def flickr8k(folder: Path) -> Iterator[ReportedFigure]:
    """Kendall's τ-c over all ratings, beside POSH, cosine and length."""
    encoder = load_encoder(device="cpu")
    every = people.flickr8k(folder / "flickr8k_expert.json")
    images = set(list(dict.fromkeys(item.image for item in every))[:IMAGES])
    items = [item for item in every if item.image in images]
    ours = scored(scorer_of(encoder), [CaptionTask(i.text, None, i.references) for i in items])
    values: dict[str, Iterable[float | None]] = {
        "DCScore F, reference-only": [one.score.value for one in ours],
        "DCScore s_p, reference-only": [one.score.all.precision for one in ours],
        "POSH, offline": people.overall(items, OfflineJudge(encoder), "bundled"),
        "cosine to the best reference": people.cosine(items, encoder),
        "length": [len(item.text.split()) for item in items],
    }
    for name, scores in values.items():
        known = np.array([0.0 if value is None else value for value in scores], np.float64)
        yield people.figure(
            f"Flickr8k-Expert τ-c: {name}",
            items,
            known,
            people.tau_c,
            peers=PEERS if name.startswith("DCScore F") else "",
            note=f"{IMAGES} images",
        )


def imageinwords(path: Path) -> Iterator[ReportedFigure]:
    """Which of two long captions people prefer; the reference are descriptions of the objects."""
    with path.open(encoding="utf-8") as lines:
        rows = [row for row in map(json.loads, lines) if row.get("iiw-human-sxs-iiw-p5b")]
    tasks = []
    for row in rows:
        reference = (" ".join(item["description"] for item in row["objects"]),)
        tasks += [CaptionTask(row[name], None, reference) for name in ("IIW", "IIW-P5B")]
    found = scored(scorer_of(load_encoder(device="cpu")), tasks)
    for axis, name in (("Comprehensiveness", "s_r"), ("Hallucination", "s_p")):
        right, longer = [], []
        for k, row in enumerate(rows):
            label = people.preference(row["iiw-human-sxs-iiw-p5b"][f"metrics/{axis}"])
            if not label:
                continue
            counts = [one.score.all for one in found[2 * k : 2 * k + 2]]
            values = [(c.recall if name == "s_r" else c.precision) or 0.0 for c in counts]
            right.append(float(np.sign(values[0] - values[1]) == label))
            longer.append(float(np.sign(len(row["IIW"]) - len(row["IIW-P5B"])) == label))
        yield share_of(
            f"ImageInWords pairs, {axis} by {name}, reference-only",
            right,
            floor=longer,
            floor_name="the longer text",
        )
