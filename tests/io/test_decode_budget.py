"""What decoding costs is known from the header, is refused beyond a limit, and shares a budget."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from PIL import Image

from revise_captions.errors import BadRecord, Reason
from revise_captions.io import decoding
from revise_captions.io.decode_budget import DecodeBudget, decoded_bytes
from revise_captions.io.decoding import LIMITS, ImageLimits, decode, full_size, reduced

SIDE = 1500
ROTATED = Image.Exif()
ROTATED[0x0112] = 6
MEASURE = """
import io, json, sys
from PIL import Image
from revise_captions.io.decode_budget import decoded_bytes
from revise_captions.io.decoding import LIMITS, decode, reduced

def status(name):
    with open("/proc/self/status") as file:
        return int(next(line for line in file if line.startswith(name)).split()[1]) * 1024

data = open(sys.argv[1], "rb").read()
warm = open(sys.argv[2], "rb").read()
keep = reduced if sys.argv[3] == "reduced" else None
decode(warm, LIMITS, keep=keep)
before = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
decode(data, LIMITS, keep=keep)
with Image.open(io.BytesIO(data)) as image:
    print(json.dumps([status("VmHWM") - before, decoded_bytes(image, data, whole=keep is None)]))
"""


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def picture(mode: str, side: int) -> Image.Image:
    y, x = np.mgrid[0:side, 0:side]
    gray = ((x + y) // 31 % 256).astype(np.uint8)
    if mode == "I;16":
        return Image.fromarray(gray.astype(np.uint16) * 257)
    if mode == "F":
        return Image.fromarray(gray.astype(np.float32))
    return Image.fromarray(np.stack([gray, 255 - gray, gray // 2], -1)).convert(mode)


def measured(folder, side: int, kind: str, mode: str, keep: str, **options: object) -> list[int]:
    """The peak of decoding in a process of its own, and the estimate."""
    for name, length in (("large", side), ("small", 16)):
        (folder / name).write_bytes(encoded(picture(mode, length), kind, **options))
    files = [str(folder / name) for name in ("large", "small")]
    found: list[int] = json.loads(
        subprocess.check_output([sys.executable, "-c", MEASURE, *files, keep])
    )
    return found


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's marks")
@pytest.mark.parametrize(
    ("kind", "mode", "options"),
    [
        ("PNG", "RGB", {}),
        ("PNG", "RGBA", {}),
        ("PNG", "LA", {}),
        ("PNG", "P", {"transparency": 3}),
        ("PNG", "I;16", {}),
        ("PNG", "1", {}),
        ("PNG", "L", {}),
        (
            "JPEG",
            "RGB",
            {"exif": ROTATED},
        ),
        ("JPEG", "RGB", {"progressive": True, "subsampling": 0}),
        ("JPEG", "CMYK", {"progressive": True}),
        ("WEBP", "RGB", {}),
        ("WEBP", "RGBA", {"lossless": True}),
        ("TIFF", "F", {}),
        ("TIFF", "RGB", {"compression": "tiff_deflate", "tiffinfo": {278: SIDE}}),
        ("JPEG2000", "RGB", {}),
        ("GIF", "P", {}),
    ],
)
def test_the_estimate_from_the_header_is_what_decoding_takes(tmp_path, kind, mode, options):
    peak, estimate = measured(tmp_path, SIDE, kind, mode, "whole", **options)
    assert peak < estimate + (12 << 20)  # strips of 2 MiB in float64, and what is allocated anyway


@pytest.mark.skipif(not os.access("/proc/self/clear_refs", os.W_OK), reason="needs Linux's marks")
@pytest.mark.parametrize("mode", ["1", "L", "I;16"])
def test_what_has_no_color_is_never_rgb_as_a_whole(tmp_path, mode):
    peak, estimate = measured(tmp_path, 4000, "PNG", mode, "reduced")
    assert peak < estimate + (18 << 20)  # and 6 MiB that are kept, as RGB
    assert estimate <= 3 * 4000**2


@pytest.mark.parametrize("mode", ["1", "L", "I;16", "F", "RGB"])
def test_an_image_without_color_is_reduced_before_it_is_rgb(mode):
    data = encoded(picture(mode, SIDE), "TIFF")
    whole = reduced(decode(data, LIMITS))
    assert decode(data, LIMITS, keep=reduced) == whole
    assert whole.mode == "RGB"
    assert full_size(whole) == (SIDE, SIDE)


def test_bytes_are_the_limit_not_pixels():
    data = encoded(picture("I;16", 100), "PNG")
    with Image.open(io.BytesIO(data)) as image:
        need = decoded_bytes(image, data)
    assert need == 100 * 100 * 7
    assert decode(data, ImageLimits(max_decoded=need)).size == (100, 100)
    with pytest.raises(BadRecord) as caught:
        decode(data, ImageLimits(max_decoded=need - 1))
    assert caught.value.reason is Reason.IMAGE_TOO_LARGE
    assert "70,000 bytes when decoded; the limit is 69,999" in caught.value.detail


def test_decoders_share_a_budget(monkeypatch):
    budget = DecodeBudget(200_000)
    monkeypatch.setattr(decoding, "DECODE_BUDGET", budget)
    data = encoded(picture("RGB", 100), "PNG")  # 80,000 bytes each: two fit

    def keep(image: Image.Image) -> Image.Image:
        time.sleep(0.02)
        return image.resize((1, 1))

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: decode(data, decoding.LIMITS, keep), range(16)))
    assert budget.peak == 160_000
    assert budget.used == 0


def test_kept_images_count_until_they_are_gone_and_never_lock():
    budget = DecodeBudget(1000)
    held = [budget.keep(Image.new("RGB", (10, 10))) for _ in range(3)]
    assert budget.used == 1200
    assert budget.keep(held[0]) is held[0]  # once
    with budget.decoding(900):  # nothing else is being decoded, so it goes ahead
        assert budget.used == 2100
        entered = threading.Event()

        def another() -> None:
            with budget.decoding(100):
                entered.set()

        waiting = threading.Thread(target=another)
        waiting.start()
        assert not entered.wait(0.1)
    waiting.join(5)
    assert entered.is_set()
    del held
    assert budget.used == 0


def test_an_image_that_fails_gives_its_room_back(monkeypatch):
    budget = DecodeBudget()
    monkeypatch.setattr(decoding, "DECODE_BUDGET", budget)
    data = encoded(picture("RGB", 100), "PNG")
    with pytest.raises(BadRecord):
        decode(data[: len(data) // 2], decoding.LIMITS)
    assert budget.peak > 0
    assert budget.used == 0
