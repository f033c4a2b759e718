"""Picture-book descriptions in contexts, with exact ratings, as `plain` rows.

    python -m scripts.research.stress.picture_book OUT

A context is a page about one kind of thing, which is in the picture. The ratings are arithmetic,
not people's:

    truth     1 + 4 · share of true sentences
    overall   1 + 4 · share of true sentences · (1 if the description names the page's subject, or
              else one half)

The scenes are of the split `test`, which trained nothing that ships.
"""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import click

from revise_captions.io.writing import check_new_folder, write_json_lines
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.generate import image_name, rows_of_scene
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import Scene

_PAGES = (
    "This page is about the {0}. The picture shows a {0}.",
    "A page about a {0}. It tells where the {0} is.",
    "Here is a story of the {0}. In the picture you can see a {0}.",
)


def rows(scene: Scene, number: int, captions: int) -> list[dict[str, Any]]:
    """The rows of one scene."""
    found = []
    kinds = sorted({thing.kind for thing in scene.things})
    for row in rows_of_scene(scene, number, captions=captions, mode="balanced", raters=False):
        rng = random.Random(f"context.{row['id']}")
        subject = rng.choice(kinds)
        true = [s["label"] == "factual" for s in row["sentences"]]
        share = sum(true) / len(true)
        named = subject in row["caption"].lower()
        ratings = {"truth": 1 + 4 * share, "overall": 1 + 4 * share * (1 if named else 0.5)}
        found.append(
            {
                "id": row["id"],
                "image": row["image"],
                "model": row["captioner"],
                "caption": row["caption"],
                "context": rng.choice(_PAGES).format(subject),
                "references": [row["description"]],
                "scores": [
                    {"axis": axis, "value": round(value, 4), "rater": "oracle"}
                    for axis, value in ratings.items()
                ],
            }
        )
    return found


@click.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--scenes", default=240, show_default=True)
@click.option("--first", default=50_000, show_default=True, help="Number of the first scene.")
@click.option("--captions", default=2, show_default=True)
def main(out: Path, scenes: int, first: int, captions: int) -> None:
    """Writes OUT/captions.jsonl and OUT/images."""
    check_new_folder(out)
    (out / "images" / "test").mkdir(parents=True)
    found: list[dict[str, Any]] = []
    for number in range(first, first + scenes):
        scene = sample_scene(number, "test")
        if scene.things:
            draw(scene, 256).save(out / image_name("test", number))
            found += rows(scene, number, captions)
    write_json_lines(out / "captions.jsonl", found)


if __name__ == "__main__":
    main()
