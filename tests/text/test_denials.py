"""What a text says is not there."""

import pytest

from revise_captions.text.denials import denied


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("There are no red dogs in the image.", {"red", "dogs"}),
        ("There aren't any lamps, but a dog.", {"lamps"}),
        ("It isn’t a cat. NO dog on the mat, no cups and no jars.", {"cat", "dog", "cups", "jars"}),
        ("It is not red.", set()),
        ("No.", set()),
        ("Nothing is known of notes.", set()),
    ],
)
def test_denied(text: str, expected: set[str]) -> None:
    assert set(denied(text).values()) == expected
