"""Layouts of text, to the letter: rows, bad rows, what a broken file says, what is written."""

from __future__ import annotations

import datetime
import gzip
import io
import json
from decimal import Decimal
from pathlib import Path

import pytest
from input_files import opened
from output_files import REVISION, run

from revise_captions.errors import BadRecord, Reason, UserError
from revise_captions.io.jsonl import Text
from revise_captions.io.readers import open_source
from revise_captions.io.rows import (
    BadRow,
    NestedTooDeeply,
    Row,
    Unparsed,
    dumps,
    parse_json,
    splice,
    with_objects,
    with_text_at,
)
from revise_captions.layouts.coco import coco_rows, images_of, is_coco, members, skip, write_coco
from revise_captions.layouts.delimited import DELIMITED, looks_delimited, write_delimited
from revise_captions.layouts.json_rows import JSON_LINES, edited, object_text, with_caption
from revise_captions.layouts.style import OutputStyle
from revise_captions.pipelines.output import writers
from revise_captions.runs.journal import RowResult

IN_PLACE = OutputStyle("caption", "none")

# --- COCO ---------------------------------------------------------------------------------------

IMAGES = [
    {"id": 1, "file_name": "a.jpg", "coco_url": "http://x/other.jpg"},
    {"id": "two", "coco_url": "http://x/b.jpg"},
    {"id": 3, "file_name": ""},
    {"id": 4, "file_name": 4},
    {"id": [5], "file_name": "e.jpg"},
    {"file_name": "f.jpg"},
    7,
]
ANNOTATIONS = [
    {"id": 10, "image_id": 1, "caption": "A cat."},
    {"id": 11, "image_id": "two", "caption": "Two."},
    {"id": 12, "image_id": 3, "caption": "No name."},
    {"id": 13, "image_id": [5], "caption": "No key."},
    {"id": 14, "caption": "No image."},
]


@pytest.fixture
def coco(tmp_path: Path) -> Path:
    path = tmp_path / "in.json"
    path.write_text(json.dumps({"images": IMAGES, "annotations": ANNOTATIONS}))
    return path


def test_coco_rows_are_annotations_with_the_names_of_their_images(coco):
    assert images_of(coco, "x") == {1: "a.jpg", "two": "http://x/b.jpg"}
    raws = [json.dumps(annotation) for annotation in ANNOTATIONS]
    names = ["a.jpg", "http://x/b.jpg"]
    detail = "the image_id {} is in no object of `images`"
    assert list(coco_rows(coco, "mine")) == [
        *(
            Row(k + 1, {**ANNOTATIONS[k], "file_name": name}, raws[k])
            for k, name in enumerate(names)
        ),
        *(
            BadRow("mine", k + 1, Reason.MISSING_IMAGE, detail.format(key), raws[k])
            for k, key in ((2, "3"), (3, "[5]"), (4, "null"))
        ),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1]", "in is no JSON object, after character 0"),
        ("", "in is no JSON object, after character 0"),
        ('{"a" 1}', "in breaks after a key, after character 5"),
        ('{"a": 1]', 'in breaks after the value of "a", after character 7'),
        ("{1: 2}", "in has no key where one should be, after character 1"),
        ('{"a', "in has no key where one should be, after character 1"),
        ('{"a": 1,', "in has no key where one should be, after character 8"),
        ('{"a": [1', "in ends in the middle of a value, after character 8"),
    ],
)
def test_a_broken_object_says_how_and_where(tmp_path, text, message):
    (tmp_path / "in").write_text(text)
    read = Text(tmp_path / "in", "in")
    with pytest.raises(UserError) as caught:  # noqa: PT012
        for _ in members(read):
            skip(read)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('{"images": [], "annotations": []}', True),
        (' {"annotations": [], "x": {"y": 1}, "images": []}', True),
        ('{"images": [], "annotations": {}}', False),
        ('{"images": "a", "annotations": []}', False),
        ('{"images": [], "images": []}', False),
        ('{"images": [], "annotations" []}', False),
        ("[]", False),
    ],
)
def test_what_is_taken_for_coco(tmp_path, text, expected):
    (tmp_path / "in.json").write_text(text)
    assert is_coco(tmp_path / "in.json", "in.json") is expected


COCO_TEXT = (
    '\ufeff{ "info" : {"a": "caf\u00e9 ]}"},\r\n "images": [ {"id": 1, "file_name": "a.jpg"} ] ,\n'
    '  "annotations": [\n   {"image_id": 1, "caption": "One."}\t,\n'
    '   {"image_id": 9, "caption": "Of none."},\n   {"image_id": 1, "caption": "Two."} ,'
    ' {"image_id": 1.0, "caption": "Three."}  \n ],"end": [1.0]} \n'
)


