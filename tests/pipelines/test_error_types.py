"""Kinds of errors by their rationales, against the picture-book world's truth and by hand."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from revise_captions.picturebook.captioners import CAPTIONERS
from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.oracle.truth import Truth
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.pipelines.output.error_types import TYPES, type_of

#: The world's kinds by ours: another kind of thing, and a pronoun for the wrong one, are `object`.
OURS = {"kind": "object", "context": "object", "binding": "attribute"}


def test_the_worlds_errors_are_named():
    """Scenes of the test split; the rules were written on training scenes. A pronoun that stands
    for the wrong thing (`context`) may be told as a wrong place or colour of the right one."""
    right, total = Counter(), Counter()
    for number in range(70):
        scene = sample_scene(number, "test")
        rng = random.Random(number)
        weights = CAPTIONERS[number % 14].errors
        written = caption(scene, rng, error_rate=0.6, error_weights=weights, sentences=8)
        for sentence in written.sentences:
            if sentence.truth is Truth.FALSE:
                kind = OURS.get(sentence.error_type, sentence.error_type)
                text = sentence.span.of(written.text)
                found = type_of(text, rng.choice(sentence.rationales))
                right[sentence.error_type] += found == kind
                total[sentence.error_type] += 1
    assert sum(total.values()) > 200
    assert sum(right.values()) / sum(total.values()) > 0.9
    for kind in ("object", "kind", "binding", "relation"):
        assert right[kind] / total[kind] > 0.85, kind


@pytest.mark.parametrize(
    ("sentence", "rationale", "kind"),
    [
        ("Two dogs play.", "There are three dogs, not two.", "count"),
        ("A cat sleeps.", "There is no cat visible in the image.", "object"),
        ("A cat sleeps.", "The animal is a dog instead of a cat.", "object"),
        ("The red car is parked.", "The car is blue rather than red.", "attribute"),
        ("A man stands left of it.", "The man is not to the left of it but behind it.", "relation"),
        ("The man is running.", "He is not running. He is sitting.", "action"),
        ("The sign says STOP.", "The sign reads YIELD.", "text"),
        ("It is night.", "It is day.", "setting"),
        ("A happy cat.", "", "other"),
        ("A happy cat.", "A happy cat.", "other"),
    ],
)
def test_by_hand(sentence, rationale, kind):
    assert type_of(sentence, rationale) == kind
    assert kind in TYPES
