"""A run over picture-book captions whose truth is known, and raters who answer about it.

The raters see what a task shows; what is true of it comes from the oracle, so that everything that
an import finds can be held against the scenes themselves.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.picturebook.raters import rate
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import Scene
from revise_captions.pipelines.annotate.tasks.units import Unit, read_key
from revise_captions.pipelines.draft import compose
from revise_captions.pipelines.output.schema import to_json
from revise_captions.records import Attempt, Rationale, Revision, Sentence, Verdict, Why

THRESHOLD = 0.5
NONSENSE = "The paper is made of cheese."
CLAIMS = ("It is clear.", "It is rainy.", "It is snowy.", "It is night.", "It is day.")


@dataclass(frozen=True)
class Run:
    """`path`: the file that a run would have written. `scenes` by line, from 1."""

    path: Path
    scenes: Mapping[int, Scene]
    rows: list[dict[str, Any]]


def write_run(folder: Path, scenes: int = 40, seed: int = 0) -> Run:
    """A run of one caption a scene: a fallible critic, rationales and rewrites good and bad."""
    rng = random.Random(seed)
    (folder / "pictures").mkdir(parents=True)
    known, rows = {}, []
    for number in range(scenes):
        scene = known[number + 1] = sample_scene(number, "test")
        name = f"pictures/{number}.png"
        noise = np.random.default_rng(number).integers(0, 256, (16, 16, 3), dtype=np.uint8)
        Image.fromarray(noise).save(folder / name)  # no two look alike
        rows.append(_row(scene, name, rng))
    path = folder / "run.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return Run(path, known, rows)


def _row(scene: Scene, image: str, rng: random.Random) -> dict[str, Any]:
    written = caption(scene, rng, error_rate=0.45, sentences=rng.randint(3, 6))
    judged = []
    for labelled in written.sentences:
        wrong = labelled.truth is Truth.FALSE
        p = round(rng.betavariate(2, 5) if wrong else rng.betavariate(6, 2), 4)
        before = Verdict(p, None, labelled.assessable)
        sentence = Sentence(labelled.span, before, before)
        if p < THRESHOLD:
            sentence = _revised(sentence, labelled.rationales, labelled.rewrite, rng)
        judged.append(sentence)
    text, _ = compose(written.text, judged)
    signature = f"critic:simulated|threshold:{THRESHOLD}"
    revision = Revision(written.text, text, tuple(judged), 1, signature, threshold=THRESHOLD)
    labels = [
        {"start": s.span.start, "end": s.span.end, "error_type": s.error_type}
        for s in written.sentences
    ]
    row = {"image": image, "caption": written.text, "sentences": labels}
    return row | to_json(revision)


def _revised(sentence: Sentence, rationales, rewrite: str, rng: random.Random) -> Sentence:
    text = rewrite if rewrite and rng.random() < 0.7 else rng.choice(CLAIMS)
    if rng.random() < 0.1:
        text = ""  # a deletion
    accepted = rng.random() < 0.7
    p = sentence.verdict.p_factual or 0.0
    after = round(rng.uniform(THRESHOLD, 1) if accepted else rng.uniform(0, THRESHOLD), 4)
    why = Why.BETTER if accepted else Why.NOT_FACTUAL
    attempt = Attempt(text, accepted, why, 1, p, after)
    now = Verdict(after, None, True) if accepted else sentence.now
    rationale = rationales[0] if rationales and rng.random() < 0.7 else NONSENSE
    return Sentence(sentence.span, sentence.verdict, now, Rationale(rationale), (attempt,))


@dataclass(frozen=True)
class Truths:
    """What is so, of one unit. `revised` None: there is no rewrite to judge."""

    unit: Unit
    original: bool
    revised: bool | None
    assessable: bool
    rationale: bool


def truths(run: Run, asked: Path) -> dict[str, Truths]:
    """By unit, from the oracle; the rationale is right where the scene's own is repeated."""
    found = {}
    for unit in read_key(asked / "key.jsonl"):
        scene = run.scenes[unit.place.line]
        first = _truth(scene, unit.original)
        revised = None if unit.revised is None else _truth(scene, unit.revised) is not Truth.FALSE
        right = bool(unit.rationale) and unit.rationale != NONSENSE and first is Truth.FALSE
        found[unit.id] = Truths(
            unit, first is not Truth.FALSE, revised, first is not Truth.NOTHING, right
        )
    return found


