from __future__ import annotations

import gzip
import io
import json
import os
import sys
import tarfile
import threading
import tracemalloc
from pathlib import Path

import pytest
import zstandard

from revise_captions.errors import Reason, UserError
from revise_captions.fields import MAX_CAPTION, Fields
from revise_captions.readers import Kind, Source, open_source
from revise_captions.readers_text import json_lines
from revise_captions.records import ImageRef, Record
from revise_captions.rows import BadRow, dumps, splice

GOOD = b'{"image": "a.jpg", "caption": "A cat."}'


def opened(path: Path, data: bytes | str, **options: object) -> Source:
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return open_source(str(path), **options)


def lines_of(*rows: object) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def row(caption: object = "A cat.", **more: object) -> dict[str, object]:
    return {"image": "a.jpg", "caption": caption, **more}


def reasons(source: Source) -> list[Reason | None]:
    return [item.reason if isinstance(item, BadRow) else None for item in source]


# --- JSON Lines ---------------------------------------------------------------------------------


def test_records_keep_line_numbers_and_their_exact_text(tmp_path):
    first = '{"image":"a.jpg",  "caption":"\\u0041 cat.", "n": 1.0}'
    text = f"\ufeff{first}\r\n\n  \t\r\n" + '{"image": "b.jpg", "caption": "Zwei\\nZeilen."} '
    source = opened(tmp_path / "in.jsonl", text)
    one, two = source
    assert one == Record(
        str(tmp_path / "in.jsonl"),
        1,
        ImageRef(path="a.jpg"),
        {"caption": "A cat."},
        {"image": "a.jpg", "caption": "A cat.", "n": 1.0},
        first,
    )
    assert (two.line, two.captions["caption"]) == (4, "Zwei\nZeilen.")
    assert two.raw == '{"image": "b.jpg", "caption": "Zwei\\nZeilen."} '
    assert [item.line for item in source] == [1, 4]  # again
    assert source.count() == 2


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"image": "a.jpg", "caption": "A c', Reason.MALFORMED_JSON),
        (b"not json", Reason.MALFORMED_JSON),
        (b'{"image": "a.jpg", "caption": "a \x00 raw NUL"}', Reason.MALFORMED_JSON),
        (b"[" * 100_000, Reason.MALFORMED_JSON),
        (GOOD + b" " + GOOD, Reason.MALFORMED_JSON),
        (b"[1, 2]", Reason.NOT_AN_OBJECT),
        (b'"text"', Reason.NOT_AN_OBJECT),
        (b"null", Reason.NOT_AN_OBJECT),
        (b"NaN", Reason.NOT_AN_OBJECT),
        (b'{"image": "a.jpg", "caption": "caf\xe9"}', Reason.INVALID_UTF8),
        (b'{"image": "a.jpg", "caption": "\xed\xa0\x80"}', Reason.INVALID_UTF8),
        (b'{"image": "a.jpg"}', Reason.MISSING_CAPTION),
        (b'{"image": "a.jpg", "caption": null}', Reason.MISSING_CAPTION),
        (b'{"image": "a.jpg", "caption": 7}', Reason.CAPTION_NOT_TEXT),
        (b'{"image": "a.jpg", "caption": ["a", "b"]}', Reason.CAPTION_NOT_TEXT),
        (b'{"image": "a.jpg", "caption": ""}', Reason.EMPTY_CAPTION),
        (b'{"image": "a.jpg", "caption": " \\n\\u3000"}', Reason.EMPTY_CAPTION),
        (b'{"caption": "A cat."}', Reason.MISSING_IMAGE),
        (b'{"image": "", "caption": "A cat."}', Reason.MISSING_IMAGE),
        (b'{"image": ["a", "b"], "caption": "A cat."}', Reason.MISSING_IMAGE),
        (b'{"image": 3, "caption": "A cat."}', Reason.IMAGE_UNREADABLE),
    ],
)
def test_bad_rows_keep_their_text_and_their_neighbours(tmp_path, line, reason):
    source = opened(tmp_path / "in.jsonl", GOOD + b"\n" + line + b"\n" + GOOD)
    before, bad, after = source
    assert isinstance(before, Record)
    assert isinstance(after, Record)
    assert (bad.line, bad.reason) == (2, reason)
    assert bad.original == (line if reason is Reason.INVALID_UTF8 else line.decode())
    assert bad.detail


