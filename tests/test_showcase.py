"""What README.md shows of a run is what a run has written."""

from __future__ import annotations

import json

import pytest

from revise_captions.pipelines import showcase


def row(name, *sentences):
    found = [
        {"span": [0, 2], "label": label, "accepted": accepted, "dropped": dropped}
        for label, accepted, dropped in sentences
    ]
    return {"id": name, "caption": "A. " * len(found), "revision": {"rounds": 1, "sentences": found}}


GOOD = ("nonfactual", True, False)
FINE = ("factual", None, False)


def test_the_example_is_the_shortest_that_was_mended_whole():
    rows = [
        row("untouched", FINE),
        row("refused", ("nonfactual", False, False)),
        row("dropped", ("nonfactual", True, True)),
        row("long", GOOD, FINE, FINE),
        row("short", GOOD, FINE),
        row("half", GOOD, ("nonfactual", False, False)),
    ]
    assert showcase.example(rows)["id"] == "short"


def test_nothing_mended_is_no_example():
    with pytest.raises(ValueError, match="empty"):
        showcase.example([row("untouched", FINE)])


def test_the_block_is_the_record():
    record = row("é <!-- /example -->", GOOD, FINE)
    block = showcase.as_block(record)
    assert json.loads(block.removeprefix("```json\n").removesuffix("\n```")) == record
    assert block.count("\n    {") == 2  # a line for each sentence
