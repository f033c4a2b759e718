"""CSV as pandas reads it, COCO JSON, folders of images: rows, bad rows, and nothing held."""

from __future__ import annotations

import csv
import io
import json
import random
import tracemalloc
from pathlib import Path

import pytest
from input_files import opened, reasons

from revise_captions.errors import Reason, UserError
from revise_captions.io.decoding import FORMATS
from revise_captions.io.images import parse_image
from revise_captions.io.readers import open_source
from revise_captions.io.rows import BadRow, Row
from revise_captions.layouts.coco import COCO
from revise_captions.layouts.delimited import DELIMITED, delimited_rows, fields_of, value_of
from revise_captions.layouts.image_folder import (
    BESIDE_IMAGES,
    IMAGE_SUFFIXES,
    METADATA_CSV,
    METADATA_LINES,
)
from revise_captions.layouts.json_rows import JSON_LINES

# --- CSV ----------------------------------------------------------------------------------------


def as_csv_reads(text: str, delimiter: str) -> list[list[str]]:
    return [row for row in csv.reader(io.StringIO(text, newline=""), delimiter=delimiter) if row]


@pytest.mark.parametrize("seed", range(40))
def test_fields_are_those_of_pythons_own_reader(tmp_path, seed):
    chance = random.Random(seed)
    delimiter = chance.choice(",;\t|")
    signs = ["a", "é", '"', '""', " ", delimiter, "\n", "\r\n", "x y", "", "日"]

    def cell() -> str:
        text = "".join(chance.choice(signs) for _ in range(chance.randrange(6)))
        if chance.random() < 0.5 or any(sign in text for sign in ('"', "\n", "\r", delimiter)):
            return '"' + text.replace('"', '""') + '"'
        return text

    columns = chance.randrange(2, 5)
    header = delimiter.join(f"column {number}" for number in range(columns))
    end = chance.choice(["\n", "\r\n"])
    rows = [delimiter.join(["k", *(cell() for _ in range(columns - 1))]) for _ in range(30)]
    text = end.join([header, *rows]) + chance.choice(["", end])
    (tmp_path / "in.csv").write_bytes(text.encode())
    read = list(delimited_rows(tmp_path / "in.csv", "in.csv"))
    assert not [row for row in read if isinstance(row, BadRow)]
    assert [list(row.data.values()) for row in read] == as_csv_reads(text, delimiter)[1:]
    assert "".join(row.raw for row in read) == text[len(header + end) :]
    assert [[value_of(f) for f in fields_of(row.raw, delimiter)] for row in read] == [
        list(row.data.values()) for row in read
    ]


def test_a_row_is_numbered_by_the_line_it_begins_on(tmp_path):
    text = 'image,caption\n\na.jpg,"Two\nlines"\n\nb.jpg,One\n'
    source = opened(tmp_path / "in.csv", text)
    assert source.layout is DELIMITED
    assert [(row.line, row.captions["caption"]) for row in source] == [
        (3, "Two\nlines"),
        (6, "One"),
    ]
    assert source.count() == 2


def test_a_stray_quotation_mark_costs_one_row(tmp_path):
    rows = [f"{number}.jpg,Cat {number}." for number in range(2000)]
    rows[5] = '5.jpg,"A cat that'
    rows[7] = '7.jpg,A 5" pipe and a "quote"'
    source = opened(tmp_path / "in.csv", "\n".join(["image,caption", *rows, ""]))
    found = list(source)
    assert len(found) == 2000
    bad = [row for row in found if isinstance(row, BadRow)]
    assert [(row.line, row.reason, row.original) for row in bad] == [
        (7, Reason.MALFORMED_CSV, '5.jpg,"A cat that')
    ]
    assert found[7].captions["caption"] == 'A 5" pipe and a "quote"'


def test_a_carriage_return_behind_a_quoted_field_is_not_its_end(tmp_path):
    """A field that follows in an output would make one of both."""
    rows = 'image,caption\na.jpg,"Two\nlines"\r\r\nb.jpg,"A\ncat."\r\n'
    found = [getattr(row, "reason", None) for row in opened(tmp_path / "in.csv", rows)]
    assert found == [Reason.MALFORMED_CSV, Reason.MALFORMED_CSV, None]


