"""Hostile input for `fuzz.py`: rows, images, URLs, archives and answers of a model's server.

Everything is made by code from a `random.Random`, nothing is stored. `CORPUS` is what attacks on
the command have found, as rows of JSON Lines.
"""

from __future__ import annotations

import base64
import contextlib
import io
import json
import random
import struct
import tarfile
import threading
import zlib
from collections.abc import Iterator, Sequence
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from PIL import Image

GOOD_IMAGE = "good.png"
CAPTION = "A dog stands near the tree. Two birds float above a bench."
TEXTS = (
    *("", " \t\u3000", "\ud800", "\udfff\ud800", "\x00", "\x1b[31mred\x1b[0m", "\u202eesrever"),
    *(
        "a\u0301" * 50,
        "👩‍👩‍👧‍👦 " * 20,
        "犬が木のそばに立っている。",
        "Hello.World?Yes!" * 30,
        "." * 5000,
    ),
    *('"“‘(' * 500, "<script>alert(1)</script>", "{{7*7}}", "%s%n", "- " * 400, "\n\r\u2028" * 90),
    *("A. " * 3000, "no end", "1. 2. 3. a) b)", "<|im_end|>[INST]", "ﷺ" * 99, "x" * 100_000),
)
NAMES = (
    *("file://[x", "file://", "file:///etc/passwd", "http://[", "http://\u2100.test/a", "https://"),
    *("data:", "data:,", "data:image/png;base64", "data:image/png;base64,%", "\x00.png", "\ud800"),
    *("../" * 300 + "x", "a" * 5000, "/dev/zero", "/dev/stdin", "/proc/self/mem", ".", "C:\\a.png"),
    *("//[x/a.png", "ftp://x", "good.png/", "~/a", "A" * 64, "iVBOR" + "w" * 60, "good.png\n"),
)
NUMBERS = ("1e999", "-1e999", "NaN", "Infinity", "9" * 5000, "-" + "9" * 5000, "1E-5000", "-0", "7")
ODD: tuple[Any, ...] = (None, 5, 1.5, True, [], {}, [CAPTION], [[]], [None], [{}])
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF")


def _with(image: object = GOOD_IMAGE, caption: object = CAPTION, **more: object) -> bytes:
    return json.dumps({"image": image, "caption": caption, **more}).encode()


def _raw(value: str) -> bytes:
    return f'{{"image": "{GOOD_IMAGE}", "caption": "A dog.", "x": {value}}}'.encode()


def _nested(levels: int, before: str, inner: str, after: str) -> str:
    return before * levels + inner + after * levels


def _chunk(name: bytes, data: bytes) -> bytes:
    checksum = zlib.crc32(name + data)
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", checksum)


def png_header(width: int, height: int, depth: int = 8, kind: int = 2) -> bytes:
    """A PNG that claims this size."""
    head = struct.pack(">IIBBBBB", width, height, depth, kind, 0, 0, 0)
    data = _chunk(b"IHDR", head) + _chunk(b"IDAT", zlib.compress(bytes(1000)))
    return b"\x89PNG\r\n\x1a\n" + data + _chunk(b"IEND", b"")


def _inline(data: bytes) -> str:
    return "data:image/x;base64," + base64.b64encode(data).decode()


CORPUS: tuple[bytes, ...] = (
    *(_with(name) for name in NAMES),
    *(_with({"path": name}) for name in NAMES),
    *(_with(caption=text) for text in TEXTS),
    *(_raw(number) for number in NUMBERS),
    *(_raw(_nested(n, "[", "", "]")) for n in (150, 198, 199, 200, 600, 995, 100_000)),
    *(_raw(_nested(n, '{"a":', "1", "}")) for n in (150, 600, 995, 100_000)),
    (
        f'{{"image": {_nested(600, chr(123) + chr(34) + "path" + chr(34) + ":", "1", "}")}, '
        '"caption": "A."}'
    ).encode(),
    (
        f'{{"image": {_nested(150, "[", chr(34) + "good.png" + chr(34), "]")}, "caption": "A."}}'
    ).encode(),
    *(b"[" * 100_000, b'{"a":' * 100_000, b'"' + b'\\"' * 50_000, b"null", b"[]", b"{}", b'"x"'),
    *(b"\xff\xfe{}", b"\xef\xbb\xbf{}", b"\x00", b"\xed\xa0\x80", b'{"image": "good.png", "ca'),
    *(_with([]), _with([GOOD_IMAGE] * 2), _with(5), _with(True), _with({}), _with({"bytes": 7})),
    *(_with({"bytes": "%%%", "path": None}), _with({"bytes": [1, 2]}), _with([[GOOD_IMAGE]])),
    *(_with(caption=held) for held in ODD),
    *(_with(caption=[{"from": "gpt", "value": held}]) for held in (*ODD, CAPTION)),
    *(_with(revision=held) for held in (*ODD, {"sentences": 5}, {"sentences": [5]})),
    *(_with(_inline(png_header(*size))) for size in ((60_000, 60_000), (0, 5), (1 << 31, 1))),
    _with(_inline(png_header(3, 3, 16, 6))),
    _with(_inline(b"")),
    b'{"caption": "A.", "caption": "A dog stands.", "image": "x", "image": "good.png"}',
    b'{"\\u0072evision": 1, "revision": 2, "image": "good.png", "caption": "A."}',
)


