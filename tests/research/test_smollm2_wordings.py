"""What the reviser `smollm2` is trained on: faults, and how rationales speak of them."""

from __future__ import annotations

import random
import re
import tomllib
from pathlib import Path

import pytest

from scripts.research.edits import sets, strangers
from scripts.research.smollm2_reviser import people
from scripts.research.smollm2_reviser.otherwise import OTHERWISE, otherwise
from scripts.research.smollm2_reviser.people import SPOKEN
from scripts.research.smollm2_reviser.slips import SLIPS, slip

TEXT = "On Friday at least 12 men with a red boat are near the old pier."


def _frame(wording: str) -> str:
    return " ".join(re.findall(r"{|\w+|=>|->|→", re.sub(r"{\w+}", "{", wording.casefold())))


def test_no_wording_of_training_is_one_of_the_reporting_half():
    """A frame of a single word or none ("It is …") is anybody's."""
    path = Path(strangers.__file__).with_name("strangers.toml")
    told = tomllib.loads(path.read_text(encoding="utf-8"))
    pools = [told["named"], told["truth"], *told["elsewise"].values()]
    unheard = {_frame(wording) for pool in pools for wording in pool["unheard"]}
    ours = [SPOKEN[name] for name in ("named", "truth", "only", "denied")]
    ours += list(OTHERWISE["cores"].values())
    frames = {_frame(wording) for pool in ours for wording in pool}
    voices = Path(people.__file__).with_name("voices.toml").read_text(encoding="utf-8")
    frames |= {_frame(wording) for wording in re.findall(r'"([^"\n]+)"', voices)}
    assert len(unheard) > 40
    assert {frame for frame in frames & unheard if len(frame.replace("{", "").split()) > 1} == set()


@pytest.mark.parametrize("kind", SLIPS)
def test_a_slip_is_mended_by_putting_the_right_words_in(kind):
    made = [slip("one", TEXT, kind, random.Random(seed)) for seed in range(60)]
    found = [edit for edit in made if edit is not None]
    assert found
    assert {edit.sentence == TEXT for edit in found} == {True, False}  # each goes both ways
    for edit in found:
        (wrong, right), *_ = edit.changes
        places = [m.start() for m in re.finditer(re.escape(wrong), edit.sentence, re.IGNORECASE)]
        mended = [edit.sentence[:k] + right + edit.sentence[k + len(wrong) :] for k in places]
        assert edit.right.casefold() in [one.casefold() for one in mended]


def test_a_rationale_in_other_words_says_what_is_right():
    edit = sets.PersonEdit(
        "one", "swap", "A dog sleeps on the pier.", "A dog sleeps on the couch.",
        (("the pier", "the couch"),),
    )  # fmt: skip
    start = edit.right.index("the couch")
    said = {otherwise(edit, start, start + 9, random.Random(seed)) for seed in range(400)}
    assert len(said) > 150
    assert all("the couch" in text for text in said)