def test_caption_length_limit(tmp_path):
    fits, over = "x" * MAX_CAPTION, "x" * (MAX_CAPTION + 1)
    source = opened(tmp_path / "in.jsonl", lines_of(row(fits), row(over)))
    assert reasons(source) == [None, Reason.CAPTION_TOO_LONG]


@pytest.mark.parametrize(
    "caption", ["\x00\x1b[31mred\x7f", "\ud800 alone", "a\u2028b\x85c\x0bd\x1ee"]
)
def test_control_characters_and_surrogates_survive(tmp_path, caption):
    # Only "\n" ends a line; U+2028 and the like stand inside captions as they are.
    text = json.dumps(row(caption), ensure_ascii="\ud800" in caption) + "\n"
    (record,) = opened(tmp_path / "in.jsonl", text)
    assert record.captions == {"caption": caption}
    assert json.loads(dumps(record.captions).encode().decode()) == {"caption": caption}


def test_numbers_that_python_or_json_do_not_have(tmp_path):
    line = '{"image": "a.jpg", "caption": "A.", "x": NaN, "y": -Infinity, "z": ' + "9" * 9999 + "}"
    (record,) = opened(tmp_path / "in.jsonl", line)
    assert record.raw == line


def test_duplicate_ids_are_two_records(tmp_path):
    source = opened(tmp_path / "in.jsonl", lines_of(row(id=1), row(id=1)) * 2)
    assert [record.line for record in source] == [1, 2, 3, 4]


def test_long_lines_are_not_held_in_memory(tmp_path):
    path = tmp_path / "in.jsonl"
    with path.open("wb") as file:
        file.write(GOOD + b"\n")
        file.writelines(b"x" * (1 << 20) for _ in range(80))
        file.write(b"\n" + GOOD + b"\n")
    tracemalloc.start()
    items = list(json_lines(path, "in.jsonl"))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert [item.line for item in items] == [1, 2, 3]
    assert items[1].reason is Reason.LINE_TOO_LONG
    assert "83,886,080 bytes" in items[1].detail
    assert set(items[1].original) == {"x"}
    assert peak < 70 << 20  # the limit is 64 MiB


def test_the_limit_itself_is_allowed(tmp_path):
    (tmp_path / "in.jsonl").write_bytes(GOOD + b"\n" + GOOD + b" \n" + GOOD)
    kinds = [type(r).__name__ for r in json_lines(tmp_path / "in.jsonl", "x", len(GOOD))]
    assert kinds == ["Row", "BadRow", "Row"]


def test_utf16_says_what_to_do(tmp_path):
    with pytest.raises(UserError, match="UTF-16") as caught:
        opened(tmp_path / "in.jsonl", (GOOD + b"\n").decode().encode("utf-16"))
    assert "iconv" in caught.value.hint


def test_empty_and_all_bad_files(tmp_path):
    assert list(opened(tmp_path / "in.jsonl", b"")) == []
    assert reasons(opened(tmp_path / "in.jsonl", b"oops\n")) == [Reason.MALFORMED_JSON]


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


# --- JSON arrays --------------------------------------------------------------------------------


def test_array_as_llava_ships_it(tmp_path):
    turns = [
        {"from": "human", "value": "<image>\nDescribe."},
        {"from": "gpt", "value": "A red bus."},
        {"from": "human", "value": "More."},
        {"from": "gpt", "value": "No."},
    ]
    rows = [{"id": str(i), "image": f"{i}.jpg", "conversations": turns} for i in range(3)]
    source = opened(tmp_path / "llava.json", json.dumps(rows, indent=2))
    assert source.kind is Kind.JSON
    assert source.fields == Fields("image", ("conversations",))
    assert [r.captions["conversations"] for r in source] == ["A red bus."] * 3
    assert [json.loads(r.raw) for r in source] == rows


