"""Parquet files with odd columns, for the fuzzer."""

from __future__ import annotations

import datetime
import decimal
import io
import json
import random
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as parquet

from scripts.checks import hostile


def table(rng: random.Random, good: Sequence[bytes]) -> pa.Table:
    """Rows with a number `n`, an image and a caption, and columns that are no JSON."""
    count = rng.randint(1, 150)
    captions = [hostile.CAPTION, *(_caption(rng, good) for _ in range(count - 1))]
    columns: dict[str, pa.Array] = {
        "n": pa.array(range(count)),
        "image": _images(rng, count),
        "caption": _captions(rng, captions),
    }
    for number in range(rng.randrange(4)):
        columns[f"{hostile.text(rng, 3)}{number}"] = _odd(rng, count)
    return pa.table(columns)


def encoded(rng: random.Random, made: pa.Table) -> bytes:
    buffer = io.BytesIO()
    parquet.write_table(
        made,
        buffer,
        row_group_size=rng.choice((1, 7, 64, 1000)),
        compression=rng.choice(("none", "snappy", "zstd", "gzip")),
        use_dictionary=rng.random() < 0.5,
        version=rng.choice(("1.0", "2.6")),
    )
    return buffer.getvalue()


def _caption(rng: random.Random, good: Sequence[bytes]) -> str | None:
    text = rng.choice((hostile.text(rng), rng.choice(hostile.TEXTS)[:5000], hostile.CAPTION))
    return None if rng.random() < 0.1 else text.encode("utf-8", "ignore").decode()


def _images(rng: random.Random, count: int) -> pa.Array:
    names = [rng.choice((*hostile.NAMES, *[hostile.GOOD_IMAGE] * 40)) for _ in range(count)]
    paths = [name.encode("utf-8", "ignore").decode() for name in names]
    data = [hostile.hostile_image(rng) if rng.random() < 0.9 else None for _ in range(count)]
    match rng.randrange(6):
        case 0:
            return pa.array(data, rng.choice((pa.binary(), pa.large_binary())))
        case 1:
            rows = [{"bytes": d, "path": p} for d, p in zip(data, paths, strict=True)]
            return pa.array(rows, pa.struct({"bytes": pa.binary(), "path": pa.string()}))
        case 2:
            return pa.array([[path] * rng.randrange(3) for path in paths])
        case 3:
            return pa.array(paths).dictionary_encode()
        case 4:
            return pa.array([paths[0]] + [None] * (count - 1), pa.string())
        case _:
            return pa.array(paths, rng.choice((pa.string(), pa.large_string())))


def _captions(rng: random.Random, texts: Sequence[str | None]) -> pa.Array:
    match rng.randrange(7):
        case 0:
            return pa.array([None if t is None else t.encode() for t in texts], pa.binary())
        case 1:
            return pa.array(texts, pa.string()).dictionary_encode()
        case 2:
            return pa.array([[text] for text in texts], pa.list_(pa.string()))
        case 3:
            turns = [[{"from": "gpt", "value": text}] for text in texts]
            kind = pa.struct({"from": pa.string(), "value": pa.string()})
            return pa.array(turns, pa.list_(kind))
        case 4:
            return pa.array(range(len(texts)))
        case _:
            return pa.array(texts, rng.choice((pa.string(), pa.large_string())))


def _odd(rng: random.Random, count: int) -> pa.Array:
    """A column of a type that JSON does not know."""
    made: list[tuple[Any, pa.DataType]] = [
        (decimal.Decimal("9" * 30), pa.decimal128(38, 2)),
        (datetime.datetime(9999, 1, 1), pa.timestamp("us", tz="Asia/Kolkata")),
        (-(10**18), pa.timestamp("ns")),
        (10**14, pa.timestamp("s")),
        (2**31 - 1, pa.date32()),
        (datetime.timedelta(days=10**6), pa.duration("us")),
        ([("a", 1), ("a", 2)], pa.map_(pa.string(), pa.int64())),
        (b"\xff\x00", pa.binary(2)),
        (float("nan"), pa.float64()),
        (2**64 - 1, pa.uint64()),
        (datetime.time(23, 59), pa.time64("ns")),
        (
            {"a": [[{"b": float("inf")}]]},
            pa.struct({"a": pa.list_(pa.list_(pa.struct({"b": pa.float32()})))}),
        ),
        (json.dumps("\ud800"), pa.string()),
    ]
    value, kind = rng.choice(made)
    return pa.array([None if rng.random() < 0.2 else value for _ in range(count)], kind)
