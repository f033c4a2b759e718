"""Which words a rationale calls wrong and which replace them, in any wording.

The wrong words are in the sentence, word for word; the right ones are elsewhere in the rationale.
Each pair of such places is a reading, and so is the rationale's naming none. A log-linear model
gives the probability of each, from the kinds of words beside the places (of saying, showing,
denying, correcting), from what is left over, and from how alike the two are; it knows no wordings.
`scripts/research/edits/fit_slots.py` fits its weights.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import json
import math
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path

from revise_captions.charts.claims.edits import with_fixes
from revise_captions.critic.reading.alignment import ASIDE, TALK
from revise_captions.critic.reading.kinds import CLASSES, KINDS
from revise_captions.critic.reading.places import fix_of
from revise_captions.critic.reading.wordings import NamedPair
from revise_captions.records import Fix
from revise_captions.text.content_words import FUNCTION_WORDS

_TOKEN = re.compile(r"[-=]>|\w+(?:[’'.,:/-]\w+)*%?|[^\w\s]")
#: Kinds of words beside a place; the first that fits is used.
_BESIDE = tuple(
    (kind, re.compile(rf"(?:{pattern})$", re.IGNORECASE))
    for kind, pattern in (
        ("arrow", r"[-=]>|→|/"),
        ("quote", r"[\"“”„«»‘’'`*_]"),
        ("comma", ","),
        ("stop", r"[^\w\s]"),
        ("not", r"not?|never|none|without|nor|\w+n['’]t|cannot"),
        ("than", "than|instead|versus|vs"),
        ("be", "is|are|was|were|be|been|it['’]s|that['’]s|there['’]s|they['’]re"),
        ("as", "as"),
        ("to", "to|with|by|into"),
        ("of", "of|for|about|like"),
        ("says", r"sa(?:ys?|id|ying)|stat\w+|claim\w*|mention\w*|describ\w+|read(?:s|ing)?"
         r"|assert\w*|refer\w*|call\w*|wr(?:ites?|ote|itten)|nam(?:es|ed)|identif\w+|label\w*|puts?"
         r"|reports?"),
        ("text", r"captions?|sentences?|descriptions?|texts?|statements?|words?|phrases?|terms?"
         "|wording"),
        ("image", r"images?|pictures?|photos?|photographs?|scene|visual|evidence|reality|truth"
         "|fact"),
        ("shows", r"show(?:s|ing)?|depict\w*|features?|display\w*|contain\w*|portray\w*|reveal\w*"
         r"|suggest\w*|indicat\w+|includ\w+|ha(?:s|ve)|sees?|finds?|appears?|looks?"),
        ("seen", r"visible|seen|shown|present\w*|pictured|depicted|displayed|observed|there|here"),
        ("mends", r"should|must|ought|correct(?:ed|ly|ion)?|replac\w+|chang\w+|right"
         r"|actual(?:ly)?|really|truly|clearly|proper|better|fix\w*|use|accurate(?:ly)?"),
        ("wrong", r"wrong\w*|incorrect\w*|inaccura\w+|erro\w+|false\w*|mis\w+|hallucinat\w+"
         r"|contra\w+|conflict\w*|inconsisten\w+|unsupported|untrue|nonfactual|confus\w+|invent\w*|supported"
         r"|match\w*|doesn|don"),
        ("joint", "while|whereas|but|yet|however|though|although|when|where|since|because|so|and"),
        ("article", "an?|the"),
    )
)  # fmt: skip
#: The kinds of words that a rationale about a text consists of, besides what it names.
_FRAMES = frozenset(kind for kind, _ in _BESIDE if kind not in ("article", "to", "of", "as"))
#: … and those never in right words, unless in the sentence.
_NEVER = _FRAMES - {"not", "be", "shows", "comma", "joint", "seen"}
_EMPTY = frozenset("a an the is are was were be it and or this that of".split())
_ARTICLES = frozenset(("a", "an", "the"))
_DETERMINERS = _ARTICLES | {"his", "her", "its", "their", "this", "these", "some"}
_JOINTS = frozenset(("and", "or"))
#: The least probability of a fix.
LEAST = 0.5
#: … and those of which a rationale must have one to name anything.
_NAMES = _FRAMES - {"comma", "stop", "be", "joint"}
#: Most words of a place, and of a rationale; most readings, and most that are tried as fixes.
_LONGEST, _WORDS, _MOST, _MOST_READ = 10, 70, 2000, 12
_FILE = Path(__file__).with_name("slots.json")


@dataclass(frozen=True, slots=True)
class Reading:
    """`wrong` and `right`: words as written; `features`: evidence for and against the reading."""

    wrong: str
    right: str
    features: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Told:
    """A rationale's words, compared with a sentence."""

    text: str
    spans: tuple[tuple[int, int], ...]
    words: tuple[str, ...]
    kinds: tuple[str, ...]
    sentence: tuple[str, ...]

    def of(self, start: int, end: int) -> str:
        return self.text[self.spans[start][0] : self.spans[end - 1][1]]