def test_array_larger_than_the_window(tmp_path):
    rows = [row("x" * (i % 7) * 100_000 + "é", n=i) for i in range(1, 30)]
    source = opened(tmp_path / "in.json", json.dumps(rows, ensure_ascii=False))
    assert [dict(r.fields) for r in source] == rows


def test_array_with_odd_elements(tmp_path):
    source = opened(tmp_path / "in.json", "[" + GOOD.decode() + ', 12, [1], "x", {"image": 1}]\n')
    bad = Reason.NOT_AN_OBJECT
    assert reasons(source) == [None, bad, bad, bad, Reason.MISSING_CAPTION]
    assert [item.original for item in list(source)[1:4]] == ["12", "[1]", '"x"']


@pytest.mark.parametrize("end", [b"", b",", b"}", b" {]", b', {"a": ', b", ]"])
def test_broken_arrays_say_where(tmp_path, end):
    with pytest.raises(UserError, match=r"breaks .*element"):
        list(opened(tmp_path / "in.json", b"[" + GOOD + end))


def test_json_lines_under_the_name_json(tmp_path):
    assert opened(tmp_path / "in.json", GOOD + b"\n" + GOOD).kind is Kind.JSONL


# --- Fields -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "image", "caption"),
    [
        ("uid,url,key,status,original_caption,vlm_model,vlm_caption", "url", "vlm_caption"),
        ("example_id,split,image_file,description", "image_file", "description"),
        ("URL,TEXT,WIDTH", "URL", "TEXT"),
        ("file_name,image,refs,cand,score", "image", "cand"),
        ("question,response,image,annotations", "image", "response"),
        ("file_name,text", "file_name", "text"),
        ("img,caption,description,text", "img", "caption"),
        ("path,image_url,generated_caption,caption", "path", "generated_caption"),
    ],
)
def test_known_names(tmp_path, names, image, caption):
    source = opened(tmp_path / "in.jsonl", lines_of(dict.fromkeys(names.split(","), "x")))
    assert source.fields == Fields(image, (caption,))


def test_a_name_needs_a_value_that_fits(tmp_path):
    rows = [{"image": 5, "img": "a.jpg", "caption": ["a", "b"], "text": "A."}]
    assert opened(tmp_path / "in.jsonl", lines_of(*rows)).fields == Fields("img", ("text",))


def test_given_names_overrule_and_may_be_dotted(tmp_path):
    data = {"image": "a.jpg", "caption": "No.", "x": {"y": ["Yes."]}, "a.b": "Dots.", "c": "Two."}
    source = opened(
        tmp_path / "in.jsonl",
        lines_of(data),
        fields=Fields("x.y.0", ("x.y.0", "a.b", "c")),
    )
    (record,) = source
    assert record.image == ImageRef(path="Yes.")
    assert dict(record.captions) == {"x.y.0": "Yes.", "a.b": "Dots.", "c": "Two."}


def test_chat_messages(tmp_path):
    parts = [{"type": "text", "text": "A dog."}]
    messages = [{"role": "user", "content": "?"}, {"role": "assistant", "content": parts}]
    (record,) = opened(tmp_path / "in.jsonl", lines_of({"image": "a", "messages": messages}))
    assert record.captions == {"messages": "A dog."}


def test_all_rows_of_a_file_are_read_the_same_way(tmp_path):
    source = opened(tmp_path / "in.jsonl", lines_of(row(), {"image": "a", "text": "Other."}))
    assert reasons(source) == [None, Reason.MISSING_CAPTION]


