"""Hostile files of the other layouts, for `fuzz.py`: CSV, COCO, chats, folders of images.

Each kind writes numbered rows in its layout, good and hostile ones, runs the command into the same
layout, and reads the output by other code than ours (`csv`, `json`, the folder itself): every
number is there once, in order, or in the quarantine, and good rows keep their caption. Then bytes
of the whole file are changed, which may end the run with status 2.
"""

from __future__ import annotations

import csv
import io
import json
import random
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from scripts.checks import hostile
from scripts.checks.fuzzing import DAMAGED, NO_RECORD, Broken, command, quarantined

ALLOWED = (0, NO_RECORD)
#: Rows that must come out with their caption as it was, among the hostile ones.
GOOD = 3


def _captions(rng: random.Random) -> list[str]:
    """Good captions first, then hostile ones that UTF-8 can hold."""
    bad = [
        rng.choice((hostile.text(rng), rng.choice(hostile.TEXTS)[:5000], hostile.CAPTION))
        for _ in range(rng.randint(1, 30))
    ]
    return [hostile.CAPTION] * GOOD + [text.encode("utf-8", "replace").decode() for text in bad]


def _image(rng: random.Random) -> str:
    name = rng.choice((*hostile.NAMES, *[hostile.GOOD_IMAGE] * 60))
    return name.encode("utf-8", "replace").decode()


def _compare(found: Sequence[tuple[int, str]], captions: Sequence[str], out: str) -> int:
    """Raises `Broken` where a number is missing, doubled or out of order, or a caption changed."""
    numbers = [number for number, _ in found]
    bad = quarantined(Path(out))
    if numbers != sorted(set(numbers)) or len(numbers) + len(bad) != len(captions):
        raise Broken(f"{len(captions)} rows in, {numbers} and {len(bad)} in quarantine out")
    for number, caption in found:
        if captions[number] != caption:
            raise Broken(f"row {number}: {captions[number][:200]!r} became {caption[:200]!r}")
    if not set(range(GOOD)) <= set(numbers):
        raise Broken(f"good rows among {bad}")
    return len(captions)


def table(rng: random.Random, _: list[bytes]) -> int:
    """CSV or TSV with quoted line breaks, in a random dialect."""
    captions = _captions(rng)
    name = rng.choice(("csv", "tsv"))
    dialect: dict[str, Any] = {
        "delimiter": "\t" if name == "tsv" else rng.choice(",;"),
        "lineterminator": rng.choice(("\n", "\r\n")),
        "quoting": rng.choice((csv.QUOTE_ALL, csv.QUOTE_MINIMAL)),
    }
    buffer = io.StringIO()
    writer = csv.writer(buffer, **dialect)
    odd = "x\u00a0" if rng.random() < 0.5 else "n2"
    writer.writerow(["n", "image", "caption", odd])
    images = [hostile.GOOD_IMAGE] * GOOD + [_image(rng) for _ in captions[GOOD:]]
    for k, (image, caption) in enumerate(zip(images, captions, strict=True)):
        writer.writerow([k, image.replace("\x00", ""), caption.replace("\x00", ""), "a,b;\t"])
    data = buffer.getvalue().encode()
    Path(f"in.{name}").write_bytes(data)
    command(f"in.{name}", f"out.{name}", allowed=ALLOWED)
    csv.field_size_limit(sys.maxsize)
    out = Path(f"out.{name}").read_bytes().decode()
    rows = csv.DictReader(io.StringIO(out, newline=""), delimiter=dialect["delimiter"])
    found = [(int(row["n"]), row["caption"]) for row in rows]
    count = _compare(found, [c.replace("\x00", "") for c in captions], f"out.{name}")
    Path(f"cut.{name}").write_bytes(hostile.mutated(rng, data))
    command(f"cut.{name}", f"cut.out.{name}", allowed=DAMAGED)
    return count