@pytest.mark.parametrize(
    ("options", "kept"),
    [({}, [0, 2]), ({"limit": 1}, [0]), ({"limit": 2}, [0]), ({"limit": 3}, [0, 2])],
)
def test_a_coco_output_is_the_input_but_for_what_it_gains_and_lacks(tmp_path, options, kept):
    path, out = tmp_path / "in.json", tmp_path / "out.json"
    path.write_bytes(COCO_TEXT.encode().replace(b'"end"', b'"\xff"'))
    run(path, out, **options)
    revision = f'"revision": {json.dumps(REVISION)}'
    one = f'{{"image_id": 1, "caption": "One.", "revised_caption": "ONE.", {revision}}}'
    two = f',\n   {{"image_id": 1, "caption": "Two.", "revised_caption": "TWO.", {revision}}}'
    head, tail = COCO_TEXT.partition('{"image_id"')[0], '  \n ],"\udcff": [1.0]} \n'
    parts = {0: one, 2: two}
    text = head + "".join(parts[k] for k in kept) + tail
    assert out.read_bytes() == text.encode("utf-8", "surrogateescape")


def test_what_is_no_annotation_goes_to_the_quarantine(tmp_path):
    path, out = tmp_path / "in.json", tmp_path / "out.json"
    path.write_text(COCO_TEXT.replace('{"image_id": 9, "caption": "Of none."}', "7"))
    counts = run(path, out)
    assert counts.rows == 2
    assert [row["caption"] for row in json.loads(out.read_bytes())["annotations"]] == [
        "One.",
        "Two.",
    ]


def test_a_coco_file_whose_images_changed_when_it_is_copied_is_named(tmp_path):
    path = tmp_path / "in.json"
    path.write_text(COCO_TEXT)
    source = open_source(str(path))
    path.write_text(COCO_TEXT.replace('{"id": 1, "file_name": "a.jpg"}', '{"id": 1, "file'))
    with pytest.raises(UserError) as caught:
        write_coco(source, None, io.BytesIO(), OutputStyle())
    assert caught.value.message.startswith(f"{source.name}")


def test_a_coco_file_that_is_damaged_when_it_is_copied_is_named(tmp_path):
    path = tmp_path / "in.json.gz"
    path.write_bytes(gzip.compress(COCO_TEXT.encode()))
    source = open_source(str(path))
    path.write_bytes(path.read_bytes()[:10])
    with pytest.raises(UserError) as caught:
        write_coco(source, None, io.BytesIO(), OutputStyle())
    assert caught.value.message.startswith(f"{source.name} cannot be decompressed: ")


# --- JSON ---------------------------------------------------------------------------------------


def test_a_caption_in_its_own_place_and_nothing_else(tmp_path):
    raw = '{"n": 1.0, "caption" :"A c\\u0061t.", "talk": [{"from": "gpt", "value": "Hi."}] }'
    row = Row(1, json.loads(raw), raw)
    captions = {"caption": "A dog \U0001f436.", "talk": "Ho.", "none": "x"}
    assert edited(raw, row, RowResult(1, {"caption_original": "A cat."}, captions), IN_PLACE) == (
        '{"n": 1.0, "caption" :"A dog \U0001f436.", "talk": [{"from": "gpt", "value": "Ho."}] '
        ', "caption_original": "A cat."}'
    )
    source = opened(tmp_path / "in.jsonl", '{"image": "a.jpg", "caption": "A."}\n')
    in_place = RowResult(1, {}, {"caption": "A dog."})
    assert object_text(source, row, in_place, IN_PLACE) == raw.replace("A c\\u0061t.", "A dog.")
    same = RowResult(1, {}, {"caption": "A cat."})
    assert edited(raw, row, same, IN_PLACE) == raw
    twice = '{"a": "x", "a": ["y", {"b": "z"}], "c": 1}'
    assert with_text_at(twice, ("a", 1, "b"), "w") == twice.replace("z", "w")


@pytest.mark.parametrize(
    ("content", "place", "expected"),
    [
        ("\ufeffA cat.", (), "\ufeffB."),
        ("A cat.", (), "B."),
        ('\ufeff {"caption": "A cat."}\n', ("caption",), '\ufeff {"caption": "B."}\n'),
        ("B.", (), "B."),
        ("\ufeffB.", (), "\ufeffB."),
    ],
)
def test_a_file_of_one_caption(content, place, expected):
    assert with_caption(content.encode(), place, "B.") == expected.encode()