def test_unknown_fields_are_the_users_error(tmp_path):
    with pytest.raises(UserError) as caught:
        opened(tmp_path / "in.jsonl", lines_of({"bild": "a.jpg", "satz": "Eine Katze."}))
    assert "found fields: bild, satz; pass --caption-field" in caught.value.hint
    with pytest.raises(UserError) as caught:
        opened(tmp_path / "in.jsonl", lines_of({"bild": "a.jpg", "text": "Eine Katze."}))
    assert "--image-field" in caught.value.hint
    text_only = opened(tmp_path / "in.jsonl", lines_of({"text": "A."}), need_image=False)
    assert next(iter(text_only)).image == ImageRef()


def test_misspelled_field_is_found_before_the_run(tmp_path):
    with pytest.raises(UserError, match="captoin") as caught:
        opened(tmp_path / "in.jsonl", lines_of(row()), fields=Fields(None, ("captoin",)))
    assert caught.value.hint == 'did you mean "caption"?'


# --- Parts of a file ----------------------------------------------------------------------------


def test_shards_partition_the_file(tmp_path):
    data = lines_of(*(row(n=i) for i in range(10))).replace("\n", "\n\n")
    whole = [r.fields["n"] for r in opened(tmp_path / "in.jsonl", data)]
    shards = [opened(tmp_path / "in.jsonl", data, shard=(i, 3), window=1) for i in range(3)]
    assert [[r.fields["n"] for r in s] for s in shards] == [whole[i::3] for i in range(3)]
    assert [s.count() for s in shards] == [4, 3, 3]
    limited = opened(tmp_path / "in.jsonl", data, shard=(1, 3), limit=2, window=1)
    assert [r.fields["n"] for r in limited] == [1, 4]
    assert limited.count() == 2
    assert list(opened(tmp_path / "in.jsonl", data, limit=0)) == []


@pytest.mark.parametrize("shard", [(3, 3), (-1, 3), (0, 0)])
def test_no_such_shard(tmp_path, shard):
    with pytest.raises(UserError, match="shard"):
        opened(tmp_path / "in.jsonl", GOOD, shard=shard)


@pytest.mark.parametrize("name", ["none.jsonl", "none", "a/b/c", "sub/none.parquet", "x.csv"])
def test_missing_files(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="does not exist"):
        open_source(name)


def test_unknown_kind(tmp_path):
    with pytest.raises(UserError, match="no kind"):
        opened(tmp_path / "in.csv", "image,caption\na.jpg,A cat.\n")


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
    assert source.kind is Kind.TAR
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
    with pytest.raises(UserError, match="no whole tar"):
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
    from revise_captions.images import load_image

    source = open_source(str(saved_set / "one"))
    assert source.kind is Kind.HUB
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


# --- JSON text ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ('{"a": 1.0, "a": 2}', '{"a": 1.0, "a": 2, "r": "x"}'),
        ('  {"é": "\\u00e9\\/" }\t', '  {"é": "\\u00e9\\/" , "r": "x"}\t'),
        ('{"n": 123456789012345678901234567890, "b": "}"}',
         '{"n": 123456789012345678901234567890, "b": "}", "r": "x"}'),
        ("{}", '{"r": "x"}'),
        ('{"a": {}}', '{"a": {}, "r": "x"}'),
        ('{"r": {"deep": [1]}, "a": 1e5}', '{"a": 1e5, "r": "x"}'),
        ('{"a": 1.50 , "\\u0072": 0, "b": NaN}', '{"a": 1.50, "b": NaN, "r": "x"}'),
        ('{"r": 1, "r": 2}', '{"r": "x"}'),
        ('{"a": {"r": 1}}', '{"a": {"r": 1}, "r": "x"}'),
        ('{"a": "\\"r\\": 1"}', '{"a": "\\"r\\": 1", "r": "x"}'),
    ],
)  # fmt: skip
def test_splice_keeps_the_rest_to_the_byte(raw, expected):
    assert splice(raw, {"r": "x"}) == expected


def test_dumps_is_always_utf8():
    value = {"a": "\ud800é", "b": b"\xff", "c": {"\udfff"}}
    assert dumps(value).encode() == '{"a": "\\ud800é", "b": "/w==", "c": ["\\udfff"]}'.encode()