def test_bad_rows_of_a_table(tmp_path):
    text = b"image,caption,n\na.jpg,A cat.,1\nb.jpg,A, dog.,2\nc.jpg,caf\xe9,3\n,No image.,4\n"
    text += b"e.jpg,,5\n"
    source = opened(tmp_path / "in.csv", text)
    assert reasons(source) == [
        None,
        Reason.MALFORMED_CSV,
        Reason.INVALID_UTF8,
        Reason.MISSING_IMAGE,
        Reason.EMPTY_CAPTION,
    ]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("in.tsv", "image\tcaption\na.jpg\tA cat, black.\n"),
        ("in.csv", "image;caption\na.jpg;A cat, black.\n"),
        ("in.csv", '\ufeffimage,caption\r\na.jpg,"A cat, black."\r\n'),
        ("in.csv", '"image","caption"\n"a.jpg","A cat, black."'),
        ("in", 'caption|image\n"A cat, black."|a.jpg\n'),
    ],
)
def test_dialects(tmp_path, name, text):
    (row,) = opened(tmp_path / name, text)
    assert (row.image.path, row.captions) == ("a.jpg", {"caption": "A cat, black."})


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty"),
        ("image,caption\na.jpg,A.\n".encode("utf-16"), "UTF-16"),
        ("image,caption\na.jpg,A.\n".encode("utf-16-le"), "iconv -f UTF-16LE -t UTF-8"),
        ("image,caption\na.jpg,A.\n".encode("utf-16-be"), "iconv -f UTF-16BE -t UTF-8"),
        (b"image,caption\ra.jpg,A cat.\r", "carriage return"),
        (b'image,"caption\na.jpg,A cat.\n', "does not end"),
        (b"a.jpg,A cat.\nb.jpg,A dog.\n", "no field known to hold the caption"),
    ],
)
def test_tables_that_cannot_be_read(tmp_path, data, message):
    with pytest.raises(UserError, match=message):
        opened(tmp_path / "in.csv", data)


def test_repeated_columns_are_numbered_as_by_pandas(tmp_path):
    pandas = pytest.importorskip("pandas")
    text = "image,caption,caption,caption\na.jpg,One.,Two.,Three.\n"
    (row,) = opened(tmp_path / "in.csv", text)
    assert list(row.fields) == list(pandas.read_csv(tmp_path / "in.csv").columns)


# --- COCO ---------------------------------------------------------------------------------------


def coco(images: int, captions: int = 2) -> dict[str, object]:
    return {
        "info": {"year": 2014, "nested": {"images": [1, {"annotations": "]}"}]}},
        "annotations": [
            {"id": 10 * i + j, "image_id": i, "caption": f"Cat {i}, seen {j} times."}
            for i in range(images)
            for j in range(captions)
        ],
        "images": [{"id": i, "file_name": f"{i}.jpg"} for i in range(images)],
        "licenses": [],
    }


@pytest.mark.parametrize("indent", [None, 1, 4])
def test_coco_has_a_row_for_each_caption_of_an_image(tmp_path, indent):
    source = opened(tmp_path / "in.json", json.dumps(coco(3), indent=indent))
    assert source.layout is COCO
    rows = list(source)
    assert [row.line for row in rows] == [1, 2, 3, 4, 5, 6]
    assert [row.image.path for row in rows] == [
        "0.jpg",
        "0.jpg",
        "1.jpg",
        "1.jpg",
        "2.jpg",
        "2.jpg",
    ]
    assert [row.captions["caption"] for row in rows][:2] == [
        "Cat 0, seen 0 times.",
        "Cat 0, seen 1 times.",
    ]


