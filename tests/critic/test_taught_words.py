"""The unknown-word gate: which sentences have a content word that a critic was not taught."""

from __future__ import annotations

import json
import pickle
from pathlib import Path

import pytest
from PIL import Image
from tinycritic import saved

from revise_captions.critic.gates.language import Vocabulary, read_vocabulary
from revise_captions.critic.gates.taught_words import (
    NAMED,
    QUOTED,
    TaughtWords,
    base_forms,
    taught_words,
    write_taught_words,
)
from revise_captions.critic.paligemma.load import load_paligemma
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.picturebook.generate import rows_of_scene
from revise_captions.picturebook.world.sample import sample_scene
from revise_captions.records import (
    Rationale,
    Span,
    UnknownWord,
    Unscored,
    kind_of_reason,
    reason_of,
)

BOOK = taught_words(
    [
        "A small dog sits near two trees. The girl is wearing a hat. Clouds drift by.",
        'The sign says "STOP". A sign that reads FISH stands here. It waves, and the boy runs.',
    ]
    * 5
)


@pytest.mark.parametrize(
    "sentence",
    [
        "There is a dog.",
        "Two dogs sat near the tree!",
        "The smallest girl has been waving, and she wore hats.",
        "There isn't any boy; it couldn't be running.",
        "THE DOG WAVED.",
        "12 dogs and 3.5 trees.",
        'The sign says "FISH".',
        "The sign reads STOP.",
        "None of them is here, however, and nothing else could have been there.",
        "草地",
        "",
    ],
)
def test_forms_of_taught_words_and_function_words_are_known(sentence):
    assert BOOK.unknown(sentence.replace("草地", "")) is None


@pytest.mark.parametrize(
    ("sentence", "word"),
    [
        ("There is a dragon.", "dragon"),
        ("A ZEBRA IS VISIBLE.", "ZEBRA"),
        ("The dog sits on a bench with a man.", "bench"),
        ("There is a fish.", "fish"),  # read off signs only
        ('The sign says "BAKERY".', "BAKERY"),
        ("The girl is called Anna.", "called"),
        ("A caring girl.", "caring"),  # of care, not of car
        ("A T-shirt.", "shirt"),
        ("An état.", "état"),
        ("Eight dogs.", "Eight"),
    ],
)
def test_other_content_words_are_unknown(sentence, word):
    assert BOOK.unknown(sentence) == word


@pytest.mark.parametrize(
    ("word", "base"),
    [
        ("running", "run"), ("waving", "wave"), ("flies", "fly"), ("carried", "carry"),
        ("boxes", "box"), ("houses", "house"), ("biggest", "big"), ("larger", "large"),
        ("stopped", "stop"), ("playing", "play"), ("children", "child"), ("leaves", "leaf"),
        ("happier", "happy"), ("falling", "fall"), ("seated", "seat"), ("benches", "bench"),
    ],
)  # fmt: skip
def test_base_forms(word, base):
    assert base in base_forms(word)


@pytest.mark.parametrize(
    ("word", "other"),
    [("caring", "car"), ("bus", "bu"), ("red", "r"), ("glass", "glas"), ("need", "ne"),
     ("string", "str"), ("planes", "plan")],
)  # fmt: skip
def test_words_that_only_look_inflected(word, other):
    assert other not in base_forms(word)


def test_open_classes_of_words_are_told_from_closed_ones():
    closed = ['The sign says "STOP".', 'The sign says "OPEN".'] * 20
    names = ["one two three", "red", "blue"]
    open_ = [f'The bar of Country{chr(97 + i)}{chr(97 + j)} is "word{i}".' for i in range(9)
             for j in range(9)]  # fmt: skip
    assert QUOTED not in taught_words(closed).listed
    assert not {QUOTED, NAMED} & taught_words(names).listed
    charts = taught_words([text + " It is high." for text in open_])
    assert charts.unknown("The bar of Kenya is high.") is None
    assert charts.unknown("The bar of kenya is high.") == "kenya"


def test_a_checkpoint_keeps_its_list_and_one_without_takes_every_word(tmp_path):
    assert read_vocabulary(tmp_path) == Vocabulary(frozenset(), None)
    assert read_vocabulary(tmp_path).unknown_word("There is a dragon.") is None
    write_taught_words(tmp_path, BOOK)
    assert read_vocabulary(tmp_path).taught == BOOK
    assert read_vocabulary(tmp_path).unknown_word("There is a dragon.") == "dragon"


