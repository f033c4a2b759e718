from __future__ import annotations

import base64
import io
import os
import struct
import threading
import zlib
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile, PngImagePlugin

from revise_captions.errors import BadRecord, Reason
from revise_captions.io.decoding import ImageLimits
from revise_captions.io.images import load_image, parse_image
from revise_captions.records import ImageRef

RED, WHITE = (255, 0, 0), (255, 255, 255)


def encoded(image: Image.Image, kind: str, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def decoded(data: bytes, **options: object) -> Image.Image:
    return load_image(ImageRef(data=data), **options)


def noise(kind: str, **options: object) -> bytes:
    pixels = np.random.default_rng(7).integers(0, 255, (120, 160, 3), dtype=np.uint8)
    return encoded(Image.fromarray(pixels), kind, **options)


def refused(ref: ImageRef, **options: object) -> BadRecord:
    with pytest.raises(BadRecord) as caught:
        load_image(ref, **options)
    return caught.value


# --- Pixels -------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["PNG", "BMP", "TIFF", "PPM", "GIF"])
def test_lossless_formats_give_the_pixels(kind):
    image = Image.new("RGB", (3, 2), RED)
    image.putpixel((2, 1), (0, 0, 255))
    loaded = decoded(encoded(image, kind))
    assert loaded.mode == "RGB"
    assert loaded.tobytes() == image.tobytes()


@pytest.mark.parametrize("orientation", range(1, 9))
def test_exif_orientation_is_applied(orientation):
    upright = Image.new("RGB", (32, 16), WHITE)
    upright.paste(RED, (0, 0, 16, 8))  # red: the top left quarter
    undo = {  # how a camera stores the upright picture for each orientation tag
        2: [Image.Transpose.FLIP_LEFT_RIGHT],
        3: [Image.Transpose.ROTATE_180],
        4: [Image.Transpose.FLIP_TOP_BOTTOM],
        5: [Image.Transpose.TRANSPOSE],
        6: [Image.Transpose.ROTATE_90],
        7: [Image.Transpose.TRANSVERSE],
        8: [Image.Transpose.ROTATE_270],
    }
    stored = upright
    for step in undo.get(orientation, []):
        stored = stored.transpose(step)
    exif = Image.Exif()
    exif[0x0112] = orientation
    loaded = decoded(encoded(stored, "JPEG", exif=exif, quality=95))
    assert loaded.size == (32, 16)
    difference = np.abs(np.asarray(loaded, int) - np.asarray(upright, int))
    assert difference.mean() < 6


def test_first_frame_of_animations():
    frames = [Image.new("RGB", (8, 8), colour) for colour in (RED, (0, 255, 0))]
    for kind in ("GIF", "WEBP", "PNG"):
        options = {"lossless": True} if kind == "WEBP" else {}
        data = encoded(frames[0], kind, save_all=True, append_images=frames[1:], **options)
        assert decoded(data).getpixel((4, 4)) == RED


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparency_is_laid_on_white(mode):
    image = Image.new(mode, (2, 1), (0,) * len(mode))  # black, fully transparent
    image.putpixel((1, 0), (0, 255) if mode == "LA" else (255, 0, 0, 255))
    loaded = decoded(encoded(image, "PNG"))
    assert loaded.getpixel((0, 0)) == WHITE
    assert loaded.getpixel((1, 0)) == ((0, 0, 0) if mode == "LA" else RED)


def test_transparent_palette_and_colour_key_are_laid_on_white():
    palette = Image.new("P", (2, 1))
    palette.putpalette([0, 0, 0, 255, 0, 0])
    palette.putpixel((1, 0), 1)
    loaded = decoded(encoded(palette, "PNG", transparency=0))
    assert [loaded.getpixel((x, 0)) for x in (0, 1)] == [WHITE, RED]
    keyed = decoded(encoded(Image.new("RGB", (1, 1), RED), "PNG", transparency=RED))
    assert keyed.getpixel((0, 0)) == WHITE


def test_cmyk_jpeg():
    red = Image.new("CMYK", (16, 16), (0, 255, 255, 0))
    r, g, b = decoded(encoded(red, "JPEG", quality=95)).getpixel((8, 8))
    assert r > 240
    assert max(g, b) < 15


def test_16_bit_is_scaled_not_clipped():
    values = np.array([[0, 257, 32_896, 65_535]], dtype=np.uint16)
    for kind in ("PNG", "TIFF"):
        loaded = decoded(encoded(Image.fromarray(values), kind))
        assert [loaded.getpixel((x, 0))[0] for x in range(4)] == [0, 1, 128, 255]


@pytest.mark.parametrize(
    ("values", "expected"),
    [([0.0, 0.5, 1.0], [0, 128, 255]), ([0, 10, 255], [0, 10, 255]), ([-1, 0, 1], [0, 128, 255])],
)
def test_float_tiff(values, expected):
    data = encoded(Image.fromarray(np.array([values], dtype=np.float32)), "TIFF")
    assert [decoded(data).getpixel((x, 0))[0] for x in range(3)] == expected


def test_32_bit_integers():
    data = encoded(Image.fromarray(np.array([[0, 32_896, 65_535]], dtype=np.int32)), "TIFF")
    assert [decoded(data).getpixel((x, 0))[0] for x in range(3)] == [0, 128, 255]


# --- Damage -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "options"),
    [("JPEG", {}), ("JPEG", {"progressive": True}), ("PNG", {}), ("WEBP", {}), ("GIF", {})],
)
@pytest.mark.parametrize("share", [0.1, 0.5, 0.95])
def test_truncated(kind, options, share):
    data = noise(kind, **options)
    error = refused(ImageRef(data=data[: int(len(data) * share)]))
    assert error.reason is Reason.IMAGE_TRUNCATED


