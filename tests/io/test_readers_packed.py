"""Readers of what is not plain text: compressed files, pipes, tars, Parquet, data sets."""

from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tarfile
import threading
from pathlib import Path

import pytest
import zstandard
from input_files import GOOD, lines_of, opened, reasons

from revise_captions.errors import Reason, UserError
from revise_captions.io.fields import Fields
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow
from revise_captions.layouts import webdataset
from revise_captions.layouts.arrow import HUGGING_FACE
from revise_captions.layouts.webdataset import WEBDATASET
from revise_captions.records import ImageRef

# --- Compression --------------------------------------------------------------------------------


def packed(data: bytes, how: str) -> bytes:
    if how == "gz":
        return gzip.compress(data)
    return zstandard.ZstdCompressor(write_checksum=True).compress(data)


@pytest.mark.parametrize("how", ["gz", "zst"])
def test_compressed(tmp_path, how):
    data = b"".join(GOOD.replace(b"a.jpg", b"%d.jpg" % i) + b"\n" for i in range(50_000))
    members = packed(data[:1_000_000], how) + packed(data[1_000_000:], how)  # concatenated
    source = opened(tmp_path / f"in.jsonl.{how}", members)
    assert source.count() == 50_000
    assert [r.image.path for r in source] == [f"{i}.jpg" for i in range(50_000)]
    misnamed = opened(tmp_path / "in.jsonl", members)
    assert misnamed.count() == 50_000


@pytest.mark.parametrize("how", ["gz", "zst"])
@pytest.mark.parametrize("damage", ["cut", "flipped"])
def test_damaged_compression_is_an_error_not_a_shorter_file(tmp_path, how, damage):
    data = packed(b"".join(b'{"caption": "%d", "image": "a"}\n' % i for i in range(9999)), how)
    half = len(data) // 2
    hurt = (
        data[:-3] if damage == "cut" else data[:half] + bytes([data[half] ^ 255]) + data[half + 1 :]
    )
    with pytest.raises(UserError, match="cannot be decompressed"):
        list(opened(tmp_path / f"in.jsonl.{how}", hurt))


def test_standard_input_is_spooled(tmp_path, monkeypatch):
    data = gzip.compress(GOOD + b"\n" + GOOD)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
    source = open_source("-", spool=tmp_path / "out.jsonl.stdin")
    assert [len(list(source)) for _ in range(2)] == [2, 2]
    assert [record.source for record in source] == ["-", "-"]
    source.close()
    assert list(tmp_path.iterdir()) == []


def test_pipes_are_spooled(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    feeder = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(GOOD,))
    feeder.start()
    source = open_source(str(tmp_path / "pipe"))
    feeder.join()
    assert [len(list(source)) for _ in range(2)] == [1, 1]
    assert source.folder == Path()
    source.close()
    assert not source.path.exists()


# --- Tars ---------------------------------------------------------------------------------------


def write_tar(path: Path, members: list[tuple[str, bytes]], mode: str = "w") -> Path:
    with tarfile.open(path, mode) as archive:
        for name, data in members:
            info = tarfile.TarInfo(name)
            info.size = len(data)
            archive.addfile(info, io.BytesIO(data))
    return path


@pytest.mark.parametrize(("name", "mode"), [("in.tar", "w"), ("in.tar.gz", "w:gz"), ("x", "w")])
def test_tar(tmp_path, name, mode):
    members = [
        ("README", b"no row"),
        ("d/001.jpg", b"J1"),
        ("d/001.txt", b"A cat."),
        ("d/001.json", b'{"url": "http://x", "n": 1}'),
        ("d/002.PNG", b"P2"),
        ("d/002.txt", "Zwei Käse.".encode()),
        ("d/003.jpg", b"J3"),
        ("d/003.txt", b"\xff"),
        ("d/004.jpg", b"J4"),
        ("d/004.json", b"{"),
        ("d/005.jpg", b"J5"),
        ("d/005.txt", b"First."),
        ("d/005.jpg", b"J5b"),
        ("d/005.txt", b"Same key, next row."),
    ]
    source = open_source(str(write_tar(tmp_path / name, members, mode)))
    assert source.layout is WEBDATASET
    assert source.fields == Fields("jpg", ("txt",))
    items = list(source)
    assert items[0].image == ImageRef(data=b"J1")
    assert items[0].fields["json"] == {"url": "http://x", "n": 1}
    assert reasons(source) == [
        None,
        Reason.MISSING_IMAGE,  # a png among jpgs
        Reason.INVALID_UTF8,
        Reason.MALFORMED_JSON,
        None,
        None,
    ]
    assert items[5].captions == {"txt": "Same key, next row."}
    assert [item.line for item in items] == [1, 2, 3, 4, 5, 6]
    assert source.count() == 6


