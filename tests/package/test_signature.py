"""Signatures, and JSON members that come and go without a trace: stages chain on both."""

from __future__ import annotations

import json
from importlib.metadata import version

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revise_captions.io.rows import splice
from revise_captions.signature import fingerprint, merged, settings_of, signature


def test_a_signature_is_one_line_by_key_and_names_the_package():
    line = signature({"threshold": "0.5", "critic": "a|b\nc: d", "device": "cuda:1"})
    package = f"revise-captions:{version('revise-captions')}"
    assert line == f"critic:a/b c: d|device:cuda:1|threshold:0.5|{package}"
    assert settings_of(line)["device"] == "cuda:1"
    assert settings_of("no signature") == {}


def test_stages_end_in_the_signature_of_all():
    critic, both, reviser = {"critic": "c", "dtype": "float32"}, {"rounds": "2"}, {"reviser": "r"}
    whole = signature({**critic, **both, **reviser})
    first = signature(critic | both)
    second = merged(first, signature(both | reviser))
    assert first != whole
    assert second == whole
    assert merged(second, first) == whole
    assert merged("", whole) == whole
    assert merged(whole, signature({"rounds": "3"})).count("rounds:3") == 1


def test_fingerprints_differ_with_any_setting():
    assert fingerprint({"a": "1", "b": "2"}) == fingerprint({"b": "2", "a": "1"})
    assert fingerprint({"a": "1"}) != fingerprint({"a": "2"})


WHITE = st.sampled_from(["", " ", "  ", "\t", "\n "])


@st.composite
def objects(draw: st.DrawFn) -> str:
    """JSON text of an object with white space anywhere between its parts."""
    members = draw(st.dictionaries(st.text(max_size=4), st.integers() | st.text(max_size=5)))
    texts = [
        f"{draw(WHITE)}{json.dumps(key)}{draw(WHITE)}:{draw(WHITE)}{json.dumps(value)}{draw(WHITE)}"
        for key, value in members.items()
    ]
    return "{" + (",".join(texts) or draw(WHITE)) + "}"


@given(objects())
def test_a_member_spliced_twice_is_as_spliced_once(raw):
    first = splice(raw, {"rev": {"x": [1]}, "revised": "a"})
    assert splice(splice(raw, {"rev": 1, "revised": "another"}), json.loads(
        json.dumps({"rev": {"x": [1]}, "revised": "a"}))) == first  # fmt: skip
    old = {k: v for k, v in json.loads(raw).items() if k not in ("rev", "revised")}
    assert json.loads(first) == old | {"rev": {"x": [1]}, "revised": "a"}


@pytest.mark.parametrize(
    ("raw", "once"),
    [
        ('{"a":1,"b":2}', '{"a":1,"b":2, "r": 0}'),
        ('{ "a": 1 }', '{ "a": 1 , "r": 0}'),
        ('{"r": 7, "a":1}', '{"a":1, "r": 0}'),
        ('{ }', '{ "r": 0}'),
    ],
)  # fmt: skip
def test_the_white_space_between_members_stays(raw, once):
    assert splice(raw, {"r": 0}) == once
    assert splice(once, {"r": 0}) == once
