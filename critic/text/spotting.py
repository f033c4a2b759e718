"""Whether words may stand in an image, however badly the OCR reads them: keyword spotting.

The recognizer says for each step along a crop how likely each character is. Words are looked for at
any place of it (Viterbi over CTC's states, Graves et al. 2006). A word that is read, and misread in
a letter or two, is likely at some place; of one that is nowhere, most letters are unlikely in all.
"""

from __future__ import annotations

import math
import random
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
#: Each is several letters to `fold`, which differ.
_ALIKE = [_PLACES["0"], _PLACES["1"]]
_LEAST = 1e-12
#: CTC's.
_BLANK = 0
#: Orders of a word's letters that it is compared with, and what is added to how far they spread.
_ORDERS, _LEAST_SPREAD = 30, 0.05


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


def letter_scores(crop: Pixels, text: str) -> tuple[float, ...]:
    """How sure the recognizer is of each of a text's letters; () if it reads another one."""
    odds, known = character_odds(crop)
    best = odds.argmax(axis=1)
    new = np.flatnonzero((best != _BLANK) & (best != np.roll(best, 1)) | (np.arange(len(best)) < 1))
    names = {place: letter for letter, place in known.items()}
    read = [(names[best[k]], float(odds[k, best[k]])) for k in new if best[k] != _BLANK]
    whole = "".join(letter for letter, _ in read)
    start = len(whole) - len(whole.lstrip())
    return tuple(score for _, score in read)[start:][: len(text)] if whole.strip() == text else ()


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


def traces(word: str, seen: Iterable[Odds]) -> tuple[float, float]:
    """What an image has of a word: log P at its best place, per letter; and by how many standard
    deviations that is above its letters in other orders, which are in no image. A word that is
    read badly, or in part, stands out from them, and one of which there is nothing does not.

    Args:
        word: Folded; at least a letter.
        seen: Of all that may be text; at least one.
    """
    draw = random.Random(word)
    orders = {"".join(draw.sample(word, len(word))) for _ in range(_ORDERS)} - {word}
    states = np.array([_states(one) for one in (word, *sorted(orders))])
    found = np.max([_spotted(states, one) for one in seen], axis=0) / len(word)
    found = np.maximum(found, math.log(_LEAST))  # where no crop is as long as the word
    others = found[1:] if orders else found
    return float(found[0]), float((found[0] - others.mean()) / (others.std() + _LEAST_SPREAD))


def _states(word: str) -> list[int]:
    """CTC's: letters, and between them a blank."""
    return [state for letter in word for state in (_PLACES[letter], _SILENT)][:-1]


def _spotted(states: NDArray[np.intp], odds: Odds) -> NDArray[np.float64]:
    """log P of words of one length, each at its best place in a crop."""
    skips = np.zeros(states.shape, dtype=bool)  # two letters that differ need no blank
    skips[:, 2::2] = (states[:, 2::2] != states[:, :-2:2]) | np.isin(states[:, 2::2], _ALIKE)
    best, reached = np.full(len(states), -np.inf), np.full(states.shape, -np.inf)
    for step in odds:
        before = reached.copy()
        before[:, 1:] = np.maximum(before[:, 1:], reached[:, :-1])
        skipped = np.maximum(before[:, 2:], reached[:, :-2])
        before[:, 2:] = np.where(skips[:, 2:], skipped, before[:, 2:])
        before[:, 0] = np.maximum(before[:, 0], 0.0)  # a word begins anywhere
        reached = before + step[states]
        best = np.maximum(best, reached[:, -1])
    return best