def test_tar_with_captions_in_json(tmp_path):
    members = [("1.jpg", b"J"), ("1.json", b'{"caption": "A.", "url": "http://x"}')]
    source = open_source(str(write_tar(tmp_path / "in.tar", members)))
    assert source.fields == Fields("jpg", ("json.caption",))
    assert next(iter(source)).captions == {"json.caption": "A."}


def test_truncated_tar_is_an_error(tmp_path):
    path = write_tar(tmp_path / "in.tar", [("1.txt", b"A."), ("1.jpg", b"J" * 100_000)])
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(UserError, match="not a complete tar"):
        list(open_source(str(path)))


def _of_rows(*numbers: int) -> list[tuple[str, bytes]]:
    return [(f"{n}.{s}", b"A cat.") for n in numbers for s in ("jpg", "txt")]


@pytest.mark.parametrize("more", [1, 3])
def test_rows_behind_the_end_of_a_tar_are_counted(tmp_path, caplog, more):
    path = write_tar(tmp_path / "in.tar", _of_rows(1, 2))
    for part in range(more):
        later = write_tar(tmp_path / "later.tar", _of_rows(3 + 2 * part, 4 + 2 * part))
        path.write_bytes(path.read_bytes() + later.read_bytes())
    found = f"{path} has {2 * more} more rows behind its end-of-archive mark, after row 2"
    source = open_source(str(path))
    assert source.count() == len(list(source)) == len(list(source)) == 2
    assert [r.getMessage() for r in caplog.records] == [f"{found}: they are not read"]
    with pytest.raises(UserError, match=f"{2 * more} more rows"):
        open_source(str(path), strict=True).count()


def test_what_is_no_tar_behind_the_end_of_a_tar_is_counted_in_bytes(tmp_path, caplog):
    path = write_tar(tmp_path / "in.tar", _of_rows(1))
    path.write_bytes(path.read_bytes() + b"x" * 1000)
    assert len(list(open_source(str(path)))) == 1
    assert "has 1,000 more bytes behind its end-of-archive mark" in caplog.text


def test_a_tar_that_was_cut_between_two_members_is_told(tmp_path, caplog):
    path = write_tar(tmp_path / "in.tar", _of_rows(1, 2, 3))
    whole = path.read_bytes()
    path.write_bytes(whole[: 4 * 1024])  # a member takes a block for its header and one for itself
    assert len(list(open_source(str(path)))) == 2
    assert "no end-of-archive mark: it may have been cut after row 2" in caplog.text
    with pytest.raises(UserError, match="may have been cut"):
        list(open_source(str(path), strict=True))


def test_a_damaged_header_is_not_the_end_of_a_tar(tmp_path):
    path = write_tar(tmp_path / "in.tar", _of_rows(1, 2, 3))
    whole = bytearray(path.read_bytes())
    whole[4 * 1024 : 4 * 1024 + 100] = b"\xff" * 100
    path.write_bytes(whole)
    with pytest.raises(UserError, match="not a complete tar"):
        list(open_source(str(path)))


def test_a_whole_tar_lacks_nothing(tmp_path, caplog):
    for mode in ("w", "w:gz"):
        write_tar(tmp_path / "in.tar", _of_rows(1, 2), mode)
        source = open_source(str(tmp_path / "in.tar"), strict=True)
        assert source.count() == len(list(source)) == 2
    assert not caplog.records


def test_too_much_under_one_key_is_a_bad_row_and_the_next_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(webdataset, "MAX_ROW", 1000)
    monkeypatch.setattr(webdataset, "MAX_MEMBERS", 5)
    members = [("LICENSE", b"L" * 5000), ("1.jpg", b"J"), ("1.txt", b"A.")]
    members += [("2.jpg", b"J" * 600), ("2.png", b"P" * 600), ("2.txt", b"B.")]  # together
    members += [("3.mp4", b"V" * 1500), ("3.jpg", b"J"), ("3.txt", b"C.")]  # by itself
    members += [(f"4.{i}", b"") for i in range(6)] + [("5.jpg", b"J"), ("5.txt", b"D.")]
    path = write_tar(tmp_path / "in.tar", members)
    source = open_source(str(path))
    large = Reason.IMAGE_TOO_LARGE
    assert reasons(source) == [None, large, large, large, None]
    details = [item.detail for item in source if isinstance(item, BadRow)]
    assert [detail.split(";")[0] for detail in details] == [
        "1,202 bytes under 2",
        "1,503 bytes under 3",
        "6 members under 4",
    ]
    held = [group for group in webdataset.tar_groups(path, "x") if group.too_large]
    assert all(content is None for group in held for _, content in group.members)


