"""Sentences with one fault or two, and the right ones: pairs that people wrote, and edits by rule.

Two people who describe the same image often differ in one place: one's sentence, corrected into the
other's, is an edit that no rule of ours made (FACTUAL's regions of Visual Genome, and Flickr8k's
references, which are for tests only and are in the reporting half alone). Bounds, times, lists of
colors, units and negations are too rare there: these are changed by rule in sentences that people
wrote (ImageInWords, DOCCI, COCO, the web treebank). Both are split by image or document.
"""

from __future__ import annotations

import csv
import hashlib
import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import combinations
from pathlib import Path

from revise_captions.text.sentences import split
from scripts.research.frame.data import beside
from scripts.research.smollm2_reviser.faults import articled
from scripts.research.smollm2_reviser.sentences import read_sentences

DATA = beside(__file__, "edits.toml")
#: Words of a change, and of what stays beside it.
_MOST, _LEAST = 5, 4
_SHORT = 3
_ANY_COLOR = "|".join(DATA["colours"])
_ANY_NUMBER = "|".join(DATA["numbers"])
_BOUNDED = re.compile(rf"\b(?:(?P<bound>{'|'.join(DATA['bounds'])}) )?(?P<number>{_ANY_NUMBER})\b")
_CLOCK = re.compile(r"(?<![\d:/])(?P<hour>1?\d):(?P<minute>[0-5]\d)(?![\d:])(?: ?[ap]\.?m\b)?")
_DAY = re.compile(rf"\b(?:{'|'.join(DATA['days'])})\b")
_LIST = re.compile(rf"\b(?:{_ANY_COLOR})(?:,? (?:{_ANY_COLOR}))*,? and (?:{_ANY_COLOR})\b")
_UNIT = re.compile(rf"\b(?P<count>\d+|{_ANY_NUMBER})[ -](?P<unit>{'|'.join(DATA['units'])})\b")
_WITH = re.compile(r"\b(?P<joint>with|without) (?P<rest>(?:an? |any |the )?\w+)\b")
_COLOR = re.compile(rf"\b(?:{_ANY_COLOR})\b")


@dataclass(frozen=True, slots=True)
class PersonEdit:
    """A wrong sentence and the right one.

    Attributes:
        source: The image or document: what the halves are split by, and intervals are over.
        kind: The row of the table.
        sentence: The wrong one.
        right: The right one.
        changes: Wrong and right words of each fault, as a rationale names them.
    """

    source: str
    kind: str
    sentence: str
    right: str
    changes: tuple[tuple[str, str], ...]


def is_reporting(source: str) -> bool:
    """Half of the images and documents, by digest."""
    return bool(hashlib.sha256(f"edits {source}".encode()).digest()[0] & 1)


def read_edits(folder: Path, *, reporting: bool, each: int) -> list[PersonEdit]:
    """At most `each` edits of each kind, of one half; one of an image or document and kind."""
    found: dict[str, dict[str, PersonEdit]] = defaultdict(dict)
    for edit in _all(folder, reporting):
        if edit.source.startswith("flickr") or is_reporting(edit.source) == reporting:
            found[edit.kind].setdefault(edit.source, edit)
    chosen = []
    for edits in found.values():
        order = sorted(edits.values(), key=lambda one: hashlib.sha256(one.source.encode()).digest())
        chosen += order[:each]
    return chosen


def _all(folder: Path, flickr: bool) -> Iterator[PersonEdit]:
    by_image: dict[str, list[str]] = defaultdict(list)
    with (folder / "factual_sg" / "train.csv").open(encoding="utf-8", newline="") as file:
        for row in csv.DictReader(file):
            by_image[f"vg-{row['image_id']}"].append(row["caption"])
    if flickr:
        path = folder / "flickr8k_expert" / "flickr8k_expert.json"
        for image, item in json.loads(path.read_text(encoding="utf-8")).items():
            by_image[f"flickr-{image}"] += item["ground_truth"]
    for source, texts in by_image.items():
        yield from pairs(source, list(dict.fromkeys(map(written, texts))))
    for source, text in _sentences(folder):
        yield from by_rule(source, text)


def written(text: str) -> str:
    """A caption with a capital and a full stop, and no white space before marks."""
    plain = re.sub(r"\s+(?=[.,;:!?]|'s\b)", "", " ".join(text.split())).strip(" .")
    return f"{plain[:1].upper()}{plain[1:]}."


def pairs(source: str, texts: Sequence[str]) -> Iterator[PersonEdit]:
    """Of each two texts that differ in one place, the first corrected into the second."""
    for one, other in combinations(texts, 2):
        old, new = (text.rstrip(".").split() for text in (one, other))
        low = [[word.casefold() for word in words] for words in (old, new)]
        matcher = SequenceMatcher(None, low[0], low[1], False)
        changed = [code for code in matcher.get_opcodes() if code[0] != "equal"]
        if len(changed) != 1:
            continue
        tag, i, j, k, m = changed[0]
        if max(j - i, m - k) > _MOST or len(old) - (j - i) < _LEAST:
            continue
        kind = {"insert": "insertion", "delete": "deletion"}.get(tag, "replacement")
        kind += ", short" if tag == "replace" and max(j - i, m - k) <= _SHORT else ""
        kind += ", long" if tag == "replace" and not kind.endswith("short") else ""
        if tag != "replace":  # with the word that it stands beside, so that both are named
            i, j, k, m = (i, j + 1, k, m + 1) if j < len(old) else (i - 1, j, k - 1, m)
        right = " ".join([*old[:i], *new[k:m], *old[j:]]) + "."
        named = _lowered(old[i:j], i == 0), _lowered(new[k:m], k == 0)
        yield PersonEdit(source, kind, one, f"{right[:1].upper()}{right[1:]}", (named,))


