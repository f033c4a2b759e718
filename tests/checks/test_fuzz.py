"""No record is lost, whatever the input: half a minute of the fuzzer, and its corpus."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from revise_captions.io import jsonl
from revise_captions.outside_text import encodable
from scripts.checks import fuzz


def test_everything_that_attacks_have_found():
    done = fuzz.fuzz(0, 0, list(fuzz.KINDS))
    assert done.findings == []
    assert set(fuzz.KINDS) <= set(done.counts)


def test_halves_of_a_surrogate_pair_reach_no_tokenizer():
    assert encodable("A \ud83d\ude00\U0001f600 dog\udfff.") == "A \ufffd\ufffd\U0001f600 dog\ufffd."


@pytest.mark.slow
def test_half_a_minute():
    assert fuzz.fuzz(16, 30, list(fuzz.KINDS)).findings == []


def test_a_lost_record_would_be_found(monkeypatch):
    """The fuzzer sees a reader that skips a row, swaps two, or raises."""
    read = jsonl.json_lines

    def skipping(path: Path, name: str, **more: bool):
        return (row for row in read(path, name, **more) if row.line != 7)

    def raising(path: Path, name: str, **more: bool):
        for row in read(path, name, **more):
            if row.line == 7:
                raise RuntimeError("a bug")
            yield row

    for broken, said in ((skipping, "rows in"), (raising, "a bug")):
        monkeypatch.setattr(jsonl, "json_lines", broken)
        (found,) = fuzz.fuzz(0, 0, ["rows"]).findings
        assert said in found["what"]
        json.dumps(found)


@pytest.mark.parametrize("kind", ["rows", "array", "revisions", "archives"])
def test_a_run_depends_on_its_seed_alone(kind):
    one, two = (fuzz.fuzz(3, 0, [kind]).counts for _ in range(2))
    assert one == two