def _truth(scene: Scene, text) -> Truth:
    return oracle(scene, text.caption[: text.span.start], text.sentence)


def answer(truth: Truths, asked: str, rng: random.Random, slip: float) -> dict[str, str]:
    """One rater's answers by control."""
    if asked in ("original", "revised"):
        good = truth.original if asked == "original" else bool(truth.revised)
        claims = truth.assessable or asked == "revised"
        (given, *_) = rate(good, claims, ["It is not so.", "It is not so at all."], rng, slip=slip)
        said = {"label": str(given.vote).capitalize(), "needs_image": "Yes" if claims else "No"}
        return said | ({"rationale": given.rationale} if given.rationale else {})
    slipped = rng.random() < slip
    if asked == "critique":
        return {"quality": "Correct" if truth.rationale != slipped else "Incorrect"}
    if truth.original == truth.revised:
        return {"truer": "Equal"}
    better = bool(truth.revised) != slipped
    return {"truer": "First" if better == truth.unit.swapped else "Second"}


def label_studio(
    run: Run, asked: Path, interface: str, *, raters: int = 5, slip: float = 0.0, seed: int = 1
) -> list[dict[str, Any]]:
    """Label Studio's JSON export of the tasks, answered by `raters` people."""
    known = truths(run, asked)
    items = {
        unit.item(one): (known[unit.id], str(one))
        for unit in (truth.unit for truth in known.values())
        for one in unit.asked()
    }
    rng = random.Random(seed)
    tasks = json.loads((asked / interface / "tasks.json").read_text(encoding="utf-8"))
    exported = []
    for number, task in enumerate(tasks, start=1):
        truth, what = items[task["data"]["item"]]
        annotations = [
            {
                "id": 100 * number + rater,
                "completed_by": rater,
                "was_cancelled": False,
                "ground_truth": False,
                "created_at": f"2026-03-01T10:{rater:02d}:00.000000Z",
                "updated_at": f"2026-03-01T10:{rater:02d}:00.000000Z",
                "lead_time": 9.5,
                "result": [_result(*pair) for pair in answer(truth, what, rng, slip).items()],
            }
            for rater in range(1, raters + 1)
        ]
        exported.append({"id": number, "data": task["data"], "annotations": annotations})
    return exported


def _result(control: str, text: str) -> dict[str, Any]:
    free = control == "rationale"
    kind, key = ("textarea", "text") if free else ("choices", "choices")
    value = {key: [text]}
    return {"id": "r", "type": kind, "from_name": control, "to_name": "caption", "value": value}


def json_min(tasks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same answers as JSON-MIN has them: a flat row for each annotation, not for skipped ones.

    Where Label Studio's SDK is installed, a test holds this against its own converter.
    """
    return list(_flat(tasks))


def _flat(tasks: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for task in tasks:
        newest = sorted(task["annotations"], key=lambda a: a["created_at"], reverse=True)
        for one in (a for a in newest if not a["was_cancelled"]):
            row = dict(task["data"]) | {"id": task["id"]}
            for result in one["result"]:
                value = result["value"].get("choices") or result["value"]["text"]
                row[result["from_name"]] = value[0] if len(value) == 1 else result["value"]
            row |= {"annotator": one["completed_by"], "annotation_id": one["id"]}
            yield row | {key: one[key] for key in ("created_at", "updated_at", "lead_time")}