def test_an_archive_that_inflates_beyond_reason_is_refused(tmp_path, monkeypatch):
    members = [("1.jpg", b"J" * 2_000_000), ("1.txt", b"A.")]
    path = write_tar(tmp_path / "in.tgz", members, "w:gz")
    assert len(list(open_source(str(path)))) == 1
    monkeypatch.setattr(webdataset, "FREE_BYTES", 1_000_000)
    with pytest.raises(UserError, match="100 times its size"):
        list(open_source(str(path)))


def test_a_header_of_megabytes_is_refused_unread(tmp_path):
    path = write_tar(tmp_path / "in.tar", [("1" * 2_000_000 + ".txt", b"A.")])
    with pytest.raises(UserError, match="a header of 2,000,0"):
        list(open_source(str(path)))


# --- Parquet and data sets ----------------------------------------------------------------------


def test_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    count = 500
    table = pa.table(
        {
            "image": [{"bytes": b"J%d" % i, "path": None} for i in range(count)],
            "caption": [None if i == 3 else f"Caption {i}." for i in range(count)],
            "when": pa.array(range(count), pa.timestamp("ns")),
        }
    )
    pq.write_table(table, tmp_path / "in.parquet", row_group_size=70)
    source = open_source(str(tmp_path / "in.parquet"))
    items = list(source)
    assert source.count() == len(items) == count
    assert [i for i, item in enumerate(items) if isinstance(item, BadRow)] == [3]
    assert items[499].image == ImageRef(data=b"J499")
    assert items[499].captions == {"caption": "Caption 499."}
    assert json.loads(items[3].original)["image"]["bytes"] == "SjM="  # base64 of "J3"


def test_parquet_with_text_that_is_not_utf8(tmp_path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    raw = pa.array([b"good", b"caf\xe9", b"fine"], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    pq.write_table(pa.table({"url": ["a", "b", "c"], "text": text}), tmp_path / "in.parquet")
    items = list(open_source(str(tmp_path / "in.parquet")))
    assert [getattr(item, "reason", None) for item in items] == [None, Reason.INVALID_UTF8, None]
    assert items[1].original == b"caf\xe9"


def test_damaged_parquet(tmp_path):
    with pytest.raises(UserError, match="Parquet"):
        opened(tmp_path / "in.parquet", b"PAR1 not really")


@pytest.fixture(scope="module")
def saved_set(tmp_path_factory: pytest.TempPathFactory) -> Path:
    datasets = pytest.importorskip("datasets")
    from PIL import Image

    folder = tmp_path_factory.mktemp("hub")
    images = [Image.new("RGB", (4, 4), (i, 0, 0)) for i in range(5)]
    data = datasets.Dataset.from_dict(
        {"image": images, "text": [f"Image {i}." for i in range(5)]},
        features=datasets.Features({"image": datasets.Image(), "text": datasets.Value("string")}),
    )
    data.save_to_disk(str(folder / "one"))
    parts = datasets.DatasetDict({"train": data, "test": data.select([0])})
    parts.save_to_disk(str(folder / "two"))
    (folder / "plain").mkdir()
    (folder / "plain" / "train.jsonl").write_text(lines_of({"image": "a.jpg", "text": "Hi."}))
    return folder


def test_data_set_folder(saved_set):
    from revise_captions.io.images import load_image

    source = open_source(str(saved_set / "one"))
    assert source.layout is HUGGING_FACE
    assert source.fields == Fields("image", ("text",))
    assert source.count() == 5
    assert [load_image(r.image).getpixel((0, 0))[0] for r in source] == [0, 1, 2, 3, 4]
    assert [r.captions["text"] for r in source] == [f"Image {i}." for i in range(5)]


def test_data_set_splits(saved_set):
    with pytest.raises(UserError, match="train, test") as caught:
        open_source(str(saved_set / "two"))
    assert caught.value.hint.endswith("two:train")
    assert open_source(f"{saved_set / 'two'}:test").count() == 1


def test_other_folders_stream(saved_set):
    source = open_source(str(saved_set / "plain"))
    assert [r.captions["text"] for r in source] == ["Hi."]
    assert [r.captions["text"] for r in source] == ["Hi."]


def test_hub_trouble_is_one_line(monkeypatch):
    datasets = pytest.importorskip("datasets")

    def offline(*_: object, **__: object) -> None:
        raise ConnectionError("Couldn't reach\nthe Hub")

    monkeypatch.setattr(datasets, "load_dataset", offline)
    with pytest.raises(UserError, match="Couldn't reach the Hub") as caught:
        open_source("owner/name")
    assert "\n" not in caught.value.message
