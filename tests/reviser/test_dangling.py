"""What a deletion leaves without a neighbor goes; what the sentence has of the kind stays."""

from __future__ import annotations

import pytest

from revise_captions.reviser.bundled_model.deletions import without_dangling


@pytest.mark.parametrize(
    ("sentence", "text", "expected"),
    [
        ("It is a lively and inviting image.", "It is a and inviting image.",
         "It is an inviting image."),
        ("A calm, unusual scene.", "A, unusual scene.", "An unusual scene."),
        ("An old and rusty car stands there.", "An and rusty car stands there.",
         "A rusty car stands there."),
        ("The room is bright and clean.", "The room is and clean.", "The room is clean."),
        ("The room is bright and clean.", "The room is bright and.", "The room is bright."),
        ("Dogs, cats, and birds play.", "Dogs, and, and birds play.", "Dogs, and birds play."),
        ("Dogs, cats, and birds play.", "Dogs, , and birds play.", "Dogs, and birds play."),
        ("A tall unicorn stands there.", "A unicorn stands there.", "A unicorn stands there."),
        ("She waits a short hour.", "She waits a hour.", "She waits an hour."),
        # the sentence's own
        ("He is, and stays, a and b.", "He is, and stays, a and b.", "He is, and stays, a and b."),
        ("A unusual dog , it seems .", "A unusual cat , it seems .", "A unusual cat , it seems ."),
        ("They are red or blue.", "They are red or blue.", "They are red or blue."),
    ],
)  # fmt: skip
def test_dangling_words(sentence, text, expected):
    assert without_dangling(text, sentence) == expected
