"""What is wrong about an absence is mended by saying what is there."""

import pytest

from revise_captions.critic.reading.absence import affirmed
from revise_captions.reviser.load import load_reviser
from revise_captions.text.clauses import refers_back
from tests.support.requests_read import asked

LAMPS = "There is a dog in the picture, but there are no lamps."


@pytest.mark.parametrize(
    ("sentence", "rationale", "expected"),
    [
        ("There are no dogs in the image.", LAMPS, "There is a dog in the image."),
        ("No dogs can be seen.", LAMPS, "A dog can be seen."),
        ("No dogs are visible.", LAMPS, "A dog is visible."),
        ("There is no boy.", "Two boys can be seen. There is no sun.", "There are two boys."),
        ("There is no tree.", "The picture shows a tree, but no lamp is visible.",
         "There is a tree."),
        ("There is no sun in the sky.", "There is the sun, but there is no moon.",
         "There is the sun in the sky."),
        ("There are no people.", "There is a boy in the picture. There is no cat.",
         "There is a boy."),
        ("There are no dogs.", "There are no lamps.", None),
        ("There are no dogs and no cats.", LAMPS, None),
        ("There is a dog.", LAMPS, None),
        ("", "", None),
    ],
)  # fmt: skip
def test_affirmed(sentence: str, rationale: str, expected: str | None) -> None:
    assert affirmed(sentence, rationale) == expected


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (" It is red.", True),
        (" A cat is beside her. The sun shines.", True),
        (" The sun shines. It is warm.", False),
        ("", False),
        (" ", False),
    ],
)
def test_what_follows_may_refer_back(after: str, expected: bool) -> None:
    assert refers_back(after) is expected


def test_the_bundled_reviser_says_what_is_there_or_takes_it_out() -> None:
    reviser = load_reviser("bundled")
    sentence = "There are no dogs in the image."
    requests = [
        asked(sentence, LAMPS, context="A boy. "),
        asked(sentence, LAMPS, context="A boy. ", after=" He is waving."),
        asked(sentence, LAMPS, ("There is a dog in the image.",), context="A boy. "),
    ]
    first, second, third = reviser.rewrite(requests)
    assert first == "There is a dog in the image."
    assert second == ""
    assert third != first
