"""Writers of tars, Parquet and data sets: what was there is kept, two fields are added."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from pathlib import Path

import pytest
from output_files import REVISION, names, revised, run, write_lines

from revise_captions.errors import UserError
from revise_captions.io.images import load_image
from revise_captions.io.readers import open_source
from revise_captions.pipelines.output import writers

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)


# --- Tars ---------------------------------------------------------------------------------------


def members(path: Path) -> list[tuple[str, bytes]]:
    with tarfile.open(path) as archive:
        return [(m.name, archive.extractfile(m).read()) for m in archive if m.isfile()]


def make_tar(path: Path, content: list[tuple[str, bytes]]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name, data in content:
            info = tarfile.TarInfo(name)
            info.size, info.mtime = len(data), 1_700_000_000
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize("out", ["out.tar", "out.tar.gz"])
def test_tar_keeps_members_and_gains_two(tmp_path, out):
    content = [
        ("README", b"hello"),
        ("1.jpg", PNG),
        ("1.txt", b"A cat."),
        ("2.jpg", PNG),
        ("2.txt", b"Quarantined."),
        ("3.jpg", PNG),
        ("3.json", b'{"n": 1.0}'),
        ("3.txt", b"A dog."),
    ]
    make_tar(tmp_path / "in.tar", content)
    written = run(tmp_path / "in.tar", tmp_path / out, bad=[2])
    assert (written.rows, written.quarantined) == (2, 1)
    revision = json.dumps(REVISION).encode()
    expected = [
        *content[:3],
        ("1.revised.txt", b"A CAT."),
        ("1.revision.json", revision),
        *content[5:],
        ("3.revised.txt", b"A DOG."),
        ("3.revision.json", revision),
    ]
    assert members(tmp_path / out) == expected
    bad = json.loads((tmp_path / f"{out}.quarantine.jsonl").read_text())
    assert json.loads(bad["text"])["txt"] == "Quarantined."
    again = open_source(str(tmp_path / out))
    assert [r.fields["revision"] for r in again] == [REVISION] * 2
    writers.write(again, revised(again), str(tmp_path / "again.tar"))
    assert members(tmp_path / "again.tar") == expected


def test_tar_shards(tmp_path):
    content = [(f"{i}.{s}", b"x") for i in range(7) for s in ("jpg", "txt")]
    make_tar(tmp_path / "in.tar", content)
    run(tmp_path / "in.tar", tmp_path / "out.tar", shard=(1, 3), window=1)
    assert [name for name, _ in members(tmp_path / "out.tar") if name.endswith(".jpg")] == [
        "1.jpg",
        "4.jpg",
    ]


def test_tar_to_json_lines_keeps_the_image(tmp_path):
    make_tar(tmp_path / "in.tar", [("1.png", PNG), ("1.txt", b"A dot.")])
    run(tmp_path / "in.tar", tmp_path / "out.jsonl")
    (record,) = open_source(str(tmp_path / "out.jsonl"))
    assert record.image.data == PNG
    assert load_image(record.image).size == (1, 1)


# --- Parquet and data sets ----------------------------------------------------------------------


def test_parquet_keeps_schema_metadata_and_values(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    count = 300
    table = pa.table(
        {
            "image": [{"bytes": PNG, "path": None}] * count,
            "caption": [f"Cat {i}." for i in range(count)],
            "when": pa.array(range(count), pa.timestamp("ns")),
            "tag": pa.array(["a", "b", None] * 100).dictionary_encode(),
        }
    ).replace_schema_metadata({"mine": "kept"})
    pq.write_table(table, tmp_path / "in.parquet")
    written = run(tmp_path / "in.parquet", tmp_path / "out.parquet", bad=[3])
    assert (written.rows, written.quarantined) == (299, 1)
    out = pq.read_table(tmp_path / "out.parquet")
    assert out.schema.metadata[b"mine"] == b"kept"
    stored = pq.read_table(tmp_path / "in.parquet")
    kept = pa.concat_tables([stored.slice(0, 2), stored.slice(3)])
    old = out.drop_columns(["revised_caption", "revision"])
    assert old.schema.equals(kept.schema)
    assert old.combine_chunks().equals(kept.combine_chunks())
    captions = [f"CAT {i}." for i in range(count) if i != 2]
    assert out.column("revised_caption").to_pylist() == captions
    assert json.loads(out.column("revision")[0].as_py()) == REVISION
    # A second stage reads the revision back as an object, and replaces it.
    again = open_source(str(tmp_path / "out.parquet"))
    assert next(iter(again)).fields["revision"] == REVISION
    writers.write(again, revised(again), str(tmp_path / "again.parquet"))
    assert pq.read_table(tmp_path / "again.parquet").equals(out)


def test_parquet_shards_and_lines(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pa.table(
        {"url": ["x"] * 200, "text": [f"{i}." for i in range(200)], "b": [b"\0"] * 200}
    )
    pq.write_table(table, tmp_path / "in.parquet")
    run(tmp_path / "in.parquet", tmp_path / "out.parquet", shard=(2, 70), limit=2, window=1)
    assert pq.read_table(tmp_path / "out.parquet").column("text").to_pylist() == ["2.", "72."]
    run(tmp_path / "in.parquet", tmp_path / "out.jsonl", shard=(2, 70), limit=1, window=1)
    assert json.loads((tmp_path / "out.jsonl").read_text()) == {
        "url": "x",
        "text": "2.",
        "b": "AA==",
        "revised_caption": "2.",
        "revision": REVISION,
    }
    run(tmp_path / "in.parquet", tmp_path / "none.parquet", limit=0)
    assert pq.read_table(tmp_path / "none.parquet").num_rows == 0


def test_views_of_texts_are_written_as_they_are(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    views = pyarrow.array([f"v{n}" for n in range(200)], pyarrow.string_view())
    texts = [f"{n}." for n in range(200)]
    table = pyarrow.table({"image": ["a.jpg"] * 200, "text": texts, "view": views})
    pq.write_table(table, tmp_path / "in.parquet")
    written = run(tmp_path / "in.parquet", tmp_path / "out.parquet", bad=[1, 65, 66, 129, 200])
    assert (written.rows, written.quarantined) == (195, 5)
    read = pq.ParquetFile(tmp_path / "out.parquet").read()
    assert read.schema.field("view").type == pyarrow.string_view()
    kept = [n for n in range(200) if n + 1 not in (1, 65, 66, 129, 200)]
    assert read.column("view").to_pylist() == [f"v{n}" for n in kept]
    assert read.column("text").to_pylist() == [f"{n}." for n in kept]


def test_two_columns_of_one_name_are_refused_at_once(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    arrays = [pyarrow.array([text]) for text in ("a.jpg", "A cat.", "one", "other")]
    table = pyarrow.Table.from_arrays(arrays, names=["image", "caption", "by", "by"])
    pq.write_table(table, tmp_path / "in.parquet")
    for out in ("out.parquet", "out.jsonl"):
        with pytest.raises(UserError, match="2 columns with the name by"):
            run(tmp_path / "in.parquet", tmp_path / out)


def test_a_schema_that_cannot_be_written_is_said_before_any_work(tmp_path, monkeypatch):
    pyarrow = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    table = pyarrow.table({"image": ["a.jpg"], "caption": ["A cat."]})
    pq.write_table(table, tmp_path / "in.parquet")

    def refuse(self, table, *_, **__):
        raise pyarrow.ArrowNotImplementedError("Unhandled type: duration")

    monkeypatch.setattr(pq.ParquetWriter, "write_table", refuse)
    source = open_source(str(tmp_path / "in.parquet"))
    with pytest.raises(UserError, match=r"cannot be written as Parquet: .*duration"):
        writers.check_output(source, str(tmp_path / "out.parquet"))


def test_json_lines_to_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    lines = [
        {"image": "a", "caption": "A.", "i": 1, "f": 1, "mixed": 1, "o": {"x": [1]}, "big": 1},
        {
            "image": "b",
            "caption": "\ud800",
            "i": 2,
            "f": 0.5,
            "mixed": "s",
            "late": True,
            "big": 2**70,
        },
        "{oops",
    ]
    write_lines(tmp_path / "in.jsonl", lines)
    run(tmp_path / "in.jsonl", tmp_path / "out.parquet")
    first, second = pq.read_table(tmp_path / "out.parquet").to_pylist()
    assert {k: first[k] for k in ("i", "f", "mixed", "o", "late", "big")} == {
        "i": 1,
        "f": 1.0,
        "mixed": "1",
        "o": '{"x": [1]}',
        "late": None,
        "big": "1",
    }
    assert (second["mixed"], second["late"], second["big"]) == ('"s"', True, str(2**70))
    assert set(second["caption"]) == {"\ufffd"}  # Arrow text is UTF-8: no lone surrogates
    assert set(second["revised_caption"]) == {"\ufffd"}
    assert json.loads(first["revision"]) == REVISION


def test_data_set_folder_to_folder_and_parquet(tmp_path):
    datasets = pytest.importorskip("datasets")
    from PIL import Image

    images = [Image.new("RGB", (4, 4), (i, 0, 0)) for i in range(5)]
    features = datasets.Features({"image": datasets.Image(), "text": datasets.Value("string")})
    data = {"image": images, "text": [f"Image {i}." for i in range(5)]}
    datasets.Dataset.from_dict(data, features=features).save_to_disk(str(tmp_path / "in"))
    written = run(tmp_path / "in", tmp_path / "out", bad=[2])
    assert (written.rows, written.quarantined) == (4, 1)
    out = datasets.load_from_disk(str(tmp_path / "out"))
    assert out.column_names == ["image", "text", "revised_caption", "revision"]
    assert out.features["image"] == datasets.Image()
    assert [image.getpixel((0, 0))[0] for image in out["image"]] == [0, 2, 3, 4]
    assert list(out["revised_caption"]) == ["IMAGE 0.", "IMAGE 2.", "IMAGE 3.", "IMAGE 4."]
    run(tmp_path / "in", tmp_path / "out.parquet")
    again = datasets.Dataset.from_parquet(
        str(tmp_path / "out.parquet"), cache_dir=str(tmp_path / "cache")
    )
    assert again.features["image"] == datasets.Image()
    assert again[4]["revised_caption"] == "IMAGE 4."
    assert {n for n in names(tmp_path) if "partial" in n} == set()
    source = open_source(str(tmp_path / "in"))
    writers.write(source, revised(source), str(tmp_path / "out"))  # over the old one, as by --force
    assert len(datasets.load_from_disk(str(tmp_path / "out"))) == 5
