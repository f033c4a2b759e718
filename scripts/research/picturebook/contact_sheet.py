"""Draws a contact sheet of scenes, and says how long sampling, drawing and labelling take.

python -m scripts.research.picturebook.contact_sheet OUT.png --split compositional --first 100
"""

from __future__ import annotations

import time
from pathlib import Path

import click
from PIL import Image

from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.drawing.patch_labels import patch_labels
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import SPLITS

GAP = 4


@click.command(help="Draws a contact sheet of a split's scenes to OUT and prints the times taken.")
@click.argument("out", type=click.Path(path_type=Path, dir_okay=False))
@click.option("--split", type=click.Choice(SPLITS), default="train", show_default=True)
@click.option("--first", default=0, show_default=True, help="Number of the first scene.")
@click.option("--across", default=5, show_default=True, help="Pictures across and down.")
@click.option("--size", default=384, show_default=True, help="Pixels that pictures are drawn at.")
@click.option("--shown", default=0, help="Pixels to shrink them to, as a model sees them.")
def main(out: Path, split: str, first: int, across: int, size: int, shown: int) -> None:
    cell = shown or size
    sheet = Image.new("RGB", (across * (cell + GAP),) * 2, "white")
    clock = [time.process_time()]
    scenes = [sample_scene(first + i, split) for i in range(across**2)]
    clock.append(time.process_time())
    pictures = [draw(scene, size) for scene in scenes]
    clock.append(time.process_time())
    for scene in scenes:
        patch_labels(scene)
    clock.append(time.process_time())
    for i, picture in enumerate(pictures):
        if shown:
            picture = picture.resize((shown, shown), Image.Resampling.LANCZOS)
        row, column = divmod(i, across)
        sheet.paste(picture, (column * (cell + GAP) + GAP // 2, row * (cell + GAP) + GAP // 2))
    sheet.save(out)
    steps = zip(("sample", "draw", "label"), clock[:-1], clock[1:], strict=True)
    times = ", ".join(f"{name} {(b - a) / len(scenes) * 1000:.1f} ms" for name, a, b in steps)
    click.echo(f"{out}: {len(scenes)} scenes of {split}; each: {times} (one core, {size} px)")


if __name__ == "__main__":
    main()
