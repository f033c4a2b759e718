"""What README.md shows of a run is what a run has written."""

from __future__ import annotations

import json

import pytest

from revise_captions.picturebook.world.sample import sample_scene
from scripts.research.bundled_models import showcase

TIME = sample_scene(3, "test").time
OTHER = {"day": "night", "night": "day"}[TIME]
GOOD = ("nonfactual", True, False)
FINE = ("factual", None, False)


def row(caption, *sentences, after=f"It is {TIME}."):
    found = [
        {"span": [0, 2], "label": label, "accepted": accepted, "dropped": dropped}
        for label, accepted, dropped in sentences
    ]
    revision = {"rounds": 1, "sentences": found}
    return {"id": "test-003", "caption": caption, "revised_caption": after, "revision": revision}


def test_the_example_is_the_shortest_that_was_mended_whole():
    rows = [
        row("untouched", FINE),
        row("refused", ("nonfactual", False, False)),
        row("dropped", ("nonfactual", True, True)),
        row("the longer one", GOOD, FINE, FINE),
        row("the short one", GOOD, FINE),
        row("half", GOOD, ("nonfactual", False, False)),
        row("wrong", GOOD, after=f"It is {OTHER}."),
        row("unreadable", GOOD, after="Colourless green ideas sleep furiously."),
    ]
    assert showcase.example(rows)["caption"] == "the short one"


def test_the_lines_of_the_verification_are_found():
    lines = "Preservation   99.6 %\nEdit scope     97.2 %"
    assert showcase.verification(f"Records  26\n\n{lines}\n\nTime  2.5 s\n") == lines
    with pytest.raises(ValueError, match="0 paragraphs"):
        showcase.verification("Records  26\n")


def test_nothing_mended_is_no_example():
    with pytest.raises(ValueError, match="empty"):
        showcase.example([row("untouched", FINE)])


def test_the_block_is_the_record():
    record = row("é <!-- /example -->", GOOD, FINE)
    block = showcase.as_block(record)
    assert json.loads(block.removeprefix("```json\n").removesuffix("\n```")) == record
    assert block.count("\n    {") == 2  # a line for each sentence
