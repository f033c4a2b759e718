"""What a critic's domain gate lets pass and refuses, on images that it was not fitted on.

    python -m scripts.research.domain_gate.measure [CRITIC] --foreign DIR --foreign DIR …

Picture-book scenes are drawn afresh from seeds of their own: the ordinary and the compositional
split, clean, as JPEG of quality 75, and rescaled by 0.5–2 before that. Foreign are the drawing
programs of tests/support/foreign_drawings.py and every image below the folders named with
--foreign; transparent ones are laid on white and on a drawn meadow, alternately.
"""

from __future__ import annotations

import io
import random
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray
from PIL import Image

from revise_captions.critic.paligemma.critic import PaliGemmaCritic
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.world.sample import sample_scene

ROOT = Path(__file__).parents[3]
ENDINGS = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".bmp"}
FIRST = 7_000_000


def pictures(split: str, size: int, kind: str) -> Iterator[Image.Image]:
    rng = random.Random(f"{split}.{size}.{kind}")
    for number in range(FIRST, FIRST + 10**6):
        image = draw(sample_scene(number, split), size)
        if "rescaled" in kind:
            side = round(size * 2 ** rng.uniform(-1, 1))
            image = image.resize((side, side), Image.Resampling(rng.randrange(1, 6)))
        if "JPEG" in kind:
            buffer = io.BytesIO()
            image.save(buffer, "JPEG", quality=75)
            image = Image.open(buffer).convert("RGB")
        yield image


def opaque(image: Image.Image, meadow: bool) -> Image.Image:
    """Without transparency: on white, or on a blue sky over grass."""
    if "transparency" not in image.info and image.mode not in ("RGBA", "LA", "PA"):
        return image.convert("RGB")
    image = image.convert("RGBA")
    ground = Image.new("RGBA", image.size, "skyblue" if meadow else "white")
    if meadow:
        ground.paste("yellowgreen", (0, image.height * 3 // 5, *image.size))
    ground.alpha_composite(image)
    return ground.convert("RGB")


def folder(path: Path, seed: int = 0) -> Iterator[Image.Image]:
    """The folder's images in random order; files that are none are passed over."""
    files = sorted(file for file in path.rglob("*") if file.suffix.lower() in ENDINGS)
    random.Random(seed).shuffle(files)
    for number, file in enumerate(files):
        try:
            with Image.open(file) as image:
                image.draft("RGB", (512, 512))
                image.load()
                image.thumbnail((512, 512))
                yield opaque(image, number % 2 == 1)
        except (OSError, ValueError) as error:
            click.echo(f"{file}: {error}", err=True)


def inside(critic: PaliGemmaCritic, images: Iterator[Image.Image], count: int) -> NDArray[np.bool_]:
    assert critic.gate is not None
    found: list[NDArray[np.bool_]] = []
    while batch := list(islice(images, min(64, count - sum(part.size for part in found)))):
        found.append(critic.gate.inside(critic.features(batch).numpy()))
    return np.concatenate(found) if found else np.zeros(0, dtype=bool)


@click.command(help=__doc__)
@click.argument("critic", default="bundled")
@click.option(
    "--foreign", multiple=True, type=click.Path(exists=True, file_okay=False, path_type=Path)
)
@click.option("--count", default=1000, show_default=True, help="Images of each set, at most.")
def main(critic: str, foreign: tuple[Path, ...], count: int) -> None:
    judge = load_paligemma(critic)
    if judge.gate is None:
        raise click.ClickException(f"{critic} has no domain gate")
    click.echo(f"{'set':44} {'images':>6} {'refused':>8}")
    for split in ("test", "compositional"):
        for size, kind in ((256, "clean"), (384, "clean"), (256, "JPEG 75"), (256, "rescaled"),
                           (256, "rescaled, JPEG 75")):  # fmt: skip
            passed = inside(judge, pictures(split, size, kind), count)
            show(f"{split}, {size} px, {kind}", passed)
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    from foreign_drawings import PROGRAMS

    for name, program in PROGRAMS.items():
        show(f"foreign: program {name!r}", inside(judge, map(program, range(10**6)), count))
    for path in foreign:
        show(f"foreign: {'/'.join(path.parts[-2:])}", inside(judge, folder(path), count))


def show(name: str, passed: NDArray[np.bool_]) -> None:
    click.echo(f"{name:44} {len(passed):6} {1 - passed.mean():8.2%}")


if __name__ == "__main__":
    main()