@dataclass(frozen=True, slots=True)
class LikelyFix:
    """A fix, and the total probability of all readings that give it, in [0, 1]."""

    fix: Fix
    likely: float


def likely_fix(
    text: str, sentence: str, weights: Mapping[str, float] | None = None
) -> LikelyFix | None:
    """The fix with the highest total probability of readings; None if that is too low, or it is
    likelier that the rationale names none. `weights`: replace the shipped ones."""
    return _shipped_fix(text, sentence) if weights is None else _fix(text, sentence, weights)


@lru_cache(maxsize=1024)
def _shipped_fix(text: str, sentence: str) -> LikelyFix | None:
    """Cached, as critic and reviser ask for the same fix."""
    return _fix(text, sentence, _weights())


def _fix(text: str, sentence: str, weights: Mapping[str, float]) -> LikelyFix | None:
    text = ASIDE.sub("", text)
    found = readings(text, sentence)
    if len(found) < 2:
        return None
    scores = [sum(weights.get(name, 0.0) for name in one.features) for one in found]
    top = max(scores)
    total = sum(math.exp(score - top) for score in scores)
    ranked = sorted(zip(scores, found, strict=True), key=lambda one: -one[0])
    shares: dict[tuple[str, bool], float] = defaultdict(float)
    fixes: dict[tuple[str, bool], Fix] = {}
    for score, one in ranked[:_MOST_READ]:
        fix = _fix_of(one, text, sentence)
        after = (with_fixes(sentence, [fix]), fix.certain) if fix else ("", False)
        shares[after] += math.exp(score - top) / total
        if fix:
            fixes[after] = fix
    best = max(shares, key=lambda after: shares[after])
    fix = fixes.get(best)
    return LikelyFix(fix, shares[best]) if fix and shares[best] >= LEAST else None


def _fix_of(one: Reading, text: str, sentence: str) -> Fix | None:
    """The fix of a reading, certain if all of its words, except an article, are inserted."""
    if not one.wrong or not _is_exchange(one.wrong, one.right, text):
        return None
    right = re.sub(r"^an? (.+) one$", r"\1", one.right)  # "a blue one": the sentence has its noun
    wrong = one.wrong
    if wrong[:4].casefold() == "the " and right.split(" ", 1)[0].casefold() not in _DETERMINERS:
        wrong = wrong[4:]  # "The lower is in fact highest." speaks of "lower"
    fix = fix_of(NamedPair(wrong, right), sentence)
    if fix is None:
        return None
    whole = _bare(fix.right) == _bare(right) != right.casefold()
    return replace(
        fix, certain=fix.certain or whole, basis="the likeliest reading of the rationale"
    )


def _bare(words: str) -> str:
    return re.sub(r"^(?:an?|the) ", "", words.casefold())


def _is_exchange(old: str, new: str, text: str) -> bool:
    """Whether one replaces the other, rather than describing it ("The wall should be wooden.") or
    being a noun, with an article, in place of words like "in"."""
    little = all(word in FUNCTION_WORDS for word in _bare(old).split())
    if little and re.search(rf"\b(?:an?|the) {re.escape(_bare(new))}\b", text, re.IGNORECASE):
        return False
    said = rf"^(?:the|his|her|its|their|this|these) {re.escape(_bare(old))},? (?:{_OF}),? "
    return re.search(said + re.escape(new), text, re.IGNORECASE) is None


_OF = (
    r"(?:is|are|was|were|looks?|appears?|should be|must be|ought to be)"
    r"(?: (?:really|actually|in fact|clearly|rather))?"
)


