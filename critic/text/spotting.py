"""Whether words may stand in an image, however badly the OCR reads them: keyword spotting.

The recognizer says for each step along a crop how likely each character is. Words are looked for at
any place of it (Viterbi over CTC's states, Graves et al. 2006). A word that is read, and misread in
a letter or two, is likely at some place; of one that is nowhere, most letters are unlikely in all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from revise_captions.charts.ocr import Pixels, character_odds
from revise_captions.critic.text.alignment import fold

#: Natural logarithms of odds, of shape (steps, letters): of `fold`'s letters, by their places in
#: `LETTERS`; before them, of what is none (the blank, spaces, punctuation); behind them, of others.
Odds = NDArray[np.float32]
LETTERS = "".join(
    letter for letter in "0123456789abcdefghijklmnopqrstuvwxyz" if letter not in "oil"
)
_PLACES = {letter: place for place, letter in enumerate(LETTERS, 1)}
_SILENT, _OTHER = 0, len(LETTERS) + 1
_LEAST = 1e-12


def letter_odds(crop: Pixels) -> Odds:
    """What a recognizer makes of a crop, step by step; letters that `fold` takes as one are one."""
    odds, characters = character_odds(crop)
    found = np.zeros((len(odds), len(LETTERS) + 2), dtype=np.float32)
    np.add.at(found.T, _columns(tuple(characters.items()), odds.shape[1]), odds.T)
    return np.log(np.maximum(found, _LEAST))


def log_likelihoods(crop: Pixels, texts: Sequence[str]) -> list[float]:
    """How likely the recognizer finds texts: log P(text | crop), summed over CTC's alignments
    (Graves et al. 2006, section 4.1). -inf for a text with a character that it does not know.

    Args:
        crop: A line's (`TextLine.crop`).
        texts: What might stand there.
    """
    import torch

    odds, known = character_odds(crop)
    steps = torch.from_numpy(np.log(np.maximum(odds, _LEAST))).double()[:, None]
    found = []
    for text in texts:
        if not text or any(letter not in known for letter in text):
            found.append(-math.inf)
            continue
        target = torch.tensor([[known[letter] for letter in text]])
        lengths = torch.tensor([len(steps)]), torch.tensor([len(text)])
        loss = torch.nn.functional.ctc_loss(steps, target, *lengths, reduction="sum")
        found.append(-float(loss))
    return found


@lru_cache(1)
def _columns(characters: tuple[tuple[str, int], ...], count: int) -> NDArray[np.intp]:
    columns = np.zeros(count, dtype=np.intp)
    for character, place in characters:
        letters = fold(character).letters
        one = _PLACES.get(letters, _OTHER) if letters else _SILENT
        columns[place] = one if len(character) == 1 else _SILENT
    return columns


def is_spottable(letters: str) -> bool:
    """Whether all of the folded letters are such that they can be looked for."""
    return all(letter in _PLACES for letter in letters)


def evidence(words: Sequence[str], seen: Iterable[Odds]) -> float:
    """How likely words are somewhere in an image: log P of each at its best place, per letter.

    Args:
        words: Folded; each at least a letter.
        seen: Of all that may be text; at least one.
    """
    crops = list(seen)
    return sum(max(_spotted(word, one) for one in crops) for word in words) / sum(map(len, words))


def _spotted(word: str, odds: Odds) -> float:
    """log P of a word at its best place in a crop."""
    states = np.full(2 * len(word) - 1, _SILENT)  # letters, and between them a blank
    states[::2] = [_PLACES[letter] for letter in word]
    skips = np.zeros(len(states), dtype=bool)  # two letters that differ need no blank
    skips[2::2] = states[2::2] != states[:-2:2]
    best, reached = -np.inf, np.full(len(states), -np.inf)
    for step in odds[:, states]:
        before = reached.copy()
        before[1:] = np.maximum(before[1:], reached[:-1])
        before[2:] = np.where(skips[2:], np.maximum(before[2:], reached[:-2]), before[2:])
        before[0] = max(before[0], 0.0)  # a word begins anywhere
        reached = before + step
        best = max(best, float(reached[-1]))
    return best
