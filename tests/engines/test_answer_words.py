"""Answer words and their probabilities, by hand and beside SciPy."""

from __future__ import annotations

import math

import pytest
from scipy.special import logsumexp

from revise_captions.engines.answer_words import (
    ROUNDING,
    answer_of,
    is_spelling,
    log_sum,
    spellings,
    word_ids,
)
from revise_captions.errors import UserError

VOCABULARY = {"▁yes": 7, "Yes": 3, "ĠYES": 9, "\nyes": 1, "yesterday": 4, "no": 2, "▁No": 5, "": 0}


def test_ids_are_those_of_every_spelling_sorted():
    assert word_ids(VOCABULARY, ["Yes", "no"], "m") == [[1, 3, 7, 9], [2, 5]]
    with pytest.raises(UserError, match="the tokenizer of m has no single token for 'maybe'"):
        word_ids(VOCABULARY, ["yes", "maybe"], "m")


def test_a_spelling_is_the_word_and_nothing_more():
    assert is_spelling("▁YeS", "yEs")
    assert not is_spelling("yes.", "yes")
    assert not is_spelling("ye", "yes")


def test_spellings_to_ask_a_server_for():
    assert spellings("yes") == [
        "yes", " yes", "\nyes", "Yes", " Yes", "\nYes", "YES", " YES", "\nYES",
    ]  # fmt: skip


@pytest.mark.parametrize("values", [[-0.5], [-1.0, -2.0, -3.5], [-700.0, -800.0], [0.0, -1e-9]])
def test_the_sum_is_scipys(values):
    assert log_sum(values) == pytest.approx(float(logsumexp(values)))
    assert log_sum([*values, -math.inf]) == pytest.approx(float(logsumexp(values)))


def test_the_sum_of_nothing_is_nothing():
    assert log_sum([]) == -math.inf
    assert log_sum([-math.inf]) == -math.inf


def test_masses_become_an_answer():
    found = answer_of([math.log(0.5), math.log(0.25)])
    assert found.logprobs == (math.log(0.5), math.log(0.25))
    assert found.answer_mass == pytest.approx(0.75)
    assert answer_of([ROUNDING, -math.inf]).answer_mass == 1.0
    for wrong in (math.nan, ROUNDING * 1.001):
        with pytest.raises(ValueError, match="no log-probabilities"):
            answer_of([-1.0, wrong])