def overreaches(right: str, sentence: str) -> bool:
    """Whether words to be inserted include some of the wording itself."""
    said = {match[0].casefold() for match in _TOKEN.finditer(sentence)}
    told = [match[0].casefold() for match in _TOKEN.finditer(right)]
    return any(
        _kind(word) in _NEVER | {"than"} and word not in said and word.isalpha() for word in told
    )


@cache
def _weights() -> dict[str, float]:
    found: dict[str, float] = json.loads(_FILE.read_text(encoding="utf-8"))
    return found


def readings(text: str, sentence: str) -> list[Reading]:
    """All readings of a rationale; the first is naming nothing."""
    matches = list(_TOKEN.finditer(text))
    words = tuple(match[0].casefold() for match in matches)
    if len(words) > _WORDS:
        return []
    kinds = tuple(_kind_beside(word, words[k - 1] if k else "") for k, word in enumerate(words))
    said = tuple(match[0].casefold() for match in _TOKEN.finditer(sentence))
    told = _Told(text, tuple(match.span() for match in matches), words, kinds, said)
    olds = [at for at in _places(len(words)) if _may_be_wrong(told, *at)]
    news = [at for at in _places(len(words)) if _may_be_right(told, *at)]
    if not _NAMES.intersection(kinds) or len(olds) * len(news) > _MOST:
        return []
    left = _leftover(told)
    beside = {(name, *at): tuple(_beside_place(told, name, *at))
              for name, places in (("old", olds), ("new", news)) for at in places}  # fmt: skip
    found = [Reading("", "", tuple(_of_none(told)))]
    for i, j in olds:
        for k, m in news:
            if (j <= k or m <= i) and words[i:j] != words[k:m]:
                features = (*beside["old", i, j], *beside["new", k, m],
                            *_of_pair(told, (i, j), (k, m), left))  # fmt: skip
                found.append(Reading(told.of(i, j), told.of(k, m), features))
    return found


def _kind_beside(word: str, before: str) -> str:
    kind = _kind(word)
    if kind in ("image", "text") and before in ("a", "an", ""):
        return "word"  # "I see a picture hanging there."
    return "function" if word == "than" and before in ("more", "less", "fewer") else kind


def _kind(word: str) -> str:
    found = next((kind for kind, pattern in _BESIDE if pattern.match(word)), "")
    return found or ("talk" if word in TALK - FUNCTION_WORDS else
                     "function" if word in FUNCTION_WORDS else "word")  # fmt: skip


def _places(length: int) -> Iterator[tuple[int, int]]:
    for start in range(length):
        for end in range(start + 1, min(length, start + _LONGEST) + 1):
            yield start, end


def _stands(words: Sequence[str], said: Sequence[str]) -> bool:
    size = len(words)
    return any(tuple(words) == tuple(said[k : k + size]) for k in range(len(said) - size + 1))


def _may_be_wrong(told: _Told, start: int, end: int) -> bool:
    """Whether words are in the sentence, and not part of a longer match with it."""
    words, said = told.words[start:end], told.sentence
    if not (_ends_well(words) and _stands(words, said)) or set(words) <= _EMPTY:
        return False
    sides = ((start - 1, start - 1, end), (end, start, end + 1))
    return not any(
        0 <= at < len(told.words) and told.kinds[at] == "word" and _stands(told.words[a:b], said)
        for at, a, b in sides
    )


def _ends_well(words: Sequence[str]) -> bool:
    return words[0][0].isalnum() and (words[-1][-1].isalnum() or words[-1][-1] == "%")


def _may_be_right(told: _Told, start: int, end: int) -> bool:
    words, kinds = told.words[start:end], told.kinds[start:end]
    if not _ends_well(words) or set(words) <= _EMPTY or words[0] in _JOINTS or words[-1] in _JOINTS:
        return False
    if any(kind in _NEVER and word not in told.sentence
           for kind, word in zip(kinds, words, strict=True)):  # fmt: skip
        return False
    cut = any(0 <= at < len(told.words) and told.kinds[at] == "word" for at in (start - 1, end))
    return not cut and ("comma" not in kinds or "and" in words)


