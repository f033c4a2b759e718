"""Edits that the set of `sets.py` does not use, with rationales in strangers' words.

Pairs that people wrote of one image (FACTUAL, Flickr8k's references) and sentences of collections
that nothing here was made with (DiscoSG, Concadia and CoSID, CHOCOLATE), in which one thing is
changed by rule, and the treebank. The wordings were written before the rules that read rationales
were read, and differ by half: what says which words are wrong and right (`named`), what only says
what is true (`truth`), and what speaks in other words than the sentence (`elsewise`). Halves by
image or document.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from revise_captions.text.sentences import split
from scripts.research.edits.sets import PersonEdit, is_reporting, pairs, read_edits, written
from scripts.research.edits.sets import treebank as ewt
from scripts.research.frame.data import beside
from scripts.research.smollm2_reviser.faults import articled

DATA = beside(__file__, "strangers.toml")
WORDS = DATA["words"]
STYLES = ("named", "truth", "elsewise")
_ANY = {kind: "|".join(map(re.escape, words)) for kind, words in WORDS.items()}
_NUMBER = rf"(?:{_ANY['numbers']}|\d+(?:[.,]\d+)*%?)"
_FINDERS = {
    "bound": rf"(?:{_ANY['bounds']}) {_NUMBER}",
    "time": rf"\d?\d[:.]\d\d(?: ?[ap]\.?m)?|\d\d?(?: ?[ap]\.?m)|{_ANY['days']}"
    rf"|{_ANY['seasons']}|{_ANY['weekdays']}",
    "unit": rf"{_NUMBER}[ -](?:{_ANY['units']})",
    "list": rf"(?:{_ANY['colors']})(?:, (?:{_ANY['colors']}))*,? and (?:{_ANY['colors']})",
    "number": _NUMBER,
    "color": _ANY["colors"],
    "place": rf"{_ANY['sides']}|{_ANY['places']}",
    "trend": _ANY["trends"],
    "insertion": rf"(?:an?|the|his|her|its|their) (?:{_ANY['colors']}) [a-z]+",
    "negation": r"(?:with|without|has|have|is|are|no) (?:an? |any |no |not )?[a-z]+",
}
#: Words around a change that a fragment has.
_NEAR = 3


def read_strangers(folder: Path, *, reporting: bool, each: int) -> list[PersonEdit]:
    """At most `each` edits of each kind, of one half, of images that the other set leaves out."""
    used = {edit.source for edit in read_edits(folder, reporting=True, each=12)}
    found: dict[str, dict[str, PersonEdit]] = defaultdict(dict)
    for edit in _all(folder):
        if is_reporting(edit.source) == reporting and edit.source not in used:
            found[edit.kind].setdefault(edit.source, edit)
    chosen = []
    for edits in found.values():
        chosen += sorted(edits.values(), key=lambda one: _digest(f"stranger {one.source}"))[:each]
    return chosen


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


def _all(folder: Path) -> Iterator[PersonEdit]:
    by_image: dict[str, list[str]] = defaultdict(list)
    for part in ("dev", "train"):
        with (folder / "factual_sg" / f"{part}.csv").open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                by_image[f"vg-{row['image_id']}"].append(row["caption"])
    for image, item in _json(folder / "flickr8k_expert" / "flickr8k_expert.json").items():
        by_image[f"flickr-{image}"] += item["ground_truth"]
    for source, texts in sorted(by_image.items(), key=lambda one: _digest(f"s {one[0]}")):
        yield from pairs(source, list(dict.fromkeys(map(written, texts))))
    for source, text in [*_sentences(folder), *ewt(folder)]:
        if 5 <= len(text.split()) <= 40:
            yield from changed(source, text)


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def _sentences(folder: Path) -> Iterator[tuple[str, str]]:
    texts = [
        (f"discosg-{n}", row["caption"])
        for n, row in enumerate(_json(folder / "discosg" / "train_300.json"))
    ]
    for name in ("concadia_descriptions", "concadia_captions", "cosid_descriptions"):
        of_images = _json(folder / "contextual_descriptions" / f"{name}.json")
        texts += [
            (f"context-{image.split('_version')[0]}", text) for image, text in of_images.items()
        ]
    for row in _json(folder / "chocolate" / "chocolate.json"):
        borne_out = zip(row["sentences"], row["labels"], strict=True)
        texts += [(f"chart-{row['image_path']}", text) for text, faults in borne_out if not faults]
    for source, text in texts:
        plain = " ".join(text.split())
        yield from ((source, plain[span.start : span.end]) for span in split(plain))


def changed(source: str, text: str) -> Iterator[PersonEdit]:
    """A fault of each kind that the sentence, the right one, can have."""
    for kind, pattern in _FINDERS.items():
        rng = random.Random(f"{source} {text} {kind}")
        spans = list(re.finditer(rf"(?<![\w.:/$-])(?:{pattern})(?![\w:/]|[.,-]\w)", text))
        if not spans:
            continue
        one = rng.choice(spans)
        wrong = _fault(kind, one[0], rng)
        broken = text[: one.start()] + wrong + text[one.end() :]
        if not wrong or wrong == one[0] or articled(broken) != broken:
            continue
        yield PersonEdit(source, f"rule: {kind}", broken, text, ((wrong, one[0]),))
        if kind == "insertion":
            yield PersonEdit(source, "rule: deletion", text, broken, ((one[0], wrong),))


def _fault(kind: str, right: str, rng: random.Random) -> str:
    if kind == "bound":
        number = re.search(rf"{_NUMBER}$", right)
        assert number is not None, right
        bound = right[: number.start()].strip()
        other = rng.choice([w for w in WORDS["bounds"] if w != bound])
        return rng.choice([number[0], f"{other} {number[0]}", f"{bound} {_number(number[0], rng)}"])
    if kind == "unit":
        count, joint, unit = re.split(r"([ -])", right, maxsplit=1)
        other = rng.choice([w for w in WORDS["units"] if w != unit])
        return rng.choice([f"{_number(count, rng)}{joint}{unit}", f"{count}{joint}{other}"])
    if kind == "list":
        said = re.findall(_ANY["colors"], right)
        new = rng.choice([w for w in WORDS["colors"] if w not in said])
        return rng.choice([said[0], said[-1], right.replace(said[0], new), f"{right} and {new}"])
    if kind == "insertion":
        article, _, thing = right.split()
        return f"{article} {thing}"
    if kind == "negation":
        return _negated(right, rng)
    if kind == "time" and right[0].isdigit():
        return re.sub(r"^\d+", lambda hour: str(int(hour[0]) % 11 + 1), right)
    if kind == "number":
        return _number(right, rng)
    pools = [
        pool for name, pool in WORDS.items() if right in pool and name not in ("bounds", "units")
    ]
    return rng.choice([w for w in pools[0] if w != right])


def _number(right: str, rng: random.Random) -> str:
    if right in WORDS["numbers"]:
        return rng.choice([w for w in WORDS["numbers"] if w != right])
    figures = list(re.finditer(r"[1-9]", right))
    if not figures:
        return ""
    one = rng.choice(figures)
    return f"{right[: one.start()]}{int(one[0]) % 9 + 1}{right[one.end() :]}"


def _negated(right: str, rng: random.Random) -> str:
    verb, _, rest = right.partition(" ")
    if verb in ("with", "without"):
        return f"{'without' if verb == 'with' else 'with'} {rest}"
    if verb in ("is", "are"):
        return f"{verb} {rest.removeprefix('not ')}" if rest.startswith("not ") else (
            f"{verb} not {rest}" if rest.endswith("ing") else "")  # fmt: skip
    return ""


def rationale_of(edit: PersonEdit, style: str, number: int, reporting: bool) -> str:
    """What a stranger would say of an edit."""
    half = "unheard" if reporting else "heard"
    (wrong, right), *_ = edit.changes
    if style == "not":
        return f"It is {right}, not {wrong}."
    if style == "named":
        pool = DATA["named"][half]
        return _shown(pool[number % len(pool)].format(wrong=wrong, right=right))
    start, end = _place(edit)
    said = {
        "wrong": wrong,
        "right": right,
        "sentence": edit.right,
        "near": _near(edit.right, start, end),
    }
    said["lower"] = f"{edit.right[:1].lower()}{edit.right[1:]}"
    if style == "truth":
        return _shown(DATA["truth"][half][number % len(DATA["truth"][half])].format(**said))
    kind = _family(edit)
    pool = DATA["elsewise"][kind][half]
    before, after = _renamed(edit.right[:start]), _renamed(edit.right[end:])
    other = before + edit.right[start:end] + after
    said["paraphrase"], said["Paraphrase"] = other[:1].lower() + other[1:], other
    said["paraphrase_near"] = _near(other, len(before), len(before) + end - start)
    said["alias"] = _renamed(wrong)
    after_words = [w for w in re.findall(r"[\w-]+", after) if len(w) > 2]
    said["thing"] = after_words[0] if after_words else "thing"
    said["rest"] = right.split()[-1]
    return _shown(pool[number % len(pool)].format(**said))


def _place(edit: PersonEdit) -> tuple[int, int]:
    """Where the right words stand in the right sentence."""
    (_, right), *_ = edit.changes
    start = 0
    while (
        start < min(len(edit.right), len(edit.sentence))
        and edit.right[start] == edit.sentence[start]
    ):
        start += 1
    found = [one.start() for one in re.finditer(re.escape(right), edit.right, re.IGNORECASE)]
    best = min(found, key=lambda one: abs(one - start) + (one > start))
    return best, best + len(right)


def _near(text: str, start: int, end: int) -> str:
    before, after = text[:start].split(" "), text[end:].split(" ")
    return (" ".join(before[-_NEAR:]) + text[start:end] + " ".join(after[:_NEAR])).strip(" .,")


def _renamed(text: str) -> str:
    names = DATA["synonyms"]
    return re.sub(r"\b\w+\b", lambda word: names.get(word[0], word[0]), text)


def _family(edit: PersonEdit) -> str:
    (wrong, right), *_ = edit.changes
    if edit.kind == "rule: negation":
        return (
            "absent"
            if right.startswith("without")
            else "present"
            if right[:4] == "with"
            else "other"
        )
    if edit.kind in ("rule: bound", "rule: unit"):
        return "bound"
    for kind in ("number", "color", "time"):
        if all(re.fullmatch(_FINDERS[kind], words) for words in (wrong, right)):
            return kind
    return "color" if edit.kind == "rule: list" else "other"


def _shown(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}" if text[:2] != "s/" else text