def test_sentences_with_an_unknown_word_are_unscored_and_others_are_as_before(tmp_path):
    image = Image.new("RGB", (64, 64), (200, 40, 40))
    folder = saved(tmp_path / "critic")
    text = "There is a red circle. There is a red dragon. It is on the left."
    spans = tuple(Span(start, end) for start, end in ((0, 22), (23, 45), (46, 64)))
    request = JudgeRequest(image, text, spans)
    before = load_paligemma(str(folder)).judge([request])[0]
    write_taught_words(folder, TaughtWords(frozenset({"red", "circle", "left"})))
    critic = load_paligemma(str(folder))
    found = critic.judge([request])[0]
    assert found[1].unscored == UnknownWord("dragon")
    assert (found[0], found[2]) == (before[0], before[2])
    instead = ((0, "A red circle."), (2, "It is a zebra."))
    said = critic.judge([JudgeRequest(image, text, spans, instead=instead)])[0]
    assert [v.unscored for v in said] == [None, "unknown word “zebra”"]


def test_the_reason_is_text_that_is_read_back_and_counted_as_one_kind():
    reason = UnknownWord("dragon")
    assert reason == "unknown word “dragon”"
    assert reason_of(json.loads(json.dumps(reason))) == reason
    assert isinstance(reason_of(str(reason)), UnknownWord)
    assert pickle.loads(pickle.dumps(reason)).word == "dragon"
    assert reason_of("the engine failed on this sentence") is Unscored.ENGINE_ERROR
    assert kind_of_reason(reason) == kind_of_reason(UnknownWord("zebra")) == "unknown word"
    assert kind_of_reason(Unscored.LANGUAGE) == str(Unscored.LANGUAGE)
    for other in ("unknown word", "unknown word “”", "dragon"):
        with pytest.raises(ValueError, match="is not a valid"):
            reason_of(other)


def _sentences(split: str, numbers: range):
    for number in numbers:
        rows = rows_of_scene(
            sample_scene(number, split), number, captions=1, mode="balanced", raters=False
        )
        for row in rows:
            for sentence in row["sentences"]:
                yield row["caption"][sentence["start"] : sentence["end"]]


def test_the_bundled_critic_knows_the_words_of_its_world_and_none_of_another():
    import revise_captions.critic as critic

    known = read_vocabulary(Path(critic.__file__).parent / "bundled")
    for split in ("test", "compositional"):
        assert not [s for s in _sentences(split, range(9000, 9060)) if known.unknown_word(s)]
    for word in ("dragon", "zebra", "submarine", "man", "bench", "bicycle", "horse", "rabbit",
                 "sheep", "fish", "elephant", "rocket"):  # fmt: skip
        for sentence in (f"There is a {word}.", f"No {word} is visible.", f"THE {word}S WAVE."):
            assert known.unknown_word(sentence)


@pytest.mark.parametrize(
    ("sentence", "read"),
    [
        ("A DOG SITS NEAR TWO TREES.", "A dog sits near two trees."),
        ("A Dog Sits Near A Tree.", "A dog sits near a tree."),
        ("THE SIGN SAYS STOP.", "The sign says STOP."),
        ('THE SIGN SAYS "ZOO".', 'The sign says "ZOO".'),
        ('The sign says "STOP".', 'The sign says "STOP".'),
        ("The sign says STOP.", "The sign says STOP."),
        ("The dog sits. The girl waves.", "The dog sits. The girl waves."),
        ("The boy is Peter.", "The boy is Peter."),
        ("a dog sits.", "a dog sits."),
    ],
)
def test_capitals_that_say_nothing_are_read_as_small_letters(sentence, read):
    assert BOOK.in_case(sentence) == read
    text = f"  {sentence} {sentence}"
    at = len(sentence) + 3
    spans = (Span(2, 2 + len(sentence)), Span(at, at + len(sentence)))
    assert Vocabulary(frozenset(), BOOK).in_case(text, spans) == f"  {read} {read}"
    assert Vocabulary(frozenset()).in_case(text, spans) == text


def test_a_sentence_in_capitals_is_judged_and_explained_as_in_small_letters(tmp_path):
    image = Image.new("RGB", (64, 64), (200, 40, 40))
    folder = saved(tmp_path / "critic", fluent=True)
    write_taught_words(folder, TaughtWords(frozenset({"red", "circle", "left", "blue", "boats"})))
    critic = load_paligemma(str(folder))
    text = "There is a red circle. It is on the left."
    spans = (Span(0, 22), Span(23, 41))
    asked = [JudgeRequest(image, said, spans) for said in (text, text.upper())]
    small, large = critic.judge(asked)
    assert small == large
    told = [critic.explain([ExplainRequest(image, one.text, one.spans, 1)]) for one in asked]
    assert told[0] == told[1] != [Rationale("")]
