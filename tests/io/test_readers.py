"""Readers of text: JSON Lines and arrays, bad rows, names of fields, parts of a file."""

from __future__ import annotations

import json
import tracemalloc
from pathlib import Path

import pytest
from input_files import GOOD, lines_of, opened, reasons
from PIL import Image

from revise_captions.errors import Reason, UserError
from revise_captions.io import jsonl
from revise_captions.io.fields import MAX_CAPTION, Fields
from revise_captions.io.jsonl import json_lines
from revise_captions.io.readers import open_source
from revise_captions.io.rows import dumps, splice
from revise_captions.layouts.json_rows import JSON_ARRAY, JSON_LINES
from revise_captions.records import ImageRef, Record


def row(caption: object = "A cat.", **more: object) -> dict[str, object]:
    return {"image": "a.jpg", "caption": caption, **more}


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


def test_a_null_is_not_called_an_absent_field(tmp_path):
    """As in a Parquet table, whose every row has every field."""
    for name in ("caption", "image"):
        source = opened(tmp_path / "in.jsonl", lines_of(row("A."), {**row("A."), name: None}))
        assert [bad.detail for bad in list(source)[1:]] == [f'"{name}" is null']


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
    assert source.layout is JSON_ARRAY
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


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        ('{"a": "' + 'y[,"\\\\'.replace('"', '\\"') * 300 + '"}', Reason.LINE_TOO_LONG),
        ("[" * 900 + "]" * 900, Reason.LINE_TOO_LONG),
        ("[" + "1," * 400 + "1]", Reason.LINE_TOO_LONG),
        ("9" * 1001, Reason.LINE_TOO_LONG),
        ("[" + "1," * 120 + "1]", Reason.LINE_TOO_LONG),  # values
        ('{"a": oops}', Reason.MALFORMED_JSON),
    ],
)
def test_array_goes_on_after_a_bad_element(tmp_path, monkeypatch, bad, reason):
    """Whatever an element holds; pieces of 7 bytes cut it at every odd place."""
    monkeypatch.setattr(jsonl, "MAX_LINE", 1000)
    monkeypatch.setattr(jsonl, "MAX_VALUES", 100)
    monkeypatch.setattr(jsonl, "_CHUNK", 7)
    good = GOOD.decode()
    source = opened(tmp_path / "in.json", f"[{good}, {bad} ,{good}]")
    assert reasons(source) == [None, reason, None]
    found = list(source)
    assert found[2].raw == good
    assert bad.startswith(found[1].original.rstrip())


def test_array_with_an_integer_of_5000_digits_or_too_deep(tmp_path):
    digits = '{"image": "a", "caption": "A.", "n": ' + "9" * 5000 + "}"
    source = opened(tmp_path / "in.json", f"[{digits}, {'[' * 100_000}{']' * 100_000}]")
    assert reasons(source) == [None, Reason.MALFORMED_JSON]
    assert next(iter(source)).raw == digits


def test_a_line_of_too_many_values_is_not_parsed(tmp_path):
    line = b'{"x": [' + b"[]," * jsonl.MAX_VALUES + b"0]}"
    source = opened(tmp_path / "in.jsonl", GOOD + b"\n" + line + b"\n" + GOOD)
    assert reasons(source) == [None, Reason.LINE_TOO_LONG, None]


def test_json_lines_under_the_name_json(tmp_path):
    assert opened(tmp_path / "in.json", GOOD + b"\n" + GOOD).layout is JSON_LINES


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


@pytest.mark.parametrize("at", [0, 50, 99])
@pytest.mark.parametrize(
    "stray",
    [
        {"image": "a.jpg", "vlm_caption": "Other."},
        {"image": "a.jpg", "Caption": "Other."},
        {"img": "a.jpg", "caption": "A cat.", "recaption": "Other."},
    ],
)
def test_one_stray_row_does_not_choose_the_fields(tmp_path, caplog, stray, at):
    rows = [row() for _ in range(99)]
    rows.insert(at, stray)
    source = opened(tmp_path / "in.jsonl", lines_of(*rows))
    assert source.fields == Fields("image", ("caption",))
    assert [line for line, reason in enumerate(reasons(source)) if reason] == [at]
    assert "99 of the first 100 rows" in caplog.text


def test_a_better_name_in_most_rows_still_wins(tmp_path, caplog):
    rows = [row(recaption="Other.") for _ in range(6)] + [row() for _ in range(4)]
    assert opened(tmp_path / "in.jsonl", lines_of(*rows)).fields.captions == ("recaption",)
    assert '"caption" in 10' in caplog.text
    caplog.clear()
    rows = [row(recaption="Other.") for _ in range(4)] + [row() for _ in range(6)]
    assert opened(tmp_path / "in.jsonl", lines_of(*rows)).fields.captions == ("caption",)
    assert caplog.text == ""  # all rows have it


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
    with pytest.raises(UserError, match=r"does not exist\n"):
        open_source(name)


@pytest.mark.parametrize("name", ["foto/", "photo", "sub/1.jsonl"])
def test_a_misspelled_path_is_answered_with_the_nearest(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for folder in ("photos", "sub"):
        Path(folder).mkdir()
    Path("sub/1.json").write_text("[]")
    near = "1.json" if name.startswith("sub") else "photos"
    with pytest.raises(UserError, match=rf"does not exist: did you mean {near}\?"):
        open_source(name)


def test_a_folder_of_images_alone_is_told_where_captions_stand(tmp_path):
    pytest.importorskip("datasets")
    Image.new("RGB", (8, 8)).save(tmp_path / "1.png")
    with pytest.raises(UserError, match="no field known to hold the caption") as raised:
        open_source(str(tmp_path))
    assert "captions stand beside images, 1.txt for 1.jpg" in raised.value.hint
    (tmp_path / "1.png").unlink()
    with pytest.raises(UserError, match="cannot open the dataset") as raised:
        open_source(str(tmp_path))
    assert raised.value.hint.startswith("expected images with captions")


def test_unknown_kind(tmp_path):
    with pytest.raises(UserError, match="has a format that cannot be read"):
        opened(tmp_path / "in.txt", "image, caption: a.jpg\nA cat.\n")


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
