"""Sentences that differ in one place, against every pair compared word by word."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest
from PIL import Image

from revise_captions.pipelines.annotate.contrasts import MOST, Contrasts
from revise_captions.pipelines.annotate.matching import Job, match

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


def differ_in_one_place(a: str, b: str) -> bool:
    """Some of the first words and some of the last are the same, and little is left in between."""
    one, other = a.casefold().split(), b.casefold().split()
    for start in range(min(len(one), len(other))):
        for end in range(min(len(one), len(other)) - start):
            same = (
                one[:start] == other[:start] and one[len(one) - end :] == other[len(other) - end :]
            )
            left = [len(words) - start - end for words in (one, other)]
            fits = all(
                1 <= rest <= min(MOST, len(words) // 2)
                for rest, words in zip(left, (one, other), strict=True)
            )
            if same and fits and one != other:
                return True
    return False


def test_what_differs_in_one_place():
    assert drawn(SAID, SAID[0]) == {SAID[1]}
    assert drawn(SAID, SAID[1]) == {SAID[0]}
    assert drawn(SAID, "A kite.") == {"A boat."}
    assert drawn(SAID, "One finds the tent shut.") == {SAID[0], SAID[1]}
    assert drawn(SAID, "Boats.") == drawn(SAID, "Ships.") == set()  # nothing of it would be left


def test_all_such_sentences_are_found_and_no_others():
    rng = random.Random(5)
    words = ("a", "b", "c", "A")
    texts = tuple({" ".join(rng.choices(words, k=rng.randint(1, 6))) for _ in range(60)})
    for text in texts[:20]:
        contrasts = Contrasts(texts)
        found = {contrasts.draw(text, rng, tries=30) for _ in range(800)} - {None}
        expected = {k for k, other in enumerate(texts) if differ_in_one_place(text, other)}
        assert found == expected, text


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
    match(Job(str(tmp_path / "in.jsonl"), out, others=3, contrasts=share, validation=0.1))
    told = []
    for line in (out / "train.jsonl").read_text().splitlines():
        asides = json.loads(line)["asides"]
        if any(a["label"] == "factual" and a["text"].startswith("One") for a in asides):
            told += [a["text"].startswith("One") for a in asides if a["label"] == "nonfactual"]
    assert len(told) > 40
    assert low <= sum(told) / len(told) <= high