# --- CSV ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        ('"image","caption"', '"image","caption","caption_original"\n"a.jpg","B.","A."\n'),
        ('image,"caption"', 'image,"caption",caption_original\na.jpg,B.,A.\n'),
        ("image,caption", "image,caption,caption_original\na.jpg,B.,A.\n"),
        ('caption;"x;y";image', 'caption;"x;y";image;caption_original\nB.;"";a.jpg;A.\n'),
    ],
)
def test_a_table_quotes_as_its_first_line_does(tmp_path, header, expected):
    cells = {'"image"': '"a.jpg"', '"caption"': '"A."', "image": "a.jpg", "caption": "A."}
    if header.startswith('image,"'):
        cells['"caption"'] = "A."
    sign = ";" if ";" in header else ","
    names = header.split(sign) if sign == "," else ["caption", "", "image"]
    line = sign.join(cells.get(name, '""') for name in names)
    source = opened(tmp_path / "in.csv", f"{header}\n{line}\n")
    assert source.layout is DELIMITED
    (row,) = source.rows()
    file = io.BytesIO()
    result = RowResult(1, {"caption_original": "A."}, {"caption": "B."})
    write_delimited(source, [(row, result)], file, IN_PLACE)
    assert file.getvalue().decode() == expected


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "in.csv is empty", "its first line must name the columns"),
        ("\ufeff\r\n \n", "in.csv is empty", "its first line must name the columns"),
        (
            "image,caption\ra.jpg,A.\r", "in.csv ends its lines with a bare carriage return",
            r"tr '\r' '\n' < in.csv > lines.csv",
        ),
        ('\nimage,"caption\n', "in.csv, line 2: the header row does not end", ""),
    ],
)  # fmt: skip
def test_a_table_without_a_first_line_says_so(tmp_path, text, message, hint):
    (tmp_path / "in.csv").write_bytes(text.encode())
    with pytest.raises(UserError) as caught:
        list(DELIMITED.open("in.csv", tmp_path / "in.csv", lambda _: None))
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_bad_rows_of_a_table_in_full(tmp_path):
    lines = ["image,caption", "a.jpg,A.,more", "b.jpg", 'c.jpg,"open', "d.jpg,D\udcff.", "e.jpg,E."]
    (tmp_path / "in.csv").write_bytes("\r\n".join(lines).encode("utf-8", "surrogateescape"))
    source = DELIMITED.open("mine", tmp_path / "in.csv", lambda _: None)
    wrong = "{} fields; the first line names 2 columns"
    assert list(source.rows()) == [
        BadRow("mine", 2, Reason.MALFORMED_CSV, wrong.format(3), "a.jpg,A.,more"),
        BadRow("mine", 3, Reason.MALFORMED_CSV, wrong.format(1), "b.jpg"),
        BadRow(
            "mine", 4, Reason.MALFORMED_CSV, "a quoted field begins here and never ends",
            'c.jpg,"open',
        ),
        BadRow("mine", 5, Reason.INVALID_UTF8, "character 7 is not UTF-8", b"d.jpg,D\xff."),
        Row(6, {"image": "e.jpg", "caption": "E."}, "e.jpg,E."),
    ]  # fmt: skip


def test_a_row_may_begin_with_a_quoted_field_of_two_lines(tmp_path):
    text = 'caption,image\n"One\nand two.",a.jpg\n"Three.",b.jpg\n'
    source = opened(tmp_path / "in.csv", text)
    assert [(row.line, row.data) for row in source.rows()] == [
        (2, {"caption": "One\nand two.", "image": "a.jpg"}),
        (4, {"caption": "Three.", "image": "b.jpg"}),
    ]


def test_a_first_line_that_is_not_utf8_may_name_columns():
    assert looks_delimited(b"caption,image,caf\xe9\r\n")
    assert not looks_delimited(b"caf\xe9,image\r\n")


@pytest.mark.parametrize(
    ("head", "are_lines"),
    [
        (b'{"a": 1}', True),
        (b'\xef\xbb\xbf{"a": 1}', True),
        (b'\xef\xbb\xbf \n {"a": 1}', True),
        (b"", True),
        (b"[1]", False),
        (b'[1]\xef\xbb\xbf{"a": 1}', False),
    ],
)
def test_what_is_taken_for_json_lines(tmp_path, head, are_lines):
    assert JSON_LINES.takes(tmp_path / "in.json", head) is are_lines


# --- Whose layout an output has -----------------------------------------------------------------


def test_an_output_that_its_input_cannot_be_is_refused_in_full(tmp_path):
    source = opened(tmp_path / "in.jsonl", '{"image": "a.jpg", "caption": "A."}\n')
    with pytest.raises(UserError) as caught:
        writers.output_layout(source, "out.csv")
    assert caught.value.message == "out.csv: an output as CSV needs such an input, not JSON Lines"
    assert caught.value.hint == "name the output .jsonl or .parquet"