def coco(rng: random.Random, _: list[bytes]) -> int:
    """COCO captions whose annotations name images that are not there, twice or oddly."""
    captions = _captions(rng)
    files = [hostile.GOOD_IMAGE] + [_image(rng) for _ in range(5)]
    images = [{"id": k, "file_name": name} for k, name in enumerate(files)]
    notes: list[dict[str, Any]] = [
        {"id": k, "image_id": 0 if k < GOOD else rng.randrange(8), "caption": caption}
        for k, caption in enumerate(captions)
    ]
    for note in rng.sample(notes[GOOD:], min(2, len(notes) - GOOD)):
        note["image_id"] = hostile.value(rng)
    data = json.dumps(
        {"images": images, "annotations": notes, "info": hostile.value(rng)},
        indent=rng.choice((None, 1)),
    ).encode()
    Path("in.json").write_bytes(data)
    command("in.json", "out.json", allowed=ALLOWED)
    written = json.loads(Path("out.json").read_bytes())["annotations"]
    count = _compare([(note["id"], note["caption"]) for note in written], captions, "out.json")
    Path("cut.json").write_bytes(hostile.mutated(rng, data))
    command("cut.json", "cut.out.json", allowed=DAMAGED)
    return count


def chats(rng: random.Random, _: list[bytes]) -> int:
    """LLaVA's conversations and chat messages with turns that nobody wrote."""
    captions = _captions(rng)
    rows: list[dict[str, Any]] = []
    for k, caption in enumerate(captions):
        image = hostile.GOOD_IMAGE if k < GOOD else _image(rng)
        turns = [
            {"from": "human", "value": "<image>\nDescribe it."}, {"from": "gpt", "value": caption},
        ]  # fmt: skip
        row = {"id": k, "image": image, "conversations": turns}
        if k >= GOOD and rng.random() < 0.2:
            hostile.spoil_value(rng, row["conversations"])
        rows.append(row)
    data = json.dumps(rows).encode()
    Path("in.json").write_bytes(data)
    command("in.json", "out.json", allowed=ALLOWED)
    written = json.loads(Path("out.json").read_bytes())
    for row in written:
        if row["conversations"] != rows[row["id"]]["conversations"]:
            raise Broken(f"the turns of row {row['id']} changed")
    found = [(row["id"], captions[row["id"]]) for row in written]
    count = _compare(found, captions, "out.json")
    Path("cut.json").write_bytes(hostile.mutated(rng, data))
    command("cut.json", "cut.out.json", allowed=DAMAGED)
    return count


def sidecars(rng: random.Random, _: list[bytes]) -> int:
    """A folder of images, some of them none, with captions beside them."""
    captions = _captions(rng)
    folder = Path("in")
    folder.mkdir()
    for k, caption in enumerate(captions):
        image = folder / f"{k:04}.png"
        if k < GOOD:
            shutil.copy(hostile.GOOD_IMAGE, image)
        else:
            image.write_bytes(hostile.hostile_image(rng))
        image.with_suffix(".txt").write_bytes(caption.encode())
    command("in", "out", allowed=ALLOWED)
    texts = sorted(p for p in Path("out").glob("*.txt") if p.suffixes == [".txt"])
    found = [(int(p.stem), p.read_bytes().decode()) for p in texts]
    return _compare(found, captions, "out")


def metadata(rng: random.Random, _: list[bytes]) -> int:
    """An image folder with `metadata.jsonl` or `metadata.csv`."""
    captions = _captions(rng)
    folder = Path("in")
    folder.mkdir()
    shutil.copy(hostile.GOOD_IMAGE, folder)
    names = [hostile.GOOD_IMAGE] * GOOD + [_image(rng) for _ in captions[GOOD:]]
    rows: list[dict[str, Any]] = [
        {"n": k, "file_name": name.replace("\x00", ""), "text": caption.replace("\x00", "")}
        for k, (name, caption) in enumerate(zip(names, captions, strict=True))
    ]
    if lines := rng.random() < 0.5:
        data = b"\n".join(json.dumps(row).encode() for row in rows)
    else:
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, ["n", "file_name", "text"])
        writer.writeheader()
        writer.writerows(rows)
        data = buffer.getvalue().encode()
    name = "metadata.jsonl" if lines else "metadata.csv"
    (folder / name).write_bytes(data)
    command("in", "out", allowed=ALLOWED)
    out = (Path("out") / name).read_bytes().decode()
    read = (
        [json.loads(line) for line in out.split("\n") if line]
        if lines
        else list(csv.DictReader(io.StringIO(out, newline="")))
    )
    found = [(int(row["n"]), row["text"]) for row in read]
    return _compare(found, [row["text"] for row in rows], "out")


KINDS: dict[str, Callable[[random.Random, list[bytes]], int]] = {
    "csv": table,
    "coco": coco,
    "chats": chats,
    "sidecars": sidecars,
    "metadata": metadata,
}