def _lowered(words: Sequence[str], first: bool) -> str:
    text = " ".join(words)
    return f"{text[:1].lower()}{text[1:]}" if first else text


def _sentences(folder: Path) -> Iterator[tuple[str, str]]:
    for sentence in read_sentences(folder):
        if sentence.source != "factual_sg":
            yield sentence.image, sentence.text
    yield from treebank(folder)


def treebank(folder: Path) -> Iterator[tuple[str, str]]:
    """Sentences of 5 to 40 words of the English web treebank, with their documents."""
    for part in ("train", "dev", "test"):
        document = ""
        path = folder / "ud_english_ewt" / f"{part}.conllu"
        for line in path.read_text(encoding="utf-8").splitlines():
            if line.startswith("# newdoc id = "):
                document = f"ewt-{line.partition(' = ')[2]}"
            if line.startswith("# text = "):
                text = line.partition(" = ")[2]
                if 5 <= len(text.split()) <= 40 and len(split(text)) == 1:
                    yield document, text


def by_rule(source: str, text: str) -> Iterator[PersonEdit]:
    """The edits of each kind that a sentence can be broken by: the sentence is the right one."""
    rng = random.Random(f"{source} {text}")
    for kind, rule in _RULES.items():
        if (changes := rule(text, rng)) and (broken := _broken(text, changes)):
            named = tuple((wrong, text[start:end]) for start, end, wrong in changes)
            yield PersonEdit(source, kind, broken, text, named)


Changes = list[tuple[int, int, str]]


def _broken(text: str, changes: Changes) -> str:
    """The text with wrong words put in; "" where an article would no longer fit."""
    for start, end, wrong in sorted(changes, reverse=True):
        text = text[:start] + wrong + text[end:]
    return text if articled(text) == text else ""


def _other(word: str, pool: Iterable[str], rng: random.Random) -> str:
    return rng.choice([one for one in pool if one != word])


def _bound(text: str, rng: random.Random) -> Changes:
    match = _BOUNDED.search(text)
    if match is None or (match["bound"] is None and rng.random() < 0.9):
        return []
    number, bound = match["number"], match["bound"]
    other = _other(number, DATA["numbers"], rng)
    wrong = rng.choice(
        [f"{bound} {other}", number, f"{_other(bound, DATA['bounds'], rng)} {number}"]
    )
    if bound is None:
        wrong = f"{rng.choice(DATA['bounds'])} {rng.choice([number, other])}"
    elif rng.random() < 0.25:  # the bound stands, and the rationale speaks of the number alone
        return [(*match.span("number"), other)]
    return [(*match.span(), wrong)]


def _time(text: str, rng: random.Random) -> Changes:
    if clock := _CLOCK.search(text):
        hour = _other(clock["hour"], map(str, range(1, 13)), rng)
        minute = rng.choice([clock["minute"], f"{rng.randrange(0, 60, 5):02d}"])
        return [(*clock.span(), f"{hour}:{minute}{clock[0][len(clock['hour']) + 3 :]}")]
    day = _DAY.search(text)
    return [(*day.span(), _other(day[0], DATA["days"], rng))] if day else []


def _list(text: str, rng: random.Random) -> Changes:
    match = _LIST.search(text)
    if match is None:
        return []
    said = _COLOR.findall(match[0])
    new = rng.sample([one for one in DATA["colours"] if one not in said], 2)
    wrong = rng.choice([said[0], new[0], " and ".join(new), f"{said[0]} and {new[0]}",
                        f"{said[-1]}, {new[0]} and {new[1]}"])  # fmt: skip
    return [(*match.span(), wrong)]


def _unit(text: str, rng: random.Random) -> Changes:
    match = _UNIT.search(text)
    if match is None:
        return []
    unit = _other(match["unit"], DATA["units"], rng)
    joint = match[0][len(match["count"])]
    count = str(int(match["count"]) + rng.randint(1, 9)) if match["count"].isdigit() else ""
    count = count or _other(match["count"], DATA["numbers"], rng)
    pairs = [(match["count"], unit), (count, match["unit"]), (count, unit)]
    return [(*match.span(), joint.join(rng.choice(pairs)))]


def _negation(text: str, rng: random.Random) -> Changes:
    match = _WITH.search(text)
    if match is None or "any" in match["rest"]:
        return []
    return [
        (*match.span(), f"{'with' if match['joint'] == 'without' else 'without'} {match['rest']}")
    ]


def _several(text: str, rng: random.Random) -> Changes:
    found = list(_COLOR.finditer(text)) + list(re.finditer(rf"\b(?:{_ANY_NUMBER})\b", text))
    found = [one for one in found if len(re.findall(rf"\b{one[0]}\b", text, re.IGNORECASE)) == 1]
    if len(found) < 2:
        return []
    one, other = rng.sample(found, 2)
    wrong = []
    for match in (one, other):
        pool = DATA["colours"] if match[0] in DATA["colours"] else DATA["numbers"]
        free = [w for w in pool if not re.search(rf"\b{w}\b", text) and w not in wrong]
        wrong.append(rng.choice(free))
    return sorted((*match.span(), w) for match, w in zip((one, other), wrong, strict=True))


_RULES: dict[str, Callable[[str, random.Random], Changes]] = {
    "bound": _bound, "time": _time, "list": _list, "unit": _unit, "negation": _negation,
    "several": _several,
}  # fmt: skip
