"""Whatever a record raises in a step of its own is that record's reason; nothing else is."""

from __future__ import annotations

import json

import pytest
from input_files import GOOD, lines_of, opened, reasons

from revise_captions.errors import BadRecord, EngineDead, Reason, UserError, own_step
from revise_captions.io.fields import Fields, look_up
from revise_captions.io.images import parse_image
from revise_captions.io.rows import MAX_NESTING, BadRow, parse_json


def nested(levels: int) -> str:
    return '{"image": "a.jpg", "caption": "A cat.", "x": ' + "[" * levels + "]" * levels + "}"


@pytest.mark.parametrize("error", [ValueError("two\nlines"), RecursionError(), KeyError("x")])
def test_an_unforeseen_exception_becomes_the_records_reason(error):
    with pytest.raises(BadRecord) as caught, own_step(Reason.IMAGE_UNREADABLE):
        raise error
    assert caught.value.reason is Reason.IMAGE_UNREADABLE
    assert caught.value.detail.startswith(type(error).__name__)
    assert "\n" not in caught.value.detail


@pytest.mark.parametrize(
    "error",
    [
        *(UserError("x"), EngineDead("x"), BadRecord(Reason.URL_FAILED, "x")),
        *(MemoryError(), KeyboardInterrupt(), SystemExit(1)),
    ],
)
def test_what_concerns_the_run_passes(error):
    with pytest.raises(type(error)) as caught, own_step(Reason.IMAGE_UNREADABLE):
        raise error
    assert caught.value is error


@pytest.mark.parametrize("value", ["file://[x", {"path": "file://[::1"}, ["file://[x"]])
def test_a_file_uri_that_cannot_be_split(value):
    with pytest.raises(BadRecord, match="ValueError") as caught:
        parse_image(value)
    assert caught.value.reason is Reason.IMAGE_UNREADABLE


def test_levels_of_a_row_are_limited_wherever_it_is_read(tmp_path):
    """A row at the limit can be read with much of the stack in use."""
    texts = [nested(MAX_NESTING - 1), nested(MAX_NESTING), nested(600), nested(100_000)]
    path = '{"path": ' * 600 + '"a.jpg"' + "}" * 600
    texts.append('{"image": ' + path + ', "caption": "A cat."}')
    expected = [None, None, *[Reason.MALFORMED_JSON] * 4]
    lines = opened(tmp_path / "in.jsonl", "\n".join([GOOD.decode(), *texts]))
    array = opened(tmp_path / "in.json", f"[{','.join([GOOD.decode(), *texts])}]")

    def deep(levels: int) -> list[Reason | None]:
        return deep(levels - 1) if levels else reasons(lines) + reasons(array)

    assert deep(0) == expected * 2
    assert deep(400) == expected * 2
    bad = [item.original for item in array if isinstance(item, BadRow)]
    assert bad == texts[1:]


def test_a_string_of_brackets_is_no_nesting():
    for text in ("[" * 999, '\\"[' * 999, "\\" * 998 + "{" * 999):
        assert parse_json(json.dumps({"x": text})) == {"x": text}


def test_an_array_with_an_integer_of_5000_digits(tmp_path):
    long = '{"image": "a.jpg", "caption": "A cat.", "n": 7, "long": ' + "9" * 5000 + "}"
    source = opened(tmp_path / "in.json", f"[{GOOD.decode()}, {long}, {GOOD.decode()}]")
    _, record, _ = source
    assert record.raw == long
    assert record.fields["n"] == 7
    assert str(record.fields["long"]) == "9" * 5000


def test_an_element_of_an_array_that_is_not_utf8_is_that_elements_fault(tmp_path):
    bad = b'{"image": "a.jpg", "caption": "caf\xe9"}'
    whole = '{"image": "a.jpg", "caption": "Café \\ud800."}'
    source = opened(tmp_path / "in.json", b"[" + b", ".join([GOOD, bad, whole.encode()]) + b"]")
    assert reasons(source) == [None, Reason.INVALID_UTF8, None]
    assert [item.original for item in source if isinstance(item, BadRow)] == [bad]


@pytest.mark.parametrize("name", ["x.--1", "x.-", "x.²", "x." + "9" * 5000, "x.9" + "9" * 20])
def test_names_that_are_no_path(name, tmp_path):
    assert look_up({"x": ["a"]}, name) is None
    with pytest.raises(UserError, match="no field"):
        opened(tmp_path / "in.jsonl", lines_of({"x": ["a"]}), fields=Fields(None, (name,)))


def test_names_of_fields_neither_break_nor_fill_a_message(tmp_path):
    names = ["a\nb", "c\td", "e" * 5000, "\x1b[31m"]
    with pytest.raises(UserError) as caught:
        opened(tmp_path / "in.jsonl", lines_of(dict.fromkeys(names, 1)))
    assert "aU+000Ab, cU+0009d, eeee" in caught.value.hint
    assert "U+001B[31m" in caught.value.hint
    assert len(caught.value.hint) < 400
    assert "\n" not in caught.value.hint
