"""Captions of the picture-book: the generator and the oracle must agree on text alone."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter

import pytest
from text_only import auxiliary_rows_of, text_only_auc

from revise_captions.picturebook.captioners import ERROR_TYPES
from revise_captions.picturebook.language.auxiliary_sentences import auxiliary_sentences
from revise_captions.picturebook.language.captions import caption, corrupt
from revise_captions.picturebook.language.paragraphs import write_paragraph
from revise_captions.picturebook.oracle.parse import parse
from revise_captions.picturebook.oracle.truth import (
    Truth,
    check_rationale,
    oracle,
    split_sentences,
)
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.picturebook.world.scene import (
    KINDS,
    held_out_relation,
    held_out_value,
)
from revise_captions.text.content_words import new_content

SCENES = 150


@pytest.fixture(scope="module")
def captions():
    """(scene, caption) for scenes of all splits, and many errors."""
    made = []
    for number in range(SCENES):
        split = ("train", "validation", "test", "compositional")[number % 4]
        scene = sample_scene(number, split)
        made.append((scene, caption(scene, random.Random(number), error_rate=0.5, sentences=7)))
    return made


def test_every_label_is_the_verdict_of_the_oracle_on_the_final_text(captions):
    seen = Counter()
    for scene, written in captions:
        for sentence in written.sentences:
            text = sentence.span.of(written.text)
            context = written.text[: sentence.span.start]
            assert oracle(scene, context, text) is sentence.truth, text
            assert sentence.assessable == (sentence.truth is not Truth.NOTHING)
            seen[sentence.truth] += 1
            seen[sentence.error_type] += 1
    assert set(seen) >= {Truth.TRUE, Truth.FALSE, Truth.NOTHING, *ERROR_TYPES}


def test_rewrites_are_true_and_rationales_right(captions):
    rationales = deletions = wrong = 0
    for scene, written in captions:
        for sentence in written.sentences:
            if sentence.truth is not Truth.FALSE:
                assert sentence.rationales == ()
                continue
            wrong += 1
            context = written.text[: sentence.span.start]
            text = sentence.span.of(written.text)
            deletions += sentence.rewrite == ""
            if sentence.rewrite:
                assert oracle(scene, context, sentence.rewrite) is Truth.TRUE, sentence.rewrite
            assert sentence.rationales
            rationales += len(sentence.rationales)
            for rationale in sentence.rationales:
                assert check_rationale(scene, context, text, rationale), (text, rationale)
    assert rationales / wrong > 3
    assert deletions / wrong < 0.08


def test_a_rationale_holds_all_the_words_that_the_rewrite_needs(captions):
    """By the guard that the revision loop applies to every rewrite."""
    for _, written in captions:
        for sentence in written.sentences:
            text = sentence.span.of(written.text)
            for rationale in sentence.rationales:
                assert new_content(sentence.rewrite, text, rationale) == [], (text, rationale)


def test_a_rationale_of_another_error_is_wrong_here(captions):
    wrong = [
        (scene, written.text[: s.span.start], s.span.of(written.text), s)
        for scene, written in captions
        for s in written.sentences
        if s.truth is Truth.FALSE
    ]
    refused = 0
    for (scene, context, text, _), (*_, other) in zip(wrong, wrong[7:], strict=False):
        refused += check_rationale(scene, context, text, other.rationales[0]) is not True
    assert refused / (len(wrong) - 7) > 0.95


def test_context_decides_a_quarter_of_the_visual_sentences(captions):
    flags = [
        (s.needs_context, oracle(scene, "", s.span.of(w.text)) is not s.truth)
        for scene, w in captions
        for s in w.sentences
        if s.assessable
    ]
    assert all(flag == differs for flag, differs in flags)
    assert 0.2 < sum(flag for flag, _ in flags) / len(flags) < 0.35


def test_spans_are_the_sentences_and_white_space_lies_between(captions):
    for _, written in captions:
        end = 0
        for sentence in written.sentences:
            between = written.text[end : sentence.span.start]
            assert between == "" if end == 0 else between in (" ", "\n")
            text = sentence.span.of(written.text)
            assert text == text.strip()
            assert text[0].isupper()
            assert text[-1] == "."
            assert split_sentences(text) == [text]
            end = sentence.span.end
        assert end == len(written.text)


def test_the_same_seed_writes_the_same_caption():
    scene = sample_scene(5)
    one, two = (caption(scene, random.Random(1), error_rate=0.4) for _ in range(2))
    assert one == two
    assert one != caption(scene, random.Random(2), error_rate=0.4)


@pytest.mark.parametrize("error_type", ERROR_TYPES)
def test_each_type_of_error_can_be_asked_for(error_type):
    found = 0
    for number in range(80):
        scene = sample_scene(number)
        rng = random.Random(number)
        paragraph = write_paragraph(scene, rng, sentences=6)
        context = ""
        for sentence in paragraph:
            wrong = corrupt(scene, context, sentence, rng, error_type)
            if wrong is not None:
                found += 1
                assert wrong.error_type == error_type
                assert oracle(scene, context, wrong.text) is Truth.FALSE
                assert wrong.rewrite == sentence.text
            context += sentence.text + " "
        if found > 5:
            break
    assert found > 5


def test_held_out_combinations_stay_out_of_ordinary_texts():
    for number in range(60):
        scene = sample_scene(number)
        written = caption(scene, random.Random(number), error_rate=0.5, sentences=7)
        texts = [s.span.of(written.text) for s in written.sentences]
        texts += [r for s in written.sentences for r in (*s.rationales, s.rewrite)]
        texts += [
            t
            for a in auxiliary_sentences(scene, random.Random(number), 8)
            for t in (a.text, a.rewrite)
        ]
        for text in texts:
            for part in split_sentences(text):
                for clause in parse(part) or ():
                    assert not _held_out(clause), text


def test_auxiliary_sentences_are_as_true_as_they_say_and_mostly_about_what_is_hard():
    wrong = Counter()
    for number in range(60):
        scene = sample_scene(number)
        made = auxiliary_sentences(scene, random.Random(number), 8)
        texts = [t for a in made for t in (a.text, a.rewrite) if t]
        assert len(texts) == len(set(texts))
        for one in made:
            assert oracle(scene, "", one.text) is (Truth.TRUE if one.factual else Truth.FALSE)
            assert one.factual != bool(one.rewrite)
            if one.rewrite:
                assert oracle(scene, "", one.rewrite) is Truth.TRUE
        wrong.update(a.factual for a in made)
    assert 0.4 < wrong[False] / wrong.total() < 0.65


@pytest.mark.slow
def test_auxiliary_sentences_cannot_be_judged_without_the_picture():
    """Clouds are above, and there is hardly one tree on a chair: some guessing is unavoidable."""
    assert text_only_auc(700, auxiliary_rows_of)[1] < 0.65


def _held_out(clause) -> bool:
    """Whether a parsed clause about a named kind has a held-out value or relation."""
    kinds = getattr(clause, "subject", None) and clause.subject.kinds
    if not kinds or len(kinds) != 1 or kinds[0] not in KINDS:
        return False
    for constraint in (*clause.subject.constraints, *clause.preds):
        slot = getattr(constraint, "slot", None)
        if slot is not None:
            slot = slot or KINDS[kinds[0]].main
            if held_out_value(kinds[0], slot, constraint.value):
                return True
        relation, other = getattr(constraint, "relation", ""), getattr(constraint, "other", None)
        named = relation and len(other.kinds) == 1 and other.kinds[0] in KINDS
        if named and held_out_relation(kinds[0], relation, other.kinds[0]):
            return True
    return False


WRITE = """
import random
from revise_captions.picturebook.language.captions import caption
from revise_captions.picturebook.world.sample import sample_scene
for number in range(20):
    print(caption(sample_scene(number, "test"), random.Random(number), error_rate=0.5, sentences=5))
"""


def test_captions_do_not_depend_on_the_seed_of_pythons_hashes():
    """Sets of texts are in another order in every process; captions must not be."""
    written = {
        subprocess.run(
            [sys.executable, "-c", WRITE],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(written) == 1
    assert b"Truth.FALSE" in written.pop()


def test_only_the_named_kinds_of_errors_are_made():
    made = Counter(
        sentence.error_type
        for number in range(12)
        for sentence in caption(
            sample_scene(number, "train"),
            random.Random(number),
            error_rate=0.9,
            error_weights={"count": 1.0, "relation": 1.0},
            sentences=6,
        ).sentences
        if sentence.truth is Truth.FALSE
    )
    assert made["relation"] > 5
    assert set(made) <= {"count", "relation", "context"}  # context: what an error made wrong
