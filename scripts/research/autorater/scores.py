"""Fourteen simulated captioners on held-out pictures, rated by a critic and kept in a file.

Scoring takes minutes and statistics seconds, so every sentence's P(factual) is kept: one JSON line
for each caption, after a first line that says what critic gave them and what is known of its
errors from its own validation. A file is continued where it ends, and never by another critic.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from revise_captions.critic.protocol import Critic, JudgeRequest
from revise_captions.errors import UserError
from revise_captions.io.rows import dumps
from revise_captions.picturebook.captioners import CAPTIONERS, sentence_count
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.picturebook.world.sample import sample_scene
from scripts.research.frame.held_out import SIZE

SPLIT = "test"
#: Scenes from here on: the critic's own evaluation uses the ones before.
FIRST = 10_000
#: Pictures that are drawn and judged at a time.
BATCH = 8


@dataclass(frozen=True, slots=True)
class CaptionScores:
    """One caption: P(factual) of each sentence (NaN: unscored), its truth, whether it claims."""

    captioner: str
    image: str
    words: int
    p: NDArray[np.float64]
    factual: NDArray[np.bool_]
    assessable: NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Rater:
    """Whose scores they are: its settings, its threshold, and its stored `calibration`."""

    settings: Mapping[str, str]
    threshold: float
    calibration: Mapping[str, Any]


def judged(critic: Critic, images: int, *, first: int = 0) -> Iterator[list[CaptionScores]]:
    """Fourteen captions of each picture from the `first` on, rated, a few pictures at a time."""
    for start in range(FIRST + first, FIRST + images, BATCH):
        asked, kept = [], []
        for number in range(start, min(start + BATCH, FIRST + images)):
            scene = sample_scene(number, SPLIT)
            picture = draw(scene, SIZE)
            for captioner in CAPTIONERS:
                rng = random.Random(f"rater.{number}.{captioner.name}")
                written = caption(
                    scene,
                    rng,
                    error_rate=captioner.error_rate,
                    error_weights=captioner.errors,
                    sentences=sentence_count(captioner, rng),
                )
                spans = tuple(sentence.span for sentence in written.sentences)
                asked.append(JudgeRequest(picture, written.text, spans))
                kept.append((captioner.name, f"{SPLIT}-{number}", written))
        yield [
            CaptionScores(
                name,
                image,
                len(written.text.split()),
                np.array([np.nan if v.p_factual is None else v.p_factual for v in verdicts]),
                np.array([s.truth is not Truth.FALSE for s in written.sentences]),
                np.array([s.assessable for s in written.sentences]),
            )
            for (name, image, written), verdicts in zip(kept, critic.judge(asked), strict=True)
        ]


def complete(file: Path, name: str, images: int) -> tuple[Rater, list[CaptionScores]]:
    """What `file` holds, after the critic `name` has rated the pictures that it lacks.

    Loads no model where none is missing. Raises `UserError` for a file of another critic.
    """
    from revise_captions.critic.locate import find_checkpoint, weights_digest

    digest = weights_digest(find_checkpoint(name))
    rater, captions = read(file) if file.exists() else (None, [])
    if rater is not None and not rater.settings["critic"].endswith(f"@{digest}"):
        raise UserError(
            f"{file} has scores of {rater.settings['critic']}, not of {name}@{digest}",
            hint="name another file",
        )
    there = len(captions) // len(CAPTIONERS)
    if rater is None or there < images:
        rater, captions = _continued(file, name, captions, images)
    return rater, captions[: images * len(CAPTIONERS)]


def _continued(
    file: Path, name: str, captions: list[CaptionScores], images: int
) -> tuple[Rater, list[CaptionScores]]:
    from revise_captions.critic.locate import stored_card
    from revise_captions.critic.paligemma.load import load_paligemma

    critic = load_paligemma(name)
    rater = Rater(critic.settings, critic.threshold, stored_card(name).calibration)
    file.parent.mkdir(parents=True, exist_ok=True)
    with file.open("w", encoding="utf-8") as out:
        out.write(_head(rater) + "\n")
        out.writelines(f"{_line(c)}\n" for c in captions)
        for more in judged(critic, images, first=len(captions) // len(CAPTIONERS)):
            captions += more
            out.writelines(f"{_line(c)}\n" for c in more)
            out.flush()
    return rater, captions


def _head(rater: Rater) -> str:
    known = {"settings": dict(rater.settings), "threshold": rater.threshold}
    return dumps(known | {"calibration": dict(rater.calibration), "split": SPLIT, "first": FIRST})


def _line(c: CaptionScores) -> str:
    return dumps(
        {
            "captioner": c.captioner,
            "image": c.image,
            "words": c.words,
            "p": [None if np.isnan(p) else float(p) for p in c.p],
            "factual": c.factual.astype(int).tolist(),
            "assessable": c.assessable.astype(int).tolist(),
        }
    )


def read(file: Path) -> tuple[Rater, list[CaptionScores]]:
    """Rater and captions of the pictures that are in it whole. Raises `UserError`.

    A last line that was cut short, and its picture, are left out.
    """
    lines = file.read_text(encoding="utf-8").split("\n")
    try:
        head = json.loads(lines[0])
        if (head["split"], head["first"]) != (SPLIT, FIRST):
            raise ValueError("its pictures are others")
        rater = Rater(head["settings"], float(head["threshold"]), head["calibration"])
        captions = [_caption(json.loads(line)) for line in lines[1:-1]]
    except (ValueError, KeyError, TypeError, IndexError) as error:
        raise UserError(f"{file} holds no scores of this command: {error}") from None
    return rater, _whole(captions)


def _caption(row: Mapping[str, Any]) -> CaptionScores:
    return CaptionScores(
        row["captioner"],
        row["image"],
        int(row["words"]),
        np.array([np.nan if p is None else p for p in row["p"]], dtype=np.float64),
        np.array(row["factual"], dtype=bool),
        np.array(row["assessable"], dtype=bool),
    )


def _whole(captions: Sequence[CaptionScores]) -> list[CaptionScores]:
    count = Counter(c.image for c in captions)
    return [c for c in captions if count[c.image] == len(CAPTIONERS)]
