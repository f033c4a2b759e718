"""Worlds that the bundled critic never saw, to try fine-tuning on, as training data.

    python -m scripts.research.new_domains.generate OUT --domain yard --split train --count 500

`yard` is near: new things, phrasings and errors in the picture-book's settings and colours.
`cupboard` is far: nothing but some colours is known. Rows are those of `picturebook.generate`,
without dense labels and descriptions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import click
from PIL.Image import Image

from scripts.research.new_domains import (
    far_domain,
    far_domain_drawing,
    near_domain,
    near_domain_drawing,
)
from scripts.research.new_domains.far_domain import DomainClaim, DomainSentence

SPLITS = {"train": 0, "validation": 10**6, "test": 2 * 10**6}


class CaptionWriter(Protocol):
    """A scene's sentences, by a seed and the share of wrong ones."""

    def __call__(
        self, scene: Any, seed: int, wrong_share: float = ..., /
    ) -> tuple[DomainSentence, ...]: ...


@dataclass(frozen=True, slots=True)
class Domain:
    """`sample`: a scene that follows from its seed; `caption`: its sentences; `draw`: its picture
    of a size; `rationale_is_right`: of a scene, a false claim and a text.
    """

    name: str
    sample: Callable[[int], Any]
    caption: CaptionWriter
    draw: Callable[[Any, int], Image]
    rationale_is_right: Callable[[Any, DomainClaim, str], bool]

    def row(
        self, split: str, number: int
    ) -> tuple[Any, tuple[DomainSentence, ...], dict[str, Any]]:
        """A scene of a split, its sentences, and the training row."""
        seed = SPLITS[split] + number
        scene = self.sample(seed)
        said = self.caption(scene, seed)
        return scene, said, _row(split, number, said)

    def write(self, out: Path, split: str, count: int, size: int = 256) -> Iterator[dict[str, Any]]:
        """Draws pictures below `out` and yields their rows."""
        (out / "images" / split).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            scene, _, made = self.row(split, number)
            self.draw(scene, size).save(out / made["image"])
            yield made


DOMAINS = {
    domain.name: domain
    for domain in (
        Domain(
            "yard",
            near_domain.sample,
            near_domain.caption,
            near_domain_drawing.draw,
            near_domain.rationale_is_right,
        ),
        Domain(
            "cupboard",
            far_domain.sample,
            far_domain.caption,
            far_domain_drawing.draw,
            far_domain.rationale_is_right,
        ),
    )
}


def _row(split: str, number: int, said: tuple[DomainSentence, ...]) -> dict[str, Any]:
    text, sentences = "", []
    for one in said:
        start = len(text) + bool(text)
        text = f"{text} {one.text}" if text else one.text
        sentences.append(
            {
                "start": start,
                "end": len(text),
                "label": "factual" if one.factual else "nonfactual",
                "assessable": one.claim is not None,
                "needs_context": False,
                "error_type": "" if one.factual or one.claim is None else one.claim.aspect,
                "rationale": max(one.rationales, key=len) if one.rationales else None,
                "rationales": list(one.rationales),
                "rewrite": one.rewrite,
            }
        )
    image = f"images/{split}/{number:06d}.png"
    return {"id": f"{split}-{number:06d}", "image": image, "caption": text, "sentences": sentences}


@click.command(help=(__doc__ or "").splitlines()[0])
@click.argument("out", type=click.Path(path_type=Path))
@click.option("--domain", type=click.Choice(list(DOMAINS)), default="yard", show_default=True)
@click.option("--split", type=click.Choice(list(SPLITS)), default="train", show_default=True)
@click.option("--count", default=100, show_default=True, help="Scenes, a caption of each.")
@click.option("--size", default=256, show_default=True, help="Width and height in pixels.")
def main(out: Path, domain: str, split: str, count: int, size: int) -> None:
    out.mkdir(parents=True, exist_ok=True)
    with (out / f"{split}.jsonl").open("w", encoding="utf-8") as file:
        for made in DOMAINS[domain].write(out, split, count, size):
            file.write(json.dumps(made) + "\n")


if __name__ == "__main__":
    main()
