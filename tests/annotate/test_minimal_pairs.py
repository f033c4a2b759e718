"""Sentences that differ in one place, against every pair compared word by word."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from PIL import Image

from revise_captions.pipelines.annotate.data.matching import match
from revise_captions.pipelines.annotate.data.minimal_pairs import MOST, Contrasts
from revise_captions.pipelines.annotate.options import MatchOptions

SAID = (
    "One finds the tent wide open.",
    "one finds the tent zipped up.",
    "One finds the wagon loaded with stones.",
    "At the moment the tent happens to be wide open.",
    "A kite.",
    "A boat.",
    "Boats.",
)


def drawn(texts: tuple[str, ...], text: str) -> set[str]:
    contrasts = Contrasts(texts)
    found = [contrasts.draw(text, random.Random(seed)) for seed in range(200)]
    return {texts[number] for number in found if number is not None}


def apart(a: str, b: str) -> int:
    """Words of `a` in the shortest place in which it differs from `b`; 0 where there is none."""
    one, other = a.casefold().split(), b.casefold().split()
    found = [0]
    for start in range(min(len(one), len(other))):
        for end in range(min(len(one), len(other)) - start):
            ends = one[len(one) - end :], other[len(other) - end :]
            same = one[:start] == other[:start] and ends[0] == ends[1]
            left = [len(words) - start - end for words in (one, other)]
            fits = all(
                1 <= rest <= min(MOST, len(words) // 2)
                for rest, words in zip(left, (one, other), strict=True)
            )
            if same and fits and one != other:
                found.append(left[0])
    return min(found[1:], default=0)


def test_what_differs_in_one_place():
    assert drawn(SAID, SAID[0]) == {SAID[1]}
    assert drawn(SAID, SAID[1]) == {SAID[0]}
    assert drawn(SAID, "A kite.") == {"A boat."}
    assert drawn(SAID, "One finds the tent shut.") == {SAID[0], SAID[1]}
    assert drawn(SAID, "Boats.") == drawn(SAID, "Ships.") == set()  # nothing of it would be left
    # two words are left out before three, and what is said more often is drawn more often
    more = (*SAID, "One finds the rocket silent.")
    assert drawn(more, "One finds the tent shut.") == {SAID[0], SAID[1]}
    assert drawn(more, "One finds the drum shut.") == {SAID[0], SAID[1], more[-1]}
    numbers = Contrasts(("A b.", "A c.", "A c.", "A c."))
    told = [numbers.draw("A d.", random.Random(seed)) for seed in range(400)]
    assert 60 < told.count(0) < 140


def test_all_such_sentences_are_found_and_no_others():
    rng = random.Random(5)
    words = ("a", "b", "c", "A")
    texts = tuple({" ".join(rng.choices(words, k=rng.randint(1, 6))) for _ in range(60)})
    for text in texts[:20]:
        contrasts = Contrasts(texts)
        found = {contrasts.draw(text, rng) for _ in range(800)} - {None}
        expected = {k: apart(text, other) for k, other in enumerate(texts) if apart(text, other)}
        shortest = {k for k, words in expected.items() if words == min(expected.values())}
        assert shortest <= found <= set(expected), text


@pytest.mark.parametrize(("share", "low", "high"), [(0.0, 0.2, 0.8), (1.0, 1.0, 1.0)])
def test_their_share_is_as_asked(tmp_path: Path, share: float, low: float, high: float):
    """Half of the captions are alike, the other half like none: of how many are the alike told?"""
    rng, lines = random.Random(1), []
    for k in range(40):
        Image.effect_noise((32, 32), 20 + 5 * k).convert("RGB").save(tmp_path / f"{k}.png")
        alike = f"One finds the thing{k % 10} {('open', 'shut')[k // 10]}." if k < 20 else ""
        caption = alike or " ".join(f"{rng.random():.6f}" for _ in range(5)) + "."
        lines.append(json.dumps({"image": f"{k}.png", "caption": caption}))
    (tmp_path / "in.jsonl").write_text("\n".join(lines) + "\n")
    out = tmp_path / "out"
    match(MatchOptions(str(tmp_path / "in.jsonl"), out, others=3, contrasts=share, validation=0.1))
    told = []
    for line in (out / "train.jsonl").read_text().splitlines():
        asides = json.loads(line)["asides"]
        if any(a["label"] == "factual" and a["text"].startswith("One") for a in asides):
            told += [a["text"].startswith("One") for a in asides if a["label"] == "nonfactual"]
    assert len(told) > 40
    assert low <= sum(told) / len(told) <= high