def test_a_caption_of_an_unknown_image_is_a_bad_row(tmp_path):
    data = coco(2, 1)
    data["annotations"].insert(1, {"id": 99, "image_id": 7, "caption": "A dog."})
    data["annotations"].append({"id": 100, "caption": "A dog."})
    data["annotations"].append({"id": 101, "image_id": [1], "caption": "A dog."})
    source = opened(tmp_path / "in.json", json.dumps(data))
    missing = Reason.MISSING_IMAGE
    assert reasons(source) == [None, missing, None, missing, missing]


def test_other_objects_are_not_taken_for_coco(tmp_path):
    rows = '{"images": ["a.jpg"], "caption": "A cat."}\n{"images": ["b.jpg"], "caption": "Two."}\n'
    assert opened(tmp_path / "in.json", rows).layout is JSON_LINES
    assert reasons(opened(tmp_path / "in.json", '{"image": "a", oops\n' + rows))[0] is not None


def test_a_coco_file_that_breaks_off_says_where(tmp_path):
    whole = json.dumps(coco(3))
    with pytest.raises(UserError, match=r"in\.json .*, after character"):
        opened(tmp_path / "in.json", whole[: whole.index("licenses") - 9])


def test_coco_is_streamed(tmp_path):
    path = tmp_path / "in.json"
    filler = "x" * 2000
    with path.open("w") as file:
        file.write('{"annotations": [')
        for number in range(4_000):
            row = {"id": number, "image_id": 1, "caption": "A cat.", "note": filler}
            file.write((", " if number else "") + json.dumps(row))
        file.write('], "images": [{"id": 1, "file_name": "a.jpg"}]}')
    assert path.stat().st_size > 8_000_000
    tracemalloc.start()
    assert sum(1 for _ in open_source(str(path))) == 4_000
    assert tracemalloc.get_traced_memory()[1] < 6_000_000
    tracemalloc.stop()


def test_of_each_image_of_a_coco_file_little_is_held(tmp_path):
    from revise_captions.layouts.coco import images_of

    path, count = tmp_path / "in.json", 20_000
    names = [f"COCO_val2014_{number:012}.jpg" for number in range(count)]
    images = [{"id": 10**6 + n, "file_name": name, "width": 640} for n, name in enumerate(names)]
    path.write_text(json.dumps({"images": images, "annotations": []}))
    del images, names
    tracemalloc.start()
    known = images_of(path, "in.json")
    assert len(known) == count
    assert tracemalloc.get_traced_memory()[0] < 300 * count
    tracemalloc.stop()


# --- Folders ------------------------------------------------------------------------------------


def picture(path: Path) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (8, 8), (hash(path.name) % 256, 0, 0)).save(path)


def test_captions_beside_images(tmp_path):
    folder = tmp_path / "photos"
    for name in ("b.jpg", "a/x.2.PNG", "a/y.jpg", "c.jpg", ".hidden.jpg", "d.jpg", "d.png"):
        picture(folder / name)
    (folder / "b.txt").write_text("\ufeffA bee.\n", encoding="utf-8")
    (folder / "a/x.2.json").write_text('{"caption": "An x.", "n": 1}')
    (folder / "a/y.txt").write_bytes(b"caf\xe9")
    (folder / "d.txt").write_text("Whose?")
    (folder / "notes.txt").write_text("of no image")
    source = open_source(str(folder))
    assert source.layout is BESIDE_IMAGES
    assert source.count() == 6
    rows = list(source.rows())
    assert [r.data for r in rows if isinstance(r, Row)] == [
        {"file_name": "a/x.2.PNG", "json": {"caption": "An x.", "n": 1}},
        {"file_name": "b.jpg", "txt": "A bee.\n"},
        {"file_name": "c.jpg"},
        {"file_name": "d.jpg", "txt": "Whose?"},
    ]
    assert [r.reason for r in rows if isinstance(r, BadRow)] == [
        Reason.INVALID_UTF8,
        Reason.MISSING_CAPTION,
    ]