def test_truncated_even_where_the_process_tolerates_it(monkeypatch):
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", True)
    data = noise("JPEG")
    assert refused(ImageRef(data=data[: len(data) // 2])).reason is Reason.IMAGE_TRUNCATED
    assert ImageFile.LOAD_TRUNCATED_IMAGES is True


def icon() -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (16, 16), "red").save(file, "ICO")
    return file.getvalue()


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"<svg xmlns='http://www.w3.org/2000/svg'/>", "SVG"),
        (b"\xef\xbb\xbf<?xml version='1.0'?><svg/>", "XML or SVG"),
        (b"\n<!DOCTYPE html><html>404</html>", "HTML"),
        (b"%PDF-1.7", "PDF"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", "PostScript"),
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:0", "git lfs pull"),
        (b"\0\0\0\x18ftypheic\0\0\0\0", "HEIC"),
        (icon(), "ICO is not supported; convert it to PNG"),
        (b"\0\0\1\0ftypavif" + b"\0" * 99, "a damaged AVIF"),
        (b"just words", "not a known image format"),
        (b"\x89PNG\r\n\x1a\n" + b"\0" * 64, "PNG"),
    ],
)
def test_not_an_image(data, said):
    error = refused(ImageRef(data=data))
    assert error.reason in (Reason.IMAGE_UNREADABLE, Reason.IMAGE_TRUNCATED)
    assert said in error.detail


