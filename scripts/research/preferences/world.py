"""The picture-book world as a place to train captioners in: images, captions, and exact truth."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from revise_captions.dcscore.units import UnitVerdict, VerifyTask
from revise_captions.engines.protocol import Engine, Failed, Picture, Prompt, Sampling, Template
from revise_captions.io.writing import write_text
from revise_captions.picturebook.drawing.draw import draw
from revise_captions.picturebook.oracle.truth import Truth, read
from revise_captions.picturebook.semantics.discourse import State
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import Scene

PROMPT = "caption en"
SIZE = 256
#: As the paper samples (A.3.1).
TEMPERATURE, TOP_P = 1.0, 0.7
MAX_TOKENS = 128
#: First scene of the training split that the captioner's teacher has not described.
FIRST = 100_000


def key_of(image: Image.Image) -> str:
    """What an image is recognized by."""
    return hashlib.sha256(image.tobytes()).hexdigest()


@dataclass(frozen=True, slots=True)
class World:
    """Some scenes and their images. `by_key`: each scene by its image."""

    scenes: tuple[Scene, ...]
    images: tuple[Image.Image, ...]
    by_key: Mapping[str, Scene]

    @classmethod
    def of(cls, split: str, numbers: range) -> World:
        scenes = tuple(sample_scene(number, split) for number in numbers)
        images = tuple(draw(scene, SIZE) for scene in scenes)
        return cls(scenes, images, dict(zip(map(key_of, images), scenes, strict=True)))

    def write(self, folder: Path) -> Path:
        """Images, and a file that lists them; the list's path."""
        folder.mkdir(parents=True, exist_ok=True)
        lines = []
        for number, image in enumerate(self.images):
            image.save(folder / f"{number:05d}.png", compress_level=1)
            turns = [{"role": "user", "content": PROMPT}]
            lines.append(json.dumps({"image": f"{number:05d}.png", "prompt": turns}))
        listed = folder / "images.jsonl"
        write_text(listed, "\n".join(lines) + "\n")
        return listed


@dataclass(frozen=True, slots=True)
class OracleVerifier:
    """The truth, as a verifier of sentences in their caption."""

    world: World

    @property
    def settings(self) -> Mapping[str, str]:
        return {"verifier": "oracle"}

    def verify(self, tasks: Sequence[VerifyTask]) -> list[tuple[UnitVerdict, ...]]:
        """A verdict per unit; none where the oracle finds no claim, or does not understand it."""
        return [
            tuple(
                UnitVerdict(truth is Truth.TRUE)
                if truth in (Truth.TRUE, Truth.FALSE)
                else UnitVerdict(None, unscored=str(truth))
                for truth in truths(
                    self.world.by_key[key_of(task.image)], [u.text for u in task.caption.units]
                )
            )
            for task in tasks
        ]


def truths(scene: Scene, sentences: Sequence[str]) -> Iterator[Truth]:
    """The truth of a caption's sentences, each after those before it."""
    state = State()
    for sentence in sentences:
        truth, state = read(scene, state, sentence)
        yield truth


def sample(
    engine: Engine, images: Sequence[Image.Image], count: int, sampling: Sampling | None
) -> list[list[str]]:
    """`count` captions of each image, sampled; or greedy ones, which are all the same."""
    prompts = [Prompt((Picture(image), Template(PROMPT)), shared=2) for image in images]
    asked = [prompt for prompt in prompts for _ in range(count)]
    written = engine.generate(asked, MAX_TOKENS, sampling)
    texts = ["" if isinstance(one, Failed) else one.text for one in written]
    return [texts[k : k + count] for k in range(0, len(texts), count)]


def rows(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file."""
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)
