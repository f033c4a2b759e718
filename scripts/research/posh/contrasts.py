"""Texts that differ in nothing but what is said of what: is the wrong component marked?

Made from FACTUAL's gold graphs, and by one change in a sentence of a detailed description
(ImageInWords), so that the truth is known: of two texts one says what the reference says, and the
other

* attachment: gives two things each other's quality ("a white dog and a black cat");
* direction: has a relation the wrong way round ("a roof on a bird"), or its opposite ("left of");
* count: another number ("three dogs" for two);
* material: another one ("plastic" for "glass");
* negation: denies what the reference says, or claims what it denies.

Each belongs to a half by its image; rules were made with `tuning`.
"""

from __future__ import annotations

import csv
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from revise_captions.graphs.inflect import gerund
from revise_captions.graphs.triples import Triple, lemmas, read_triples
from revise_captions.graphs.words import COLORS, NUMBERS, listed

KINDS = ("attachment", "direction", "count", "material", "negation")
TUNING, REPORTING = "tuning", "reporting"
_MOST = 300  # of one kind from one source
_WORDS = {digit: word for word, digit in NUMBERS.items() if word != "dozen"}
_PLACES = listed("on in under behind above below over beneath")
_MATERIALS = listed(
    "wooden metal glass plastic brick stone leather concrete paper cardboard rubber ceramic "
    "marble porcelain steel wicker"
)
_OPPOSITES = {
    "left": "right", "right": "left", "above": "below", "below": "above",
    "in front of": "behind", "behind": "in front of", "on top of": "underneath",
    "underneath": "on top of", "inside": "outside",
}  # fmt: skip
_SIDE = re.compile(
    r"\b(?:(?:to|on) the (left|right)(?: side)? of|(above|below|behind|in front of|on top of|"
    r"underneath|inside))\b (?=the|a|an|it|its|his|her|them)"
)
_NUMBER = re.compile(r"\b(two|three|four|five|six)\b(?= [a-z]+)", re.IGNORECASE)
_MATERIAL = re.compile(rf"\b({'|'.join(sorted(_MATERIALS))})\b(?= [a-z]+)")
_ACTION = re.compile(r"\b(?:is|are) ([a-z]+ing)\b")
_COLORED = re.compile(rf"\b({'|'.join(sorted(COLORS))})\b(?= ([a-z]+)\b)")
_MARK = re.compile(r"[{}]")
_SHORT = 30  # words
#: What such words stand for may be in another sentence.
_OUTSIDE = re.compile(
    r"\b(?:it|its|he|she|they|them|him|her|his|their|one|ones|other|others|those|these|this|that)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Contrast:
    """`right` and `wrong` with the components to look at between braces; `half` is by `image`."""

    kind: str
    image: str
    source: str
    reference: str
    right: str
    wrong: str

    @property
    def half(self) -> str:
        return half_of(self.image)


def half_of(image: str) -> str:
    return REPORTING if zlib.crc32(image.encode()) % 2 else TUNING


def unmarked(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text without its braces, and where what they hold starts and ends."""
    spans: list[tuple[int, int]] = []
    start = 0
    for count, brace in enumerate(_MARK.finditer(text)):
        at = brace.start() - count
        if brace.group() == "{":
            start = at
        else:
            spans.append((start, at))
    return _MARK.sub("", text), spans


def of_graphs(path: Path) -> Iterator[Contrast]:
    """From FACTUAL's graphs (`dev.csv`)."""
    with path.open(encoding="utf-8", newline="") as file:
        rows = [(row["image_id"], read_triples(row["scene_graph"])) for row in csv.DictReader(file)]
    makers: dict[str, Callable[[Sequence[Triple]], Iterator[tuple[str, str, str]]]] = {
        "attachment": attachment,
        "direction": direction,
        "count": count,
        "material": material,
        "negation": negation,
    }
    for kind, made in makers.items():
        seen: set[tuple[str, str, str]] = set()
        for image, row in rows:
            for texts in made(row):
                if texts not in seen and len(seen) < _MOST:
                    seen.add(texts)
                    yield Contrast(kind, image, "graphs", *texts)


def attachment(row: Sequence[Triple]) -> Iterator[tuple[str, str, str]]:
    qualities = {t[0]: t[2] for t in row if len(t) == 3 and t[1] == "is" and t[2].isalpha()}
    for (one, first), (other, second) in combinations(qualities.items(), 2):
        if first != second and _is_single(one) and _is_single(other):
            yield (
                f"There is a {first} {one} and a {second} {other}.",
                f"A {{{second}}} {other} is next to a {{{first}}} {one}.",
                f"A {{{first}}} {other} is next to a {{{second}}} {one}.",
            )


def direction(row: Sequence[Triple]) -> Iterator[tuple[str, str, str]]:
    for triple in row:
        if len(triple) != 3 or not (_is_single(triple[0]) and _is_single(triple[2])):
            continue
        one, name, other = triple
        verb, _, rest = name.partition(" ")
        if one == other or name in ("is", "have", "wear", "with", "near", "next to", "beside"):
            continue
        if name in _PLACES:
            said = name
        elif rest in ("", *_PLACES) and verb.isalpha() and verb not in _PLACES | {"of", "at", "by"}:
            said = f"{gerund(verb)}{' ' * bool(rest)}{rest}"
        else:
            continue
        yield (
            f"There is a {one} {said} a {other}.",
            f"A {one} is {{{said}}} a {other}.",
            f"A {other} is {{{said}}} a {one}.",
        )


def count(row: Sequence[Triple]) -> Iterator[tuple[str, str, str]]:
    for triple in row:
        if len(triple) == 3 and triple[1] == "is" and triple[2] in _WORDS and triple[2] != "1":
            right, wrong = _WORDS[triple[2]], "three" if triple[2] != "3" else "four"
            if not _is_single(triple[0]):
                yield (
                    f"A photo of {right} {triple[0]}.",
                    f"There are {{{right}}} {triple[0]}.",
                    f"There are {{{wrong}}} {triple[0]}.",
                )


def material(row: Sequence[Triple]) -> Iterator[tuple[str, str, str]]:
    for triple in row:
        if len(triple) == 3 and triple[1] == "is" and triple[2] in _MATERIALS:
            other = "plastic" if triple[2] != "plastic" else "wooden"
            be = "is" if _is_single(triple[0]) else "are"
            yield (
                f"A photo of the {triple[2]} {triple[0]}.",
                f"The {triple[0]} {be} {{{triple[2]}}}.",
                f"The {triple[0]} {be} {{{other}}}.",
            )


def negation(row: Sequence[Triple]) -> Iterator[tuple[str, str, str]]:
    names = [t[0] for t in row if _is_single(t[0])]
    for one, other in combinations(dict.fromkeys(names), 2):
        yield (
            f"There is a {one}, but there is no {other}.",
            f"A photo of a {{{one}}}.",
            f"A photo of a {{{other}}}.",
        )
    for triple in row:
        if len(triple) == 3 and _is_single(triple[0]) and _is_single(triple[2]):
            one, name, other = triple
            verb, _, rest = name.partition(" ")
            if verb in ("hold", "ride", "wear", "sit", "eat", "stand", "watch", "carry", "play"):
                said = f"{gerund(verb)}{' ' * bool(rest)}{rest}"
                yield (
                    f"A {one} {said} a {other}.",
                    f"The {one} is {{{said}}} a {other}.",
                    f"The {one} is {{not {said}}} a {other}.",
                )


def _is_single(name: str) -> bool:
    return lemmas(name) == name and not name.endswith("s")


def of_descriptions(path: Path) -> Iterator[Contrast]:
    """By one change in a sentence of a description (`imageinwords/IIW-400.jsonl`)."""
    with path.open(encoding="utf-8") as lines:
        rows = [json.loads(line) for line in lines]
    counts = dict.fromkeys(KINDS, 0)
    for row in rows:
        text = row["IIW"]
        for sentence in re.split(r"(?<=[.!?]) ", text):
            if (
                len(sentence.split()) > _SHORT
                or _MARK.search(sentence)
                or _OUTSIDE.search(sentence)
            ):
                continue
            for kind, change in _CHANGES.items():
                found = change(sentence)
                if found is not None and counts[kind] < _MOST:
                    counts[kind] += 1
                    yield Contrast(kind, row["image/key"], "descriptions", text, *found)


def _replaced(sentence: str, at: tuple[int, int], new: str) -> tuple[str, str]:
    start, end = at
    before, old, after = sentence[:start], sentence[start:end], sentence[end:]
    return f"{before}{{{old}}}{after}", f"{before}{{{new}}}{after}"


def _turned(sentence: str) -> tuple[str, str] | None:
    found = _SIDE.search(sentence)
    if found is None:
        return None
    group = 1 if found.group(1) else 2
    return _replaced(sentence, found.span(group), _OPPOSITES[found.group(group)])


def _recounted(sentence: str) -> tuple[str, str] | None:
    found = _NUMBER.search(sentence)
    if found is None:
        return None
    new = "four" if found.group().lower() != "four" else "two"
    new = new.capitalize() if found.group()[0].isupper() else new
    return _replaced(sentence, found.span(), new)


def _rebuilt(sentence: str) -> tuple[str, str] | None:
    found = _MATERIAL.search(sentence)
    if found is None:
        return None
    return _replaced(sentence, found.span(), "plastic" if found.group() != "plastic" else "wooden")


def _denied(sentence: str) -> tuple[str, str] | None:
    found = _ACTION.search(sentence)
    if found is None:
        return None
    return _replaced(sentence, found.span(1), f"not {found.group(1)}")


def _swapped(sentence: str) -> tuple[str, str] | None:
    found = [one for one in _COLORED.finditer(sentence) if one[2] not in COLORS | {"and"}]
    for one, other in combinations(found, 2):
        if one[1] != other[1] and one[2] != other[2]:
            start, middle = sentence[: one.start()], sentence[one.end(1) : other.start()]
            end = sentence[other.end(1) :]
            return (
                f"{start}{{{one[1]}}}{middle}{{{other[1]}}}{end}",
                f"{start}{{{other[1]}}}{middle}{{{one[1]}}}{end}",
            )
    return None


_CHANGES: dict[str, Callable[[str], tuple[str, str] | None]] = {
    "attachment": _swapped,
    "direction": _turned,
    "count": _recounted,
    "material": _rebuilt,
    "negation": _denied,
}


def of_folder(data: Path) -> list[Contrast]:
    """All that can be made of what is in `data`."""
    found: list[Contrast] = []
    graphs, descriptions = data / "factual_sg/dev.csv", data / "imageinwords/IIW-400.jsonl"
    if graphs.is_file():
        found += of_graphs(graphs)
    if descriptions.is_file():
        found += of_descriptions(descriptions)
    return found