def _leftover(told: _Told) -> list[tuple[int, int]]:
    """Cumulative counts of words in no frame: those not in the sentence, and those in it."""
    sums, said = [(0, 0)], set(told.sentence)
    for word, kind in zip(told.words, told.kinds, strict=True):
        unknown = kind == "word"
        sums.append((sums[-1][0] + (unknown and word not in said),
                     sums[-1][1] + (unknown and word in said)))  # fmt: skip
    return sums


def _of_none(told: _Told) -> Iterator[str]:
    yield "none"
    kinds = set(told.kinds)
    yield from (
        f"none {kind}" for kind in sorted(_NAMES - {"image", "shows", "seen"}) if kind in kinds
    )
    left = _leftover(told)[-1]
    yield from (
        f"none left {name} {min(n, 4)}" for name, n in zip(("new", "said"), left, strict=True)
    )


def _beside(told: _Told, at: int) -> str:
    if not 0 <= at < len(told.words):
        return "end"
    kind = told.kinds[at]
    return f"{kind} said" if kind == "word" and told.words[at] in told.sentence else kind


def _cue(told: _Told, at: int, step: int) -> str:
    """The next word about texts or images, on one side, within the sentence."""
    while 0 <= at < len(told.words) and told.words[at] not in (".", ";"):
        if told.kinds[at] in _FRAMES and told.kinds[at] not in ("comma", "quote", "stop", "be"):
            return told.kinds[at]
        at += step
    return "end"


def _beside_place(told: _Told, name: str, start: int, end: int) -> Iterator[str]:
    for side, at, step in (("<", start - 1, -1), (">", end, 1)):
        yield f"{name} {side} {_beside(told, at)}"
        yield f"{name} {side * 2} {_cue(told, at, step)}"


def _of_pair(
    told: _Told, old: tuple[int, int], new: tuple[int, int], left: list[tuple[int, int]]
) -> Iterator[str]:
    (i, j), (k, m) = old, new
    yield "old first" if i < k else "new first"
    yield from {f"between {kind}" for kind in told.kinds[min(j, m) : max(i, k)] if kind in _FRAMES}
    for name, n in (("new", 0), ("said", 1)):
        inside = left[j][n] - left[i][n] + left[m][n] - left[k][n]
        yield from (f"left {name} {step}" for step in range(1, min(left[-1][n] - inside, 4) + 1))
    yield from _inside(told, told.words[i:j], told.words[k:m], told.kinds[k:m])


def _inside(
    told: _Told, wrong: Sequence[str], right: Sequence[str], kinds: Sequence[str]
) -> Iterator[str]:
    """Features of what the two have in common, and of how they begin and end."""
    talk = sum(kind in _FRAMES | {"talk"} and word not in wrong and kind not in ("joint", "comma")
               for kind, word in zip(kinds, right, strict=True))  # fmt: skip
    yield from (f"talk in new {step}" for step in range(1, min(talk, 3) + 1))
    yield f"article {wrong[0] in _ARTICLES} {right[0] in _ARTICLES}"
    for name, one, other in (("old", wrong, right), ("new", right, wrong)):
        for end, at in (("first", 0), ("last", -1)):
            if one[at] in FUNCTION_WORDS and one[at] not in other:
                yield f"{name} {end} function"
        if all(word in FUNCTION_WORDS for word in one):
            yield f"{name} all function"
    yield f"longer {max(-3, min(3, len(right) - len(wrong)))}"
    size = min(len(wrong), len(right))
    yield from (f"size {step}" for step in range(1, min(size, 4)))
    (kind, any_kind), (its, its_any) = _classes(" ".join(wrong)), _classes(" ".join(right))
    yield f"class {kind is not None} {its is not None} {kind == its}"
    yield f"kind {any_kind} {its_any}"
    shared = set(wrong) & set(right) - _ARTICLES
    yield f"shared {bool(shared)}"
    yield f"new stands {_stands(right, told.sentence)}"
    if set(right) <= set(wrong):
        yield "new is part"
    if set(wrong) <= set(right):
        yield "old is part"


@lru_cache(maxsize=4096)
def _classes(words: str) -> tuple[int | None, bool]:
    """The first closed class with a member among words, and whether any kind has one."""
    found = next((n for n, members in enumerate(CLASSES) if members.search(words)), None)
    return found, KINDS.search(words) is not None
