"""Images resized before the critic is asked: the same pixels, made once, gone with the image."""

from __future__ import annotations

import gc

import numpy as np
import pytest
from PIL import Image

from revise_captions.critic.paligemma import image_prefetch
from revise_captions.critic.paligemma.image_prefetch import ImagePrefetcher, resized
from revise_captions.records import ImageRef, Record
from revise_captions.runs.window_images import PreparesImages, with_images


def noise(seed: int) -> Image.Image:
    values = np.random.default_rng(seed).integers(0, 256, (40, 60, 3), dtype=np.uint8)
    return Image.fromarray(values)


@pytest.fixture
def counted(monkeypatch) -> list[int]:
    sizes: list[int] = []

    def counting(image: Image.Image, size: int) -> image_prefetch.Pixels:
        sizes.append(size)
        return resized(image, size)

    monkeypatch.setattr(image_prefetch, "resized", counting)
    return sizes


def test_what_was_prepared_is_taken_and_the_rest_is_made(counted):
    ahead, images = ImagePrefetcher(32), [noise(0), noise(1)]
    ahead.prepare(images[0])
    for image in images:
        assert np.array_equal(ahead.take(image), resized(image, 32))
    assert counted == [32, 32]
    assert not ahead._pixels


def test_what_is_never_asked_about_goes_with_its_image():
    ahead, image = ImagePrefetcher(32), noise(0)
    ahead.prepare(image)
    assert len(ahead._pixels) == 1
    del image
    gc.collect()
    assert not ahead._pixels


def test_another_image_at_the_same_address_is_not_mistaken_for_it():
    ahead, one, other = ImagePrefetcher(32), noise(0), noise(1)
    ahead.prepare(one)
    ahead._pixels[id(other)] = ahead._pixels.pop(id(one))
    assert np.array_equal(ahead.take(other), resized(other, 32))


class Preparing:
    """A critic that notes what it was given ahead."""

    threshold = 0.5

    def __init__(self) -> None:
        self.settings: dict[str, str] = {}
        self.seen: list[Image.Image] = []

    def prepare(self, image: Image.Image) -> None:
        self.seen.append(image)

    def judge(self, paragraphs):
        raise AssertionError

    explain = judge


def test_images_are_prepared_as_they_are_read():
    critic = Preparing()
    assert isinstance(critic, PreparesImages)
    rows = [Record("in.jsonl", k, ImageRef(path="x"), {"caption": "A cat."}) for k in range(3)]
    loaded = list(with_images([rows[:2], rows[2:]], lambda row: noise(row.line), critic))
    images = [image for window in loaded for _, image in window]
    assert {id(image) for image in critic.seen} == {id(image) for image in images}
    assert list(with_images([rows], None, critic)) == [[(row, None) for row in rows]]
