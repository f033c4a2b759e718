"""Held-out picture-book captions with their scenes, for measuring a critic and the whole loop."""

from __future__ import annotations

import random
from dataclasses import dataclass

from PIL import Image

from revise_captions.picturebook.captioners import sentence_count
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.generate import captioner_of
from revise_captions.picturebook.language.captions import CaptionSentence, caption
from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import Scene
from revise_captions.records import Span

#: Width and height of the pictures, in pixels: larger than what the critic sees.
SIZE = 384


@dataclass(frozen=True, slots=True)
class Item:
    """One scene, its picture, and one simulated captioner's caption with the exact truth."""

    scene: Scene
    image: Image.Image
    text: str
    sentences: tuple[CaptionSentence, ...]
    captioner: str

    @property
    def spans(self) -> tuple[Span, ...]:
        return tuple(sentence.span for sentence in self.sentences)

    @property
    def factual(self) -> tuple[bool, ...]:
        """The truth per sentence; what makes no claim counts as factual, as in training."""
        return tuple(sentence.truth is not Truth.FALSE for sentence in self.sentences)


def held_out(split: str, scenes: int, *, first: int = 0, balanced: bool = False) -> list[Item]:
    """`scenes` items of a split, the fourteen captioners in turn. The split's seeds are its own:
    no training scene is among them. `balanced`: about 42 % of the sentences are wrong."""
    mode = "balanced" if balanced else "captioners"
    return [_item(split, number, mode) for number in range(first, first + scenes)]


def _item(split: str, number: int, mode: str) -> Item:
    scene = sample_scene(number, split)
    captioner = captioner_of(number, mode)
    rng = random.Random(f"held-out.{split}.{number}")
    written = caption(
        scene,
        rng,
        error_rate=captioner.error_rate,
        error_weights=captioner.errors,
        sentences=sentence_count(captioner, rng),
    )
    return Item(scene, draw(scene, SIZE), written.text, written.sentences, captioner.name)
