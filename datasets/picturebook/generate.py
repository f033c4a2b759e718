"""Write picture-book data to a folder: images, captions with exact labels, dense labels.

    python -m revise_captions.picturebook.generate OUT --split train --scenes 50000 --captions 4

`OUT/<split>.jsonl` has one row per caption:

    {"id", "image": "images/<split>/000012.png", "image_index", "captioner", "caption",
     "description", "sentences": [{"start", "end", "label", "assessable", "needs_context",
     "error_type", "rationale", "rationales", "rewrite", "raters"?}],
     "asides"?: [{"text", "label", "rewrite", "after"?}]}

`image_index` is the row of the picture in `OUT/labels/<split>.npy` (uint8, pictures × 8 × 8 ×
channels), whose channels `OUT/labels/channels.json` names. Spans are half-open, in code points.
Everything follows from the split and the scene's number: more processes give the same bytes.
`--first` starts at another number, for more scenes of the same split.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import click
import numpy as np

from revise_captions.command_line.command import command
from revise_captions.command_line.options import argument, option
from revise_captions.command_line.printing import echo
from revise_captions.command_line.running import run_command
from revise_captions.errors import UserError
from revise_captions.io.writing import json_lines_writer, write_text
from revise_captions.picturebook.captioners import (
    CAPTIONERS,
    ERROR_TYPES,
    Captioner,
    sentence_count,
)
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.drawing.patch_labels import (
    PATCH_CHANNELS,
    patch_labels,
)
from revise_captions.picturebook.language.auxiliary_sentences import (
    AuxiliarySentence,
    auxiliary_sentences,
)
from revise_captions.picturebook.language.captions import CaptionSentence, caption
from revise_captions.picturebook.language.describe import describe
from revise_captions.picturebook.language.frames import framed_sentences
from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.picturebook.raters import rate
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import SPLITS, Scene
from revise_captions.text.formatting import plural

CHUNK = 64


def captioner_of(number: int, mode: str) -> Captioner:
    """`captioners`: the fourteen in turn. `balanced`: their lengths, about 42 % wrong sentences."""
    base = CAPTIONERS[number % len(CAPTIONERS)]
    if mode == "captioners":
        return base
    correct = random.Random(f"balanced.{number}").uniform(30, 85)
    return Captioner(f"balanced-{base.name}", correct, max(4.0, base.sentences), base.errors)


def rows_of_scene(
    scene: Scene,
    number: int,
    *,
    captions: int,
    mode: str,
    raters: bool,
    first: int = 0,
    auxiliary: int = 0,
    framed: int = 0,
    error_rate: float | None = None,
    errors: Mapping[str, float] | None = None,
) -> Iterator[dict[str, Any]]:
    """Writes the rows of one scene, each caption by another captioner.

    Args:
        scene: What is true.
        number: The scene's number in its split.
        captions: How many rows.
        mode: Which captioners, as in `captioner_of`.
        raters: Whether to add the votes of five simulated raters.
        first: Number of the picture with index 0.
        auxiliary: Auxiliary sentences per row.
        framed: Framed sentences per row (`language.frames`).
        error_rate: Share of wrong sentences, in place of the captioner's.
        errors: Weights by kind of error, the only kinds, in place of the captioner's.

    Yields:
        Rows as the module describes them.
    """
    split = scene.split
    for turn in range(captions):
        rng = random.Random(f"{split}.{number}.{turn}")
        captioner = captioner_of(number * captions + turn, mode)
        written = caption(
            scene,
            rng,
            error_rate=captioner.error_rate if error_rate is None else error_rate,
            error_weights=errors or captioner.errors,
            sentences=sentence_count(captioner, rng),
        )
        sentences = [sentence_json(s, rng if raters else None) for s in written.sentences]
        row = {
            "id": f"{split}-{number:06d}-{turn}",
            "image": image_name(split, number),
            "image_index": number - first,
            "captioner": captioner.name,
            "caption": written.text,
            "description": describe(scene),
            "sentences": sentences,
        }
        if auxiliary or framed:
            seeded = random.Random(f"{split}.{number}.{turn}.asides")
            drawn = auxiliary_sentences(scene, seeded, auxiliary)
            drawn += framed_sentences(scene, seeded, framed, written.sentences, written.text)
            row["asides"] = [auxiliary_json(one) for one in drawn]
        yield row


def sentence_json(sentence: CaptionSentence, rng: random.Random | None) -> dict[str, Any]:
    """One labeled sentence as it stands in a row; with `rng`, five raters' votes too."""
    true = sentence.truth is not Truth.FALSE
    row: dict[str, Any] = {
        "start": sentence.span.start,
        "end": sentence.span.end,
        "label": "factual" if true else "nonfactual",
        "assessable": sentence.assessable,
        "needs_context": sentence.needs_context,
        "error_type": sentence.error_type,
        "rationale": None if true else max(sentence.rationales, key=len),
        "rationales": list(sentence.rationales),
        "rewrite": sentence.rewrite,
    }
    if rng is not None:
        ratings = rate(true, sentence.assessable, sentence.rationales, rng)
        row["raters"] = [asdict(rating) for rating in ratings]
    return row