def test_a_link_that_leads_nowhere_costs_its_own_row(tmp_path):
    folder = tmp_path / "photos"
    picture(folder / "b.jpg")
    (folder / "b.txt").write_text("A bee.")
    (folder / "loop.jpg").symlink_to("loop.jpg")
    (folder / "gone.jpg").symlink_to("nowhere.jpg")
    (folder / "gone.txt").symlink_to("gone.txt")
    (folder / "folder.jpg").symlink_to(tmp_path)
    source = open_source(str(folder))
    assert source.count() == 3
    assert [row.data["file_name"] for row in source.rows()] == ["b.jpg", "gone.jpg", "loop.jpg"]
    bad = [item for item in source if isinstance(item, BadRow)]
    assert [row.reason for row in bad] == [Reason.MISSING_CAPTION] * 2


def test_an_icon_is_no_image_of_a_folder(tmp_path):
    """It could never be read: neither it nor what stands beside it is a record."""
    from PIL import Image

    folder = tmp_path / "photos"
    picture(folder / "b.jpg")
    for name in ("a.txt", "b.txt"):
        (folder / name).write_text("A bee.")
    for name in ("a.ico", "c.ICO"):
        Image.new("RGB", (16, 16)).save(folder / name, "ICO")
    source = open_source(str(folder))
    assert source.count() == 1
    assert [row.data for row in source.rows()] == [{"file_name": "b.jpg", "txt": "A bee."}]
    (folder / "b.jpg").unlink()
    with pytest.raises(UserError, match="photos"):
        open_source(str(folder))


def test_images_in_folders_are_those_that_can_be_read():
    from PIL import Image

    kinds = {Image.registered_extensions()[suffix] for suffix in IMAGE_SUFFIXES}
    assert kinds == set(FORMATS)


@pytest.mark.parametrize(
    ("name", "layout"), [("metadata.jsonl", METADATA_LINES), ("metadata.csv", METADATA_CSV)]
)
def test_a_folder_with_metadata(tmp_path, name, layout):
    folder = tmp_path / "photos"
    picture(folder / "in/a.jpg")
    row = {"file_name": "in/a.jpg", "text": "A cat."}
    lines = ["file_name,text", "in/a.jpg,A cat."] if "csv" in name else [json.dumps(row)]
    (folder / name).write_text("\n".join(lines))
    source = open_source(str(folder))
    assert (source.layout, source.folder) == (layout, folder)
    assert [r.data for r in source.rows()] == [row]


# --- Chats --------------------------------------------------------------------------------------


def turns(*parts: object) -> list[object]:
    answer = {"role": "assistant", "content": [{"type": "text", "text": "A cat."}]}
    question = [*parts, {"type": "text", "text": "Describe it."}]
    return [{"role": "user", "content": question}, answer]


@pytest.mark.parametrize(
    ("part", "path"),
    [
        ({"type": "image", "image": "a.jpg"}, "a.jpg"),
        ({"type": "image", "path": "a.jpg"}, "a.jpg"),
        ({"type": "image_url", "image_url": {"url": "file:///a.jpg"}}, "/a.jpg"),
        ({"type": "input_image", "image_url": "a.jpg"}, "a.jpg"),
        ({"image": "a.jpg"}, "a.jpg"),
        ({"type": "image", "image": {"bytes": None, "path": "a.jpg"}}, "a.jpg"),
    ],
)
def test_the_image_among_the_parts_of_a_turn(tmp_path, part, path):
    row = {"id": 7, "messages": turns(part)}
    (record,) = opened(tmp_path / "in.jsonl", json.dumps(row))
    assert (record.image.path, record.captions) == (path, {"messages": "A cat."})
    assert parse_image(row["messages"][0]["content"]).path == path


def test_a_chat_of_two_images_or_none(tmp_path):
    one = {"type": "image", "image": "a.jpg"}
    rows = [turns(one), turns(one, one), turns()]
    text = "\n".join(json.dumps({"messages": row}) for row in rows)
    found = list(opened(tmp_path / "in.jsonl", text))
    assert [getattr(row, "detail", "") for row in found] == [
        "",
        "2 images in one record; expected one",
        "0 images in one record; expected one",
    ]
