"""Framed sentences: existence and negation in many frames, as true as they say."""

from __future__ import annotations

import random
import re
from collections import Counter

import pytest
from text_only import text_only_auc

from revise_captions.picturebook.language import frames
from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.language.frames import AFFIRMING, DENYING, framed_sentences
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.picturebook.world.sample import sample_scene

SCENE = sample_scene(7)
HERE = {thing.kind for thing in SCENE.things}


@pytest.mark.parametrize("frame", [*AFFIRMING, *DENYING])
def test_no_frame_is_read_by_the_oracle_as_the_opposite(frame):
    for kind in ("boy", "dog", "car"):
        text = frame.format(
            a=f"a {kind}", n=kind, ns=f"{kind}s", picture="drawing", show="depict", shows="depicts"
        )
        wanted = (kind in HERE) == (frame in AFFIRMING)
        read = oracle(SCENE, "", text.capitalize() + ".")
        assert read in (Truth.TRUE if wanted else Truth.FALSE, Truth.UNPARSED), text


def test_a_frame_that_the_oracle_cannot_read_is_as_true_as_the_plain_one(monkeypatch):
    monkeypatch.setattr(frames, "AFFIRMING", ("lo, {a}",))
    monkeypatch.setattr(frames, "DENYING", ("alas, not {a}",))
    monkeypatch.setattr(frames, "WEIGHTS", {"existence": 1.0})
    kinds = Counter()
    for number in range(20):
        scene, _, made = _drawn(number)
        for text, factual in [(one.text, one.factual) for one in made] + [
            (one.rewrite, True) for one in made if one.rewrite
        ]:
            plain = re.sub(r"(?i)\b(lo|alas, not),? ", "there is ", text)
            denied = "alas" in text.lower()
            assert oracle(scene, "", plain[0].upper() + plain[1:]) is (
                Truth.TRUE if factual != denied else Truth.FALSE
            ), text
            kinds[denied, factual] += 1
    assert len(kinds) == 4


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("It is not true that there is a boy.", Truth.FALSE),
        ("It's false that there is a car.", Truth.TRUE),
        ("It is not the case that no boy is visible.", Truth.TRUE),
        ("It is true that there is a boy.", Truth.TRUE),
        ("IT IS NOT TRUE THAT A BOY IS VISIBLE.", Truth.FALSE),
        ("It is not true that there is a boy and there is a car.", Truth.TRUE),
        ("It is not true that the scene feels calm.", Truth.UNPARSED),
        ("It is not true that colorless ideas sleep.", Truth.UNPARSED),
        ("You can't see a car.", Truth.TRUE),
    ],
)
def test_denials(text, truth):
    assert {"boy"} <= HERE
    assert "car" not in HERE
    assert oracle(SCENE, "", text) is truth


def _drawn(number: int):
    scene, rng = sample_scene(number), random.Random(number)
    written = caption(scene, rng, error_rate=0.4, sentences=6)
    return scene, written, framed_sentences(scene, rng, 8, written.sentences, written.text)


def test_framed_sentences_are_as_true_as_they_say_in_their_context():
    counts: Counter[str] = Counter()
    for number in range(40):
        scene, written, made = _drawn(number)
        for one in made:
            assert 0 <= one.after < max(1, len(written.sentences))
            end = written.sentences[one.after - 1].span.end if one.after else 0
            wanted = Truth.TRUE if one.factual else Truth.FALSE
            assert oracle(scene, written.text[:end], one.text) in (wanted, Truth.UNPARSED)
            if one.rewrite:
                assert oracle(scene, "", one.rewrite) in (Truth.TRUE, Truth.UNPARSED)
            counts[("factual", "wrong")[not one.factual]] += 1
            counts["after"] += one.after > 0
            counts["capitals"] += one.text.isupper()
    assert 0.4 < counts["wrong"] / (counts["wrong"] + counts["factual"]) < 0.6
    assert counts["after"] > 60
    assert counts["capitals"] > 3
    assert [one for _, _, made in map(_drawn, range(3)) for one in made] == [
        one for _, _, made in map(_drawn, range(3)) for one in made
    ]


@pytest.mark.slow
def test_framed_sentences_cannot_be_judged_without_the_picture():
    def rows(number: int):
        return [("none", one.text, one.factual) for one in _drawn(number)[2] if not one.after]

    assert text_only_auc(400, rows)[1] < 0.6
