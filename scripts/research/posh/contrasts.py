"""Where structure helps: pairs of texts that differ in nothing but what is said of what.

Made from FACTUAL's gold graphs, so that the truth is known: of two texts one says what the
reference says and the other

* attachment: gives two things each other's quality ("a white dog and a black cat"), in words that
  are all the reference's;
* direction: has a relation the wrong way round ("a roof on a bird");
* count: another number ("three dogs" for two);
* negation: claims the thing that the reference says is not there.

A metric should score the first higher; ties count half. The floor is the cosine of the texts, which
sees direction and count as well where the words' order or one word gives them away.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, islice
from pathlib import Path

import numpy as np

from revise_captions.graphs.triples import Triple, lemmas, read_triples
from revise_captions.graphs.words import NUMBERS
from revise_captions.posh.judge import Judge
from revise_captions.posh.scoring import Pair, score_captions
from revise_captions.text.sentence_encoder import SentenceEncoder
from scripts.research.posh.figures import ReportedFigure, share_of

#: A reference, what says the same, what does not.
Contrast = tuple[str, str, str]
_MOST = 150
_WORDS = {digit: word for word, digit in NUMBERS.items() if word != "dozen"}


def figures(
    path: Path, judge: Judge, encoder: SentenceEncoder, pipeline: str
) -> Iterator[ReportedFigure]:
    """`path`: FACTUAL's `dev.csv`."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [read_triples(row["scene_graph"]) for row in csv.DictReader(file)]
    kinds: dict[str, Callable[[Sequence[Triple]], Iterator[Contrast]]] = {
        "attachment": attachment,
        "direction": direction,
        "count": count,
        "negation": negation,
    }
    for name, made in kinds.items():
        found = list(islice(dict.fromkeys(one for row in rows for one in made(row)), _MOST))
        pairs = [Pair(text, (one[0],)) for one in found for text in one[1:]]
        scores = [s.overall or 0.0 for s in score_captions(pairs, judge, pipeline)]
        vectors = [encoder(list(one)) for one in found]
        plain = [float(v[0] @ v[k]) for v in vectors for k in (1, 2)]
        yield share_of(f"told apart: {name}", _won(scores), floor=_won(plain), floor_name="cosine")


def _won(scores: Sequence[float]) -> list[float]:
    right, wrong = np.array(scores[::2]), np.array(scores[1::2])
    return [float(x) for x in np.where(right == wrong, 0.5, right > wrong)]


def attachment(row: Sequence[Triple]) -> Iterator[Contrast]:
    qualities = {t[0]: t[2] for t in row if len(t) == 3 and t[1] == "is" and t[2].isalpha()}
    for (one, first), (other, second) in combinations(qualities.items(), 2):
        if first != second and _is_single(one) and _is_single(other):
            yield (
                f"There is a {first} {one} and a {second} {other}.",
                f"A {second} {other} is next to a {first} {one}.",
                f"A {first} {other} is next to a {second} {one}.",
            )


def direction(row: Sequence[Triple]) -> Iterator[Contrast]:
    for triple in row:
        if len(triple) == 3 and triple[1] in ("on", "in", "under", "behind", "above"):
            one, name, other = triple
            if _is_single(one) and _is_single(other) and one != other:
                yield (
                    f"There is a {one} {name} a {other}.",
                    f"A {one} is {name} a {other}.",
                    f"A {other} is {name} a {one}.",
                )


def count(row: Sequence[Triple]) -> Iterator[Contrast]:
    for triple in row:
        if len(triple) == 3 and triple[1] == "is" and triple[2] in _WORDS and triple[2] != "1":
            right, wrong = _WORDS[triple[2]], "three" if triple[2] != "3" else "four"
            if not _is_single(triple[0]):
                yield (
                    f"A photo of {right} {triple[0]}.",
                    f"There are {right} {triple[0]}.",
                    f"There are {wrong} {triple[0]}.",
                )


def negation(row: Sequence[Triple]) -> Iterator[Contrast]:
    names = [t[0] for t in row if _is_single(t[0])]
    for one, other in combinations(dict.fromkeys(names), 2):
        yield (
            f"There is a {one}, but there is no {other}.",
            f"A photo of a {one}.",
            f"A photo of a {other}.",
        )


def _is_single(name: str) -> bool:
    return lemmas(name) == name and not name.endswith("s")
