"""Which way `bundled` sends an image: to its own critic, to that of charts, or to neither.

    python -m scripts.research.charts.gate DATA [--each]

The whole way as it is in a run: domain gate, first look, OCR. Thresholds were chosen on the other
half of each collection (`tuning_half`); scenes are of a split that trained nothing.
"""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import click
from PIL.Image import Image
from PIL.Image import new as new_image
from PIL.ImageDraw import Draw

from revise_captions.chart_world.drawing import draw_table
from revise_captions.chart_world.tables import sample_table
from revise_captions.critic.load import load_critic
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.protocol import Critic, JudgeRequest, chosen
from revise_captions.engines.model_spec import Placement
from revise_captions.errors import BadRecord
from revise_captions.io.decoding import reduced
from revise_captions.io.images import load_image
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.records import ImageRef, Span, Unscored
from scripts.research.frame.blocks import write_to_pages
from scripts.research.frame.figures import counted_share
from scripts.research.frame.report import ROOT, write_option

_SUFFIXES = {".png", ".jpg", ".jpeg", ".gif", ".webp"}
#: Where the images of a collection belong.
COLLECTIONS = {
    "chocolate": "charts",
    "flickr8k_expert": "neither",
    "contextual_descriptions": "neither",
}
TEXT = "There is a dog."


def tuning_half(image: str) -> bool:
    """Whether thresholds were chosen with an image in sight."""
    return int(hashlib.sha256(image.encode()).hexdigest(), 16) % 2 == 0


def images(folder: Path, most: int) -> Iterator[tuple[str, Image]]:
    """Reporting images of a collection, by name, at most so many, in an order of their hashes."""
    found = [path for path in folder.rglob("*") if path.suffix.lower() in _SUFFIXES]
    found = [path for path in found if not tuning_half(path.name)]
    found.sort(key=lambda path: hashlib.sha256(path.name.encode()).digest())
    for path in found[:most]:
        try:
            yield path.name, reduced(load_image(ImageRef(path=str(path))))
        except BadRecord:
            continue


def scenes(most: int) -> Iterator[tuple[str, Image]]:
    """Picture-book scenes that trained nothing."""
    for number in range(most):
        yield f"scene {number}", draw(sample_scene(number, "test")).convert("RGB")


def screenshots(most: int) -> Iterator[tuple[str, Image]]:
    """Charts as they stand in a window of a browser: charts all the same."""
    for number in range(most):
        rng = random.Random(f"screenshot {number}")
        chart = draw_table(sample_table(rng), rng)
        left, top = rng.randint(20, 160), rng.randint(70, 140)
        size = (chart.width + left + rng.randint(20, 200), chart.height + top + 60)
        window = new_image("RGB", size, "white")
        pen = Draw(window)
        pen.rectangle((0, 0, size[0], 50), fill=rng.choice(("#dee1e6", "#2b2b2b", "#cfd8e6")))
        pen.rounded_rectangle((90, 14, size[0] - 60, 42), 12, fill="white")
        pen.text((105, 21), f"https://www.example.org/statistics/{number}", fill="#333333")
        pen.text((20, 54), "Home   Reports   Data   About us", fill="#1a0dab")
        window.paste(chart, (left, top))
        yield f"screenshot {number}", window


def way(expert: str) -> str:
    """Which critic an image was sent to: nobody, the picture book's own, or that of charts."""
    return {"": "neither", "picturebook": "own"}.get(expert, expert)


def ways(critic: Critic, source: Iterator[tuple[str, Image]]) -> Iterator[tuple[str, str]]:
    """Images by name with the way that each was sent, and whether it could be judged there."""
    while part := list(islice(source, 16)):
        asked = [JudgeRequest(image, TEXT, (Span(0, len(TEXT)),)) for _, image in part]
        whose = chosen(critic, [image for _, image in part])
        for (name, _), who, (verdict,) in zip(part, whose, critic.judge(asked), strict=True):
            unread = verdict.unscored is Unscored.UNREADABLE_CHART
            yield name, "unread" if unread else way(who.expert)


@click.command()
@click.argument("data", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--most", default=250, show_default=True, help="Images of each collection.")
@write_option
def main(data: Path, most: int, write: bool) -> None:
    """Print where `bundled` sends the images in DATA's collections and drawn scenes."""
    critic = load_critic("bundled", CriticOptions(Placement(device="cpu")))
    lines = [
        "| images | number | own critic | charts | … unreadable | neither | wrong (95 %, exact) |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    sources = {name: (images(data / name, most), right) for name, right in COLLECTIONS.items()}
    sources["picture book"] = scenes(most), "own"
    sources["charts in a window"] = screenshots(most), "charts"
    for name, (source, right) in sources.items():
        found = dict(ways(critic, source))
        sent = {image: "charts" if one == "unread" else one for image, one in found.items()}
        count, unread = Counter(sent.values()), sum(one == "unread" for one in found.values())
        wrong = sum(one != right for one in sent.values())
        lines.append(
            f"| {name} | {len(found)} | {count['own']} | {count['charts']} | {unread} "
            f"| {count['neither']} | {counted_share(wrong, len(found))} |"
        )
    print("\n".join(lines))
    if write:
        write_to_pages(ROOT, {"gate": "\n".join(lines)})


if __name__ == "__main__":
    main()
