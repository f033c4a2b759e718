"""Writes the picture-book world as data for `train-vela`: captions with exact scores.

    python -m scripts.research.vela.picture_book OUT

Relevance is the share of a caption's sentences that are true, descriptiveness the share of the
scene's facts that its true sentences tell (`revise_captions.picturebook.oracle.coverage`). The
reference is the scene's complete listing. Splits have scenes of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from revise_captions.io.writing import check_new_folder, write_json_lines
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.generate import image_name, rows_of_scene
from revise_captions.picturebook.oracle.coverage import coverage
from revise_captions.picturebook.world.sample import sample_scene

SCENES = {"train": 6000, "validation": 150, "test": 250}


def rows(out: Path, split: str, scenes: int, captions: int, size: int) -> Iterator[dict[str, Any]]:
    """Rows of a split; draws its pictures."""
    (out / "images" / split).mkdir(parents=True, exist_ok=True)
    for number in range(scenes):
        scene = sample_scene(number, split)
        draw(scene, size).save(out / image_name(split, number), compress_level=1)
        for row in rows_of_scene(scene, number, captions=captions, mode="balanced", raters=False):
            labels = [sentence["label"] == "factual" for sentence in row["sentences"]]
            yield {
                "id": row["id"],
                "image": row["image"],
                "caption": row["caption"],
                "references": [row["description"]],
                "scores": {
                    "descriptiveness": round(coverage(scene, row["caption"]), 6),
                    "relevance": round(sum(labels) / len(labels), 6),
                },
            }


@click.command(help=__doc__.splitlines()[0])
@click.argument("out", type=click.Path(path_type=Path, file_okay=False))
@click.option("--captions", default=2, show_default=True, help="Captions per scene.")
@click.option("--size", default=128, show_default=True, help="Width and height in pixels.")
def main(out: Path, captions: int, size: int) -> None:
    check_new_folder(out)
    out.mkdir(exist_ok=True)
    for split, scenes in SCENES.items():
        path = out / f"{split}.jsonl"
        count = write_json_lines(path, rows(out, split, scenes, captions, size))
        click.echo(f"{path}: {count:,} captions of {scenes:,} scenes")


if __name__ == "__main__":
    main()
