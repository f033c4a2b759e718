"""A sentence goes where the rationale leaves nothing of it, and nowhere else."""

from __future__ import annotations

import pytest

from revise_captions.critic.reading.faults import fault_of
from revise_captions.reviser.bundled_model.deletions import may_go, without_quoted


@pytest.mark.parametrize(
    ("sentence", "rationale"),
    [
        ("The text reads “All you need is love.”", "Nothing of all this is in the image."),
        ("The horns are gray with dark tips.", "The image does not show horns."),
        ("The colors of the room are muted.", "The colors are not muted."),
        ("A dog sleeps.", "There is no dog."),
        ("A boy is holding the red kite.", "The child is not holding."),
    ],
)
def test_a_sentence_goes_with_what_it_is_about(sentence: str, rationale: str) -> None:
    assert may_go(sentence, fault_of(rationale, sentence))


@pytest.mark.parametrize(
    ("sentence", "rationale"),
    [
        ("The bee is in focus behind two violet bolts.", "No bolts are visible anywhere."),
        ("A hind label hangs on a box of wine.", "The label does not look hind."),
        ("The pizza casts a shadow on it.", "That is a cup, surely no pizza."),
        ("The pizza casts a shadow on the table.", "It is a cup, not a pizza."),
    ],
)
def test_a_part_that_is_wrong_does_not_take_the_rest_along(sentence: str, rationale: str) -> None:
    assert not may_go(sentence, fault_of(rationale, sentence))


def test_a_clause_that_is_quoted_goes_alone() -> None:
    reason = 'Nothing supports "{}".'
    sentence = "The trees surrounding the stadium."

    def left(of: str, quoted: str) -> str:
        return without_quoted(of, fault_of(reason.format(quoted), of))

    assert left(sentence, "surrounding the stadium") == "The trees."
    assert left("There is a car.", "a car") == ""
    assert left(sentence, "The trees surrounding the stadium") == ""
