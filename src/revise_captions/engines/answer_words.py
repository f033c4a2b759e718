"""Answer words: their one-token spellings, and their probability mass."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from revise_captions.engines.protocol import AnswerScores
from revise_captions.errors import UserError

#: How vocabularies write a leading space or line break: SentencePiece, byte-level BPE.
_BLANKS = "▁ĠĊ \n\t"
#: Spellings to try with a server's tokenizer, whose vocabulary cannot be read.
SPELLINGS = ("{}", " {}", "\n{}")
#: The most by which rounding may lift a log-probability above 0.
ROUNDING = 1e-2


def is_spelling(token: str, word: str) -> bool:
    """Whether a token's text is the word, ignoring surrounding white space and capitals."""
    return token.strip(_BLANKS).casefold() == word.casefold()


def word_ids(vocabulary: Mapping[str, int], words: Sequence[str], name: str) -> list[list[int]]:
    """For each word, the sorted ids of its one-token spellings.

    `vocabulary`: token to id, as tokenizers write it (`▁yes`, `Ġyes`). Raises UserError if a word
    has none: the model `name` cannot be asked this way.
    """
    found: list[list[int]] = [[] for _ in words]
    for token, number in vocabulary.items():
        for k, word in enumerate(words):
            if is_spelling(token, word):
                found[k].append(number)
    for word, ids in zip(words, found, strict=True):
        if not ids:
            raise UserError(
                f"the tokenizer of {name} has no single token for {word!r}",
                hint="choose another model: the answers of this one cannot be scored",
            )
    return [sorted(ids) for ids in found]


def spellings(word: str) -> list[str]:
    """The usual texts of a word's one-token spellings, varying capitals and the leading blank."""
    cases = dict.fromkeys((word, word.lower(), word.capitalize(), word.upper()))
    return [form.format(case) for case in cases for form in SPELLINGS]


def answer_of(masses: Sequence[float]) -> AnswerScores:
    """The scores from each word's log-probability mass, each at most 0 up to rounding.

    Raises ValueError for a mass that is not a number.
    """
    if any(math.isnan(mass) or mass > ROUNDING for mass in masses):
        raise ValueError(f"{list(masses)} are no log-probabilities")
    total = math.fsum(math.exp(mass) for mass in masses)
    return AnswerScores(tuple(masses), min(1.0, total))


def log_sum(logprobs: Iterable[float]) -> float:
    """log Σ exp; `-inf` for no values. SciPy's takes 180 times as long for a handful of values."""
    values = [value for value in logprobs if value > -math.inf]
    if not values:
        return -math.inf
    top = max(values)
    return top + math.log(math.fsum(math.exp(value - top) for value in values))