def png_of_size(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    data = chunk(b"IDAT", zlib.compress(b"\0" * 10_000))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + data + chunk(b"IEND", b"")


@pytest.mark.filterwarnings("ignore::PIL.Image.DecompressionBombWarning")
@pytest.mark.parametrize("side", [10_000, 50_000, 2**31 - 1])
def test_decompression_bomb_is_refused_by_its_header(side):
    error = refused(ImageRef(data=png_of_size(side, side)))
    assert error.reason is Reason.IMAGE_TOO_LARGE


def test_zero_size_is_refused():
    assert refused(ImageRef(data=png_of_size(0, 10))).reason is Reason.IMAGE_UNREADABLE


def test_text_chunk_bomb_is_refused():
    info = PngImagePlugin.PngInfo()
    info.add_text("comment", "a" * (80 << 20), zip=True)  # 80 MB in 80 kB
    error = refused(ImageRef(data=encoded(Image.new("RGB", (4, 4)), "PNG", pnginfo=info)))
    assert error.reason is Reason.IMAGE_UNREADABLE


def test_limits_are_settable(tmp_path):
    data = encoded(Image.new("RGB", (20, 20)), "PNG")
    (tmp_path / "a.png").write_bytes(data)
    few_pixels = ImageLimits(max_pixels=399)
    assert refused(ImageRef(data=data), limits=few_pixels).reason is Reason.IMAGE_TOO_LARGE
    assert decoded(data, limits=ImageLimits(max_pixels=400)).size == (20, 20)
    few_bytes = ImageLimits(max_bytes=len(data) - 1)
    for ref in (ImageRef(data=data), ImageRef(path=str(tmp_path / "a.png"))):
        assert refused(ref, limits=few_bytes).reason is Reason.IMAGE_TOO_LARGE


# --- Paths --------------------------------------------------------------------------------------


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    (tmp_path / "root" / "sub").mkdir(parents=True)
    picture = encoded(Image.new("RGB", (2, 2), RED), "PNG")
    for name in ("root/in.png", "root/sub/deep.png", "outside.png"):
        (tmp_path / name).write_bytes(picture)
    (tmp_path / "root" / "link.png").symlink_to(tmp_path / "outside.png")
    (tmp_path / "root" / "fine.png").symlink_to(tmp_path / "root" / "in.png")
    (tmp_path / "root" / "loop.png").symlink_to(tmp_path / "root" / "loop.png")
    return tmp_path


def test_inside_the_root(tree):
    inside = [
        "in.png",
        "sub/deep.png",
        "sub/../in.png",
        "fine.png",
        str(tree / "root" / "in.png"),
    ]
    for path in inside:
        assert load_image(ImageRef(path=path), root=tree / "root").size == (2, 2)


@pytest.mark.parametrize(
    "path", ["../outside.png", "link.png", "sub/../../outside.png", "/etc/passwd", "/"]
)
def test_outside_the_root(tree, path):
    error = refused(ImageRef(path=path), root=tree / "root")
    assert error.reason is Reason.IMAGE_OUTSIDE_ROOT


def test_a_root_that_is_itself_a_link(tree):
    (tree / "alias").symlink_to(tree / "root")
    assert load_image(ImageRef(path="in.png"), root=tree / "alias").size == (2, 2)


@pytest.mark.parametrize("path", ["../outside.png", "sub/../../outside.png", "/etc/passwd", ".."])
def test_without_a_root_paths_stay_in_the_inputs_folder(tree, path):
    error = refused(ImageRef(path=path), folder=tree / "root")
    assert error.reason is Reason.IMAGE_OUTSIDE_ROOT
    assert "--image-root" in error.detail


def test_without_a_root_links_and_absolute_paths_inside_are_read(tree):
    folder = tree / "root"
    for path in ("in.png", "sub/../in.png", "link.png", str(folder / "in.png")):
        assert load_image(ImageRef(path=path), folder=folder).size == (2, 2)


def test_with_neither_root_nor_folder_any_path_is_read(tree):
    assert load_image(ImageRef(path=str(tree / "outside.png"))).size == (2, 2)


@pytest.mark.parametrize("path", ["no.png", "in.png/x", "a" * 300 + ".png", "a\0b", "\ud800.png"])
@pytest.mark.parametrize("rooted", [True, False])
def test_missing(tree, path, rooted):
    root = tree / "root" if rooted else None
    error = refused(ImageRef(path=path), root=root, folder=tree / "root")
    assert error.reason is Reason.IMAGE_NOT_FOUND


def test_things_that_are_no_files(tree):
    os.mkfifo(tree / "root" / "pipe.png")
    results: list[BadRecord] = []

    def attempt() -> None:
        results.extend(
            refused(ImageRef(path=path), folder=None if path[0] == "/" else tree / "root")
            for path in ("pipe.png", "sub", "/dev/zero", "loop.png", "s3://bucket/a.png")
        )

    worker = threading.Thread(target=attempt, daemon=True)
    worker.start()
    worker.join(5)
    assert not worker.is_alive()
    assert [error.reason for error in results] == [Reason.IMAGE_UNREADABLE] * 5


def test_urls_need_permission():
    error = refused(ImageRef(url="https://example.org/a.jpg"))
    assert error.reason is Reason.URL_NOT_ALLOWED
    assert "--allow-urls" in error.detail


# --- Values -------------------------------------------------------------------------------------

TINY = encoded(Image.new("RGB", (9, 9), RED), "PNG")
B64 = base64.b64encode(TINY).decode()


@pytest.mark.parametrize(
    ("value", "ref"),
    [
        ("images/1.jpg", ImageRef(path="images/1.jpg")),
        ("/9j/" + "a" * 40 + ".j", ImageRef(path="/9j/" + "a" * 40 + ".j")),  # starts like a JPEG
        ("COCO_val2014_000000000042", ImageRef(path="COCO_val2014_000000000042")),
        ("a/" * 60 + "file", ImageRef(path="a/" * 60 + "file")),
        ("file:///tmp/a%20b.png", ImageRef(path="/tmp/a b.png")),
        ("HTTPS://example.org/x.png", ImageRef(url="HTTPS://example.org/x.png")),
        (TINY, ImageRef(data=TINY)),
        (bytearray(TINY), ImageRef(data=TINY)),
        (B64, ImageRef(data=TINY)),
        (B64.rstrip("="), ImageRef(data=TINY)),
        ("\n".join(B64[i : i + 76] for i in range(0, len(B64), 76)), ImageRef(data=TINY)),
        (base64.urlsafe_b64encode(TINY).decode(), ImageRef(data=TINY)),
        (f"data:image/png;base64,{B64}", ImageRef(data=TINY)),
        ("data:text/plain,a%20b", ImageRef(data=b"a b")),
        ({"bytes": TINY, "path": "x.png"}, ImageRef(data=TINY)),
        ({"bytes": B64, "path": "x.png"}, ImageRef(data=TINY)),
        ({"bytes": None, "path": "x.png"}, ImageRef(path="x.png")),
        ({"url": "http://example.org/"}, ImageRef(url="http://example.org/")),
        (["x.png"], ImageRef(path="x.png")),
    ],
)
def test_parse_image(value, ref):
    assert parse_image(value) == ref


def test_long_base64_is_never_a_path():
    junk = base64.b64encode(b"\x01\x02\x03" * 3000).decode()
    assert parse_image(junk).data == b"\x01\x02\x03" * 3000


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "GIF", "BMP", "TIFF", "AVIF", "JPEG2000"])
def test_base64_of_every_format_is_recognised(kind):
    data = noise(kind)
    assert parse_image(base64.b64encode(data).decode()) == ImageRef(data=data)


def test_pillow_images_are_taken_without_loss():
    image = Image.new("RGB", (5, 4), RED)
    assert load_image(parse_image(image)).tobytes() == image.tobytes()


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (None, Reason.MISSING_IMAGE),
        ("", Reason.MISSING_IMAGE),
        ([], Reason.MISSING_IMAGE),
        (["a", "b"], Reason.MISSING_IMAGE),
        ({"bytes": None, "path": None}, Reason.MISSING_IMAGE),
        ({"width": 3}, Reason.MISSING_IMAGE),
        (17, Reason.IMAGE_UNREADABLE),
        ("data:image/png;base64", Reason.IMAGE_UNREADABLE),
        ("data:image/png;base64,@@@", Reason.IMAGE_UNREADABLE),
    ],
)
def test_parse_image_refuses(value, reason):
    with pytest.raises(BadRecord) as caught:
        parse_image(value)
    assert caught.value.reason is reason