# --- Rows ---------------------------------------------------------------------------------------


def good_rows(count: int = 40) -> list[bytes]:
    """Rows that any run writes, each its own text."""
    rng = random.Random("good")
    words = ("A dog stands near the tree.", "Two birds float above.", "The tall house is red.")
    rows = []
    for number in range(count):
        caption = " ".join(rng.choices(words, k=rng.randint(1, 4)))
        rows.append(_with(caption=f"{caption} It is number {number}.", id=number))
    return rows


def value(rng: random.Random, depth: int = 0) -> Any:
    """Any JSON value."""
    kind = rng.randrange(9 if depth < 4 else 6)
    if kind < 3:
        return rng.choice((*TEXTS, *NAMES, GOOD_IMAGE, CAPTION))[: rng.choice((3, 99, 10**6))]
    if kind == 3:
        return rng.choice((0, -1, 1, 2**63, -(2**70), 1e308, -0.0, 10**400, True, False, None))
    if kind < 6:
        return text(rng)
    if kind < 8:
        return {text(rng, 4): value(rng, depth + 1) for _ in range(rng.randrange(4))}
    return [value(rng, depth + 1) for _ in range(rng.randrange(4))]


def text(rng: random.Random, most: int = 60) -> str:
    """Characters of all planes, white space and marks of sentences."""
    some = '.?!…。 \n\t"“”()[]-*•:;,AbZ1²' + "\u200d\u0300\u202e\ufeff\U0001f600"
    picks = rng.choices(some, k=rng.randrange(most))
    picks += [chr(rng.randrange(0x110000)) for _ in range(rng.randrange(1 + most // 6))]
    rng.shuffle(picks)
    return "".join(picks)


def mutated(rng: random.Random, data: bytes) -> bytes:
    """A few bytes or stretches changed, doubled, cut out or cut off."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 16))):
        at = rng.randrange(len(changed) + 1)
        length = rng.choice((1, 1, 2, 4, 30))
        match rng.randrange(6):
            case 0:
                changed[at : at + length] = rng.randbytes(length)
            case 1:
                changed[at : at + length] = rng.choice((b"\xff", b"\x00", b"\x7f")) * length
            case 2:
                del changed[at : at + length]
            case 3:
                changed[at:at] = changed[rng.randrange(len(changed) + 1) :][: length * 9]
            case 4:
                changed[at:at] = rng.choice((b"[", b"{", b'"', b"\\u", b"1e9", b"\xed\xa0\x80"))
            case _:
                if rng.random() < 0.2:
                    del changed[at:]
    return bytes(changed)


def hostile_row(rng: random.Random, good: Sequence[bytes]) -> bytes:
    """One row of JSON Lines; it may even be a good one."""
    kind = rng.randrange(10)
    if kind < 2:
        row = rng.choice(CORPUS)
    elif kind < 4:
        row = mutated(rng, rng.choice((*good, *CORPUS))[:200_000])
    elif kind < 7:
        row = _with(_inline(hostile_image(rng)))
    elif kind == 7:
        row = _with(value(rng))
    elif kind == 8:
        row = _with(caption=rng.choice((text(rng, 900), value(rng))))
    else:
        row = _with(revision=value(rng), **{text(rng, 5) or "x": value(rng)})
    return row.replace(b"\n", b" ").replace(b"\r", b" ") or b"x"


def hostile_caption(rng: random.Random) -> bytes:
    """A good row but for its caption, which is not long: every sentence of it is parsed."""
    return _with(caption=rng.choice((text(rng, 200), rng.choice(TEXTS)[:300], CAPTION)))


def hostile_revision(rng: random.Random, row: bytes) -> bytes:
    """A row of a critique stage with one value inside its revision replaced."""
    data = json.loads(row)
    spoil_value(rng, data["revision"])
    return json.dumps(data).encode()


def spoil_value(rng: random.Random, tree: Any) -> None:
    """Replaces or removes one value somewhere inside a JSON object or array."""
    places = _places(tree)
    if not places:
        return
    holder, key = rng.choice(places)
    if rng.random() < 0.2:
        del holder[key]
    else:
        holder[key] = rng.choice((value(rng), holder[key], [holder[key]], 0.5, -1, 2, 10**400))


def _places(tree: Any) -> list[tuple[Any, Any]]:
    keys: list[Any] = list(tree) if isinstance(tree, dict) else []
    if isinstance(tree, list):
        keys = list(range(len(tree)))
    return [(tree, key) for key in keys] + [place for key in keys for place in _places(tree[key])]


# --- Images -------------------------------------------------------------------------------------


@cache
def _images() -> tuple[bytes, ...]:
    """A small image of each format and of some odd modes."""
    picture = Image.radial_gradient("L").resize((40, 30)).convert("RGB")
    frames = [Image.new("RGB", (9, 9), color) for color in ("red", "green", "blue")]
    kinds: list[tuple[Image.Image, str, dict[str, Any]]] = [(picture, kind, {}) for kind in FORMATS]
    kinds += [(picture.convert(mode), "PNG", {}) for mode in ("P", "LA", "RGBA", "1", "I;16")]
    kinds += [(picture.convert("CMYK"), "JPEG", {}), (picture.convert("F"), "TIFF", {})]
    kinds += [(frames[0], kind, {"save_all": True, "append_images": frames}) for kind in ("GIF",)]
    exif = Image.Exif()
    exif[0x0112], exif[0x010E] = 6, "x" * 99
    kinds += [(picture, "JPEG", {"exif": exif, "progressive": True})]
    found = []
    for image, kind, options in kinds:
        buffer = io.BytesIO()
        try:
            image.save(buffer, kind, **options)
        except (OSError, KeyError):  # this build of Pillow cannot write the format
            continue
        found.append(buffer.getvalue())
    return tuple(found)


def hostile_image(rng: random.Random) -> bytes:
    """A mutated image, two images in one, or a header that lies about its size."""
    data = rng.choice(_images())
    match rng.randrange(8):
        case 0:
            return data + rng.choice(_images())
        case 1:
            size = rng.choice((1, 3, 1000, 20_000, 70_000)), rng.choice((1, 5, 30_000))
            return png_header(*size, rng.choice((1, 8, 16)), rng.choice((0, 2, 3, 6)))
        case 2:
            cut = rng.randrange(len(data))
            return data[:cut] + rng.choice(_images())[cut:]
        case _:
            return mutated(rng, data)


# --- Archives, URLs, answers --------------------------------------------------------------------


def hostile_members(rng: random.Random, key: str) -> list[tuple[str, bytes]]:
    """The members of one row of a WebDataset tar."""
    caption = rng.choice((*TEXTS[:20], text(rng), CAPTION)).encode("utf-8", "surrogatepass")
    notes = rng.choice((*CORPUS[:-20], b"[" * 600 + b"]" * 600, b"", b'{"a": 1}'))
    members = [(f"{key}.png", hostile_image(rng)), (f"{key}.txt", caption), (f"{key}.json", notes)]
    kept = [member for member in members if rng.random() < 0.9]
    return kept or members[:1]


def tar_of(members: Sequence[tuple[str, bytes]], compression: str = "") -> bytes:
    """A tar archive."""
    buffer = io.BytesIO()
    mode: Any = f"w:{compression}"
    with tarfile.open(fileobj=buffer, mode=mode) as archive:
        for name, data in members:
            about = tarfile.TarInfo(name)
            about.size = len(data)
            archive.addfile(about, io.BytesIO(data))
    return buffer.getvalue()


ANSWERS: tuple[tuple[bytes, int, dict[str, str]], ...] = (
    (b"garbage", 200, {"Content-Encoding": "gzip"}),
    (b"garbage", 200, {"Content-Encoding": "deflate"}),
    (b"garbage", 500, {"Content-Encoding": "gzip"}),
    (b"[" * 100_000, 200, {}),
    (b'{"choices": ' + b"[" * 100_000, 200, {}),
    (b'{"error": ' + b"[" * 900 + b"]" * 900 + b"}", 400, {}),
    (b"{}", 429, {"Retry-After": "\u00b2"}),
    (b"{}", 503, {"Retry-After": "-1"}),
    (b"{}", 503, {"Retry-After": "9" * 400}),
    (b"", 200, {}),
    (b"null", 200, {}),
    (b"null", 400, {}),
    (b"\xff\xfe", 400, {"Content-Type": "text/plain; charset=nonsense"}),
    (b'"\xff"', 200, {}),
    (b"{}", 302, {"Location": "http://["}),
    (b'{"choices": [{"message": {"content": "\\ud800"}}]}', 200, {}),
    (b'{"choices": [{"message": {"content": ' + b"9" * 5000 + b"}}]}", 200, {}),
)
LOGPROBS = (0.0, 5, -(10**400), 10**400, 1e308, -1e308, float("nan"), float("inf"), "x", None, True)


Answer = tuple[bytes, int, dict[str, str], str]


def hostile_answer(rng: random.Random, answer: dict[str, Any]) -> Answer:
    """What a model's server sends instead of `answer`: body, status, headers, pace."""
    kind = rng.randrange(5)
    if kind == 0:
        return *rng.choice(ANSWERS), ""
    if kind == 1:
        return mutated(rng, json.dumps(answer).encode()), rng.choice((200, 200, 400, 500)), {}, ""
    if kind == 2:
        return json.dumps(answer).encode(), 200, {}, rng.choice(("cut", "cut", "drip", "stall"))
    logprobs = answer["choices"][0].get("logprobs")
    if kind == 3 and logprobs:
        for entry in logprobs["content"][0]["top_logprobs"]:
            entry["logprob"] = rng.choice(LOGPROBS)
    else:
        spoil_value(rng, answer)
    return json.dumps(answer).encode(), 200, {}, ""


TARGETS = (
    "http://[",
    "//[x",
    "/",
    "",
    "http://a:b/",
    "file:///etc/passwd",
    "x" * 9000,
    "\x80",
    "#",
)


def web_answer(rng: random.Random) -> tuple[int, list[tuple[str, str]], bytes]:
    """What a web server sends for an image."""
    body = hostile_image(rng)
    match rng.randrange(6):
        case 0:
            return rng.choice((301, 302, 307)), [("Location", rng.choice(TARGETS))], b""
        case 1:
            return rng.choice((200, 204, 206, 404, 500, 999)), [], body
        case 2:
            return 200, [("Content-Encoding", rng.choice(("gzip", "br", "\x80", "")))], body
        case 3:
            return 200, [("Content-Length", rng.choice(("-1", "x", "0", "9" * 30)))], body
        case 4:
            return 200, [("Transfer-Encoding", "chunked")], rng.choice((b"zz\r\n", b"-5\r\n", body))
        case _:
            return 200, [("X" * rng.choice((1, 70_000)), "y")], body


@contextlib.contextmanager
def web_server(rng: random.Random) -> Iterator[str]:
    """The address of a web server on this machine that answers a path always in the same way."""
    answers = [web_answer(rng) for _ in range(20)]
    closing = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

        def do_GET(self) -> None:
            kind = zlib.crc32(self.path.encode())
            status, headers, body = answers[kind % len(answers)]
            with contextlib.suppress(OSError):
                if kind % 7 == 0:
                    self._slowly(kind // 7, body)
                    return
                self.send_response(status)
                for name, value in headers:
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(body)

        def _slowly(self, kind: int, body: bytes) -> None:
            """Cut in the middle, or headers or a body that drip in without an end."""
            head = b"HTTP/1.0 200 OK\r\nContent-Length: %d\r\n" % (len(body) + 10**6)
            self.wfile.write(head + (b"\r\n" + body[: len(body) // 2] if kind % 3 else b""))
            while kind % 3 != 1 and not closing.wait(0.05):
                self.wfile.write(b"x")

    web = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web.daemon_threads = True
    threading.Thread(target=web.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{web.server_address[1]}"
    finally:
        closing.set()
        web.shutdown()
        web.server_close()