def auxiliary_json(sentence: AuxiliarySentence) -> dict[str, str | int]:
    label = "factual" if sentence.factual else "nonfactual"
    row: dict[str, str | int] = {
        "text": sentence.text, "label": label, "rewrite": sentence.rewrite
    }  # fmt: skip
    return {**row, "after": sentence.after} if sentence.after else row


def image_name(split: str, number: int) -> str:
    return f"images/{split}/{number:06d}.png"


def write_chunk(
    start: int,
    *,
    out: Path,
    split: str,
    end: int,
    size: int,
    draws: bool,
    **options: Any,
) -> tuple[list[dict[str, Any]], np.ndarray]:
    """Draws one chunk of pictures, up to number `end`; its rows, its dense labels."""
    rows: list[dict[str, Any]] = []
    labels = []
    for number in range(start, min(start + CHUNK, end)):
        scene = sample_scene(number, split)
        if draws:
            draw(scene, size).save(out / image_name(split, number), compress_level=1)
        labels.append(patch_labels(scene))
        rows.extend(rows_of_scene(scene, number, **options))
    return rows, np.stack(labels)


def write_split(
    out: Path,
    split: str,
    *,
    scenes: int,
    size: int,
    workers: int,
    draws: bool,
    options: Mapping[str, Any],
    first: int = 0,
) -> None:
    """Writes a split: rows, pictures and dense labels.

    Args:
        out: The folder, which is made.
        split: Name of the split.
        scenes: How many scenes.
        size: Width and height of a picture in pixels.
        workers: Processes; the output does not depend on them.
        draws: Whether to draw the pictures.
        options: Arguments of `rows_of_scene`: `captions`, `mode`, `raters`, `auxiliary`, `framed`.
        first: Number of the first scene.
    """
    (out / "images" / split).mkdir(parents=True, exist_ok=True)
    (out / "labels").mkdir(exist_ok=True)
    channels = [{"name": name, "classes": list(classes)} for name, classes in PATCH_CHANNELS]
    write_text(out / "labels" / "channels.json", json.dumps(channels))
    shape = (scenes, 8, 8, len(PATCH_CHANNELS))
    dense = np.lib.format.open_memmap(
        out / "labels" / f"{split}.npy", mode="w+", dtype=np.uint8, shape=shape
    )
    end = first + scenes
    work = partial(
        write_chunk, out=out, split=split, end=end, size=size, draws=draws, first=first, **options
    )
    starts = range(first, end, CHUNK)
    with (
        ProcessPoolExecutor(workers) as pool,
        open(out / f"{split}.jsonl", "wb") as file,
    ):
        writer = json_lines_writer(file)
        for start, (rows, labels) in zip(starts, pool.map(work, starts), strict=True):
            writer.write_all(rows)
            dense[start - first : start - first + len(labels)] = labels
    dense.flush()


@dataclass(frozen=True, slots=True)
class PictureBookOptions:
    """Which scenes are drawn, and what is written about them."""

    out: Path = argument("OUT")
    split: str = option("train", "Which scenes; the splits share none.", choices=SPLITS)
    scenes: int = option(100, "Number of scenes.")
    captions: int = option(1, "Captions per scene.")
    size: int = option(256, "Width and height in pixels.")
    workers: int = option(2, "Number of processes.")
    mode: Literal["balanced", "captioners"] = option(
        "balanced", "Who writes: captions with as many wrong sentences, or the captioners in turn."
    )
    draw: bool = option(True, "Draw the images, or keep those already in OUT.")
    raters: bool = option(False, "Add five simulated raters' votes per sentence.")
    first: int = option(0, "Number of the first scene, to draw different ones.")
    auxiliary: int = option(
        0,
        "Sentences beside each caption about what critics find hardest: positions, actions, colors "
        "of parts.",
        name="auxiliary_sentences",
    )
    framed: int = option(
        0,
        "More of these, in which existence and negation come in many frames: five clauses of which "
        "one is wrong, capitals, “It is not true that …”.",
        name="framed_sentences",
    )
    error_rate: float | None = option(
        None,
        "Share of sentences to make wrong; those with no place for such an error stay true. "
        "[default: the captioner's; balanced: about 0.42]",
        type=click.FloatRange(0, 1),
    )
    errors: str = option("", f"Kinds of errors, comma-separated: {', '.join(ERROR_TYPES)}.")


@command(PictureBookOptions)
def main(options: PictureBookOptions) -> None:
    """Write picture-book data to a folder: images, captions with exact labels, dense labels."""
    o = options
    kinds = [kind.strip() for kind in o.errors.split(",") if kind.strip()]
    if unknown := sorted(set(kinds) - set(ERROR_TYPES)):
        raise UserError(
            f"--errors {unknown[0]}: no such kind", hint=f"there are {', '.join(ERROR_TYPES)}"
        )
    write_split(
        o.out, o.split, scenes=o.scenes, size=o.size, workers=o.workers, draws=o.draw,
        options={"captions": o.captions, "mode": o.mode, "raters": o.raters,
                 "auxiliary": o.auxiliary, "framed": o.framed, "error_rate": o.error_rate,
                 "errors": dict.fromkeys(kinds, 1.0)},
        first=o.first,
    )  # fmt: skip
    pictures = plural(o.scenes, "picture")
    echo(f"{plural(o.scenes * o.captions, 'caption')} of {pictures}: {o.out / o.split}.jsonl")


if __name__ == "__main__":
    run_command(main, "picturebook.generate")
