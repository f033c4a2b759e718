"""Memory grows neither with the file nor with what a file claims: the command's peak, with
scripted models."""

from __future__ import annotations

import gzip
import io
import json
import os
import struct
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import zstandard
from PIL import Image

from revise_captions.io.fields import MAX_CAPTION

SCRIPT = Path(__file__).parents[1] / "support/scripted_run.py"


def peak(folder: Path, records: int) -> float:
    """The highest resident memory in MiB of a run over so many records, its report included."""
    Image.new("RGB", (8, 8), "red").save(folder / "a.png")
    source, out = folder / f"{records}.jsonl", folder / "out.jsonl"
    with source.open("w") as file:
        for number in range(records):
            text = f"Dog {number} stands near the tree. It looks at bench {number % 97}."
            row = {"image": "a.png", "caption": text, "by": number % 500}
            file.write(json.dumps(row) + "\n")
    command = [sys.executable, str(SCRIPT), str(source), str(out), "--force", "--group-by", "by"]
    mark = folder / "peak"
    subprocess.run(
        [*command, "--report", str(folder / "r.html")],
        env={**os.environ, "SCRIPTED_FAST": "1", "SCRIPTED_PEAK": str(mark)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    with out.open() as file:
        assert sum(1 for _ in file) == records
    return int(mark.read_text()) / 1024


@pytest.mark.slow
def test_ten_times_the_records_need_no_more_memory(tmp_path):
    """Groups are bounded too (`MAX_GROUPS`); both files have more than that."""
    small, large = peak(tmp_path, 5_000), peak(tmp_path, 50_000)
    assert large < small + 25
    assert large < 400


@pytest.mark.slow
@pytest.mark.timeout(7200)
def test_a_million_records_in_less_than_a_gigabyte(tmp_path):
    assert peak(tmp_path, 1_000_000) < 1000


# --- Bombs ----------------------------------------------------------------------------------------

MIB = 1 << 20
GOOD = '{"image": "a.png", "caption": "A dog stands near the tree."}\n'


def png_bomb(side: int = 9459) -> bytes:
    """16 bits, all black: 200 kB that were 2.5 GB when decoded."""
    packer = zlib.compressobj(9)
    rows = b"".join(packer.compress(bytes(2 * side + 1)) for _ in range(side)) + packer.flush()

    def chunk(kind: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(kind + body))
        return struct.pack(">I", len(body)) + kind + body + check

    head = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 16, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + head + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


def images(folder: Path) -> tuple[Path, int, int]:
    (folder / "bomb.png").write_bytes(png_bomb())
    rows = GOOD + GOOD.replace("a.png", "bomb.png") * 6
    (folder / "in.jsonl").write_text(rows)
    return folder / "in.jsonl", 7, 0


def line_bomb() -> Iterator[bytes]:
    yield GOOD.encode() + b'{"image": "a.png", "caption": "'
    yield from (b"x" * MIB for _ in range(1024))
    yield b'"}\n' + GOOD.encode()


def zst(folder: Path) -> tuple[Path, int, int]:
    with zstandard.open(folder / "in.jsonl.zst", "wb") as file:
        for piece in line_bomb():
            file.write(piece)
    return folder / "in.jsonl.zst", 2, 1


def gz(folder: Path) -> tuple[Path, int, int]:
    with gzip.open(folder / "in.jsonl.gz", "wb", 1) as file:
        for piece in line_bomb():
            file.write(piece)
    return folder / "in.jsonl.gz", 2, 1


def values(folder: Path) -> tuple[Path, int, int]:
    """60 MB that would be 1.3 GB of Python objects, in a row and in an array's element."""
    row = '{"image": "a.png", "caption": "A.", "x": [' + "[]," * 20_000_000 + "0]}"
    (folder / "in.jsonl").write_text(GOOD + row + "\n" + GOOD)
    return folder / "in.jsonl", 2, 1


def elements(folder: Path) -> tuple[Path, int, int]:
    with gzip.open(folder / "in.json.gz", "wb", 1) as file:
        file.write(f'[{GOOD}, {{"x": "'.encode())
        for _ in range(512):
            file.write(b"x" * MIB)
        file.write(f'"}}, {GOOD}]'.encode())
    return folder / "in.json.gz", 2, 1


def tar(folder: Path) -> tuple[Path, int, int]:
    """Three rows of 250 MB each, of which one member is too large; and a good one."""
    zeros = gzip.compress(bytes(250 * MIB), 1)

    def header(name: str, size: int) -> bytes:
        info = tarfile.TarInfo(name)
        info.size = size
        return gzip.compress(info.tobuf())

    with (folder / "in.tgz").open("wb") as file:
        for key in range(3):
            file.write(header(f"{key}.jpg", 250 * MIB) + zeros)
            file.write(header(f"{key}.txt", 2) + gzip.compress(b"A.".ljust(512, b"\0")))
        picture = io.BytesIO()
        Image.new("RGB", (8, 8), "red").save(picture, "PNG")
        body = picture.getvalue()
        file.write(header("3.jpg", len(body)) + gzip.compress(body.ljust(512, b"\0")))
        file.write(header("3.txt", 2) + gzip.compress(b"A.".ljust(512, b"\0")))
        file.write(gzip.compress(bytes(1024)))
    return folder / "in.tgz", 1, 3


@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    "make",
    [
        tar,
        *(pytest.param(n, marks=pytest.mark.slow) for n in (values, zst, images, gz, elements)),
    ],
)
def test_a_bomb_costs_its_record_and_no_more_than_1500_mb(tmp_path, make):
    """What is small on disk and large in memory, through the whole command."""
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    attack: Callable[[Path], tuple[Path, int, int]] = make
    source, good, bad = attack(tmp_path)
    out, mark = tmp_path / "out.jsonl", tmp_path / "peak"
    subprocess.run(
        [sys.executable, str(SCRIPT), str(source), str(out), "--report", str(tmp_path / "r.html")],
        env={**os.environ, "SCRIPTED_PEAK": str(mark)},
        check=True,
        capture_output=True,
    )
    peak = int(mark.read_text()) * 1024 / 1e6
    print(f"{make.__name__}: {source.stat().st_size:,} bytes on disk, peak {peak:,.0f} MB")
    assert len(out.read_text().splitlines()) == good
    quarantine = tmp_path / "out.quarantine.jsonl"
    assert len(quarantine.read_text().splitlines() if quarantine.exists() else []) == bad
    assert peak < 1500


def test_an_archive_that_is_a_bomb_as_a_whole_is_refused(tmp_path):
    """A 3 MB archive of 3 GB ends within its first gigabyte."""
    zeros = gzip.compress(bytes(250 * MIB), 1)
    info = tarfile.TarInfo("1.jpg")
    info.size = 250 * MIB
    (tmp_path / "in.tgz").write_bytes((gzip.compress(info.tobuf()) + zeros) * 12)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), str(tmp_path / "in.tgz"), str(tmp_path / "out.jsonl")],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert "times its size" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_caption_at_its_limit_takes_seconds_and_one_beyond_is_refused(tmp_path):
    """36,000 sentences; nothing between reading and report grows with their square."""
    Image.new("RGB", (8, 8), "red").save(tmp_path / "a.png")
    text = "A dog stands near the tree. " * (MAX_CAPTION // 28)
    rows = [{"image": "a.png", "caption": text.ljust(size, "x")} for size in (0, MAX_CAPTION + 1)]
    source, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_text("".join(json.dumps(row) + "\n" for row in rows))
    subprocess.run(
        [sys.executable, str(SCRIPT), str(source), str(out), "--report", str(tmp_path / "r.html")],
        env={**os.environ, "SCRIPTED_FAST": "1"},
        check=True,
        capture_output=True,
        timeout=120,
    )
    (row,) = [json.loads(line) for line in out.read_text().splitlines()]
    assert len(row["revision"]["sentences"]) == MAX_CAPTION // 28
    (refused,) = (tmp_path / "out.quarantine.jsonl").read_text().splitlines()
    assert json.loads(refused)["reason"] == "caption_too_long"


KEPT = """
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from revise_captions.process_memory import keep_freed_memory
from revise_captions.io.decoding import LIMITS, decode, reduced
from revise_captions.process_memory import peak_memory

keep_freed_memory()
data = Path(sys.argv[1]).read_bytes()
with ThreadPoolExecutor(3) as pool:
    sizes = {image.size for image in pool.map(lambda _: decode(data, LIMITS, reduced), range(4))}
assert len(sizes) == 1
print(peak_memory() // 1024)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="keeping freed memory is asked of glibc")
def test_threads_give_back_what_decoding_took_where_a_model_keeps_memory(tmp_path):
    """Each of three threads kept what its largest image had taken: 2 GB."""
    (tmp_path / "bomb.png").write_bytes(png_bomb())
    done = subprocess.run(
        [sys.executable, "-c", KEPT, str(tmp_path / "bomb.png")],
        capture_output=True,
        text=True,
        check=True,
    )
    assert int(done.stdout) * 1024 < 1_200e6


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing is inherited")
def test_a_peak_is_not_that_of_the_process_which_started_this_one():
    held = b"1" * (300 << 20)
    code = "from revise_captions.process_memory import peak_memory; print(peak_memory())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert 5 << 20 < int(done.stdout) < len(held)
