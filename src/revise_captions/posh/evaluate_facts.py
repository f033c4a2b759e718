"""FaithScore's facts, each judged against the five captions and the object boxes of its image.

A fact is supported as far as the least of its claims is described, as its words are among the
captions', and as the boxes allow. The boxes are complete for their 80 categories (COCO), so a fact
that names another of these, or another number, is contradicted, where captions only are silent.

What was tried, as ROC-AUC over the 653 facts here (14 images), floors .734 (stems that some
reference has) and .624 (cosine under the same encoder): the least grade alone .714, with a value's
own likeness .727; likeness word by word instead of stems .738; the least grade and stems .754;
with absent categories .783; with numbers .791; a logistic regression on all of these, each image
predicted by the others, .759. Of the facts whose objects no reference names, 63 % are true ("there
are trees"), and neither how common the thing is (.46) nor how like the captions (.51 to .53) tells
which: without the image the target of .85 is out of reach.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import numpy as np

from revise_captions.graphs import words
from revise_captions.graphs.graph import Graph, Kind
from revise_captions.graphs.parse import parse
from revise_captions.graphs.triples import lemmas
from revise_captions.posh.evaluate_people import Floats, Rated, stems
from revise_captions.posh.judge import LEAST, MOST, Judge, Task

Boxes = Mapping[str, Counter[str]]
#: COCO's categories (Lin et al. 2014).
CATEGORIES = words.listed(
    "person bicycle car motorcycle airplane bus train truck boat traffic_light fire_hydrant "
    "stop_sign parking_meter bench bird cat dog horse sheep cow elephant bear zebra giraffe "
    "backpack umbrella handbag tie suitcase frisbee ski snowboard sports_ball kite "
    "baseball_bat baseball_glove skateboard surfboard tennis_racket bottle wine_glass cup "
    "fork knife spoon bowl banana apple sandwich orange broccoli carrot hot_dog pizza donut "
    "cake chair couch potted_plant bed dining_table toilet tv laptop mouse remote keyboard "
    "cell_phone microwave oven toaster sink refrigerator book clock vase scissors teddy_bear "
    "hair_drier toothbrush "
)
_SYNONYMS = {
    "bike": "bicycle", "motorbike": "motorcycle", "scooter": "motorcycle", "moped": "motorcycle",
    "plane": "airplane", "jet": "airplane", "aeroplane": "airplane", "doughnut": "donut",
    "sofa": "couch", "television": "tv", "phone": "cell phone", "cellphone": "cell phone",
    "fridge": "refrigerator", "purse": "handbag", "luggage": "suitcase", "skis": "ski",
}  # fmt: skip


def faithscore(folder: Path) -> tuple[list[Rated], Boxes]:
    """Facts with 1 (supported) or 0, their references the captions; boxes counted by image."""
    references: dict[str, tuple[str, ...]] = {}
    boxes: dict[str, Counter[str]] = {}
    with (folder / "captions_boxes.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            boxes[row["id"]] = Counter(box["category"] for box in row["instances"])
            references[row["id"]] = (*row["captions"], boxes_as_text(boxes[row["id"]]))
    found = []
    with (folder / "annotation.jsonl").open(encoding="utf-8") as lines:
        for row in map(json.loads, lines):
            for fact, label in row["stage 2"].items():
                if row["id"] in references:
                    found.append(Rated(row["id"], fact, references[row["id"]], (float(label),)))
    return found, boxes


_NUMBERS = {2: "two", 3: "three", 4: "four", 5: "five", 6: "six", 7: "seven", 8: "eight"}


def boxes_as_text(counts: Mapping[str, int]) -> str:
    """ "There is a dog. There are two chairs." """
    lines = []
    for name, count in counts.items():
        many = f"{_NUMBERS.get(count, 'many')} {name}{'es' if name.endswith('s') else 's'}"
        lines.append(f"There is a {name}." if count == 1 else f"There are {many}.")
    return " ".join(lines)


def containment(items: Sequence[Rated]) -> Floats:
    """The share of a text's stems that some reference has."""
    found = []
    for item in items:
        own = stems(item.text)
        known = frozenset[str]().union(*(stems(r) for r in item.references))
        found.append(len(own & known) / max(1, len(own)))
    return np.array(found)


def least(items: Sequence[Rated], judge: Judge, pipeline: str) -> Floats:
    """The lowest grade of a fact's components, from 0 to 1; one half where it has none."""
    graphs = graphs_of(items, pipeline)
    tasks = [
        Task(graphs[item.text], tuple(graphs[r] for r in item.references), precision=True)
        for item in items
    ]
    found = []
    for grades in judge.grade(tasks):
        scores = [grade.score for grade in grades if grade.score is not None]
        found.append((min(scores) - LEAST) / (MOST - LEAST) if scores else 0.5)
    return np.array(found)


def support(items: Sequence[Rated], boxes: Boxes, judge: Judge, pipeline: str) -> Floats:
    """The sum of a fact's least grade, its words that are known, and 1 if no box is against it."""
    graphs = graphs_of(items, pipeline)
    allowed = [float(not contradicted(graphs[i.text], i.references, boxes[i.image])) for i in items]
    return least(items, judge, pipeline) + containment(items) + np.array(allowed)


def graphs_of(items: Sequence[Rated], pipeline: str) -> dict[str, Graph]:
    texts = list(dict.fromkeys(t for item in items for t in (item.text, *item.references)))
    return dict(zip(texts, (g.present() for g in parse(texts, pipeline)), strict=True))


@cache
def category(name: str) -> str:
    """The category that an object belongs to; "" for none."""
    whole = lemmas(name)
    last = whole.rpartition(" ")[2]
    for one in (whole, last):
        one = _SYNONYMS.get(one, one)
        if one.replace(" ", "_") in CATEGORIES:
            return one
    return "person" if last in words.PERSONS else ""


def contradicted(graph: Graph, captions: Sequence[str], boxes: Mapping[str, int]) -> bool:
    """Whether a fact's graph names a category, or a number of one, that is not in the picture.

    A category that a caption names is there, whatever the boxes say.
    """
    there = {category(name): count for name, count in boxes.items()}
    said = frozenset[str]().union(*(stems(caption) for caption in captions))
    for item in graph.objects:
        one = category(item.name)
        if one and one not in there and lemmas(item.lemma).rpartition(" ")[2] not in said:
            return True
    return any(
        there.get(category(graph.objects[item.object].name), int(item.value)) != int(item.value)
        for item in graph.attributes
        if item.kind is Kind.COUNT and item.value.isdigit()
    )