# --- Rows ---------------------------------------------------------------------------------------


def test_json_lines_are_parsed_when_somebody_looks(tmp_path):
    text = '{"image": "a.jpg", "caption": "A."}'
    source = opened(tmp_path / "in.jsonl", text + "\n")
    assert source.read_unparsed is not None
    (row,) = source.read_unparsed()
    assert isinstance(row.data, Unparsed)
    assert (row.data.text, row.raw, row.line) == (text, text, 1)
    assert dict(row.data) == json.loads(text)


def test_json_of_200_levels_is_parsed_and_of_201_is_not(tmp_path):
    assert parse_json("[" * 200 + "]" * 200) is not None
    with pytest.raises(NestedTooDeeply, match=r"^nested more than 200 levels deep$"):
        parse_json("[" * 200 + '{"a": 1}' + "]" * 200)
    assert parse_json('["' + "[" * 300 + '"]') == ["[" * 300]
    assert len(parse_json("[" + "[], " * 300 + "[]]")) == 301


def test_integers_keep_all_their_digits():
    for digits in ("7" * 3999, "7" * 4000, "-" + "7" * 5000):
        found = parse_json(f"[{digits}, 1, 1.5]")
        assert format(found[0], "d" if isinstance(found[0], int) else "f") == digits
        assert found[1:] == [1, 1.5]


def test_values_of_other_formats_as_json():
    value = {
        "bytes": bytearray(b"\xff\x00"), "view": memoryview(b"a"), "set": frozenset({"b", "a"}),
        "mixed": {2, "1"}, "day": datetime.date(2026, 1, 2), "number": Decimal("1.50"),
        "object": Unparsed('{"k": "é"}'),
    }  # fmt: skip
    assert dumps(value) == (
        '{"bytes": "/wA=", "view": "YQ==", "set": ["a", "b"], "mixed": ["1", 2], '
        '"day": "2026-01-02", "number": "1.50", "object": {"k": "é"}}'
    )


def test_a_row_in_the_quarantine_keeps_its_text_or_its_bytes():
    error = BadRecord(Reason.EMPTY_CAPTION, "it is empty")
    data = {"caption": "", "n": 1}
    assert BadRow.of(Row(4, data, "raw \r\n"), "in", error).as_json() == {
        "file": "in", "line": 4, "reason": "empty_caption", "detail": "it is empty", "text": "raw ",
    }  # fmt: skip
    assert BadRow.of(Row(4, data), "in", error).original == '{"caption": "", "n": 1}'
    assert BadRow("in", 5, Reason.INVALID_UTF8, "x", b"\xff").as_json() == {
        "file": "in", "line": 5, "reason": "invalid_utf8", "detail": "x", "bytes": "/w==",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (
            {"revision": '{"sentences": []}', "revised_caption": '{"a": "A."}', "n": "{}",
             "caption_original": '{"a": "B."}'},
            {"revision": {"sentences": []}, "revised_caption": '{"a": "A."}', "n": "{}",
             "caption_original": '{"a": "B."}'},
        ),
        (
            {"revision": '{"a": {}}', "revised_caption": '{"a": "A."}', "n": "{}",
             "caption_original": '{"a": "B."}'},
            {"revision": {"a": {}}, "revised_caption": {"a": "A."}, "n": "{}",
             "caption_original": {"a": "B."}},
        ),
        ({"revision": "{oops", "revised_caption": '{"a": 1}'}, None),
        ({"revision": "[1]"}, None),
        ({"revision": 7}, None),
        ({"revised_caption": '{"a": 1}'}, None),
    ],
)  # fmt: skip
def test_objects_that_a_table_holds_as_text(data, expected):
    assert with_objects(Row(3, data, "x")) == Row(3, data if expected is None else expected, "x")


@pytest.mark.parametrize(
    ("raw", "gone", "expected"),
    [
        ('{"a": 1, "b": 2, "c": 3}', ("b",), '{"a": 1, "c": 3}'),
        ('{ "a": 1 ,"b": 2\n}', ("a",), '{ "b": 2\n}'),
        ('{ "a": 1 ,\t"b": 2 \n}', ("b",), '{ "a": 1  \n}'),
        ('{"a": 1}', ("a",), "{}"),
        ('{"a": [], "b": {"a": 1}}', ("a", "c"), '{"b": {"a": 1}}'),
        ('{"a": 1, "b": "c"}', ("c",), '{"a": 1, "b": "c"}'),
    ],
)
def test_members_that_go_leave_the_others_as_they_are(raw, gone, expected):
    assert splice(raw, {}, gone) == expected
    assert json.loads(expected) == {k: v for k, v in json.loads(raw).items() if k not in gone}
