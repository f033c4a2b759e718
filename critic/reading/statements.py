"""A rationale that only states what is true: the sentence again, with what is wrong corrected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from revise_captions.critic.reading.kinds import COUNT, KINDS
from revise_captions.critic.reading.wordings import PRONOUNS
from revise_captions.records import Fix, Span
from revise_captions.text.content_words import content_keys, known_keys

#: The share of words that both must have in common, and the most words of one difference.
SHARE, LONGEST = 0.5, 8
#: … if words are only deleted: a shorter statement may just not mention them.
_SILENT = 0.75
#: A word or punctuation mark, with the white space before it.
_TOKEN = re.compile(r"\s*(?:\w+(?:[’'.,:-]\w+)*|[^\w\s])")
_LEAD = re.compile(
    r"^(?:(?:no|correction|rather|in the (?:image|picture|photo))[,:] |"
    r"(?:the (?:image|picture|photo) (?:shows|depicts)|it shows|there (?:is|are)) "
    r"(?:that |(?:this|the following): )?)+",
    re.IGNORECASE,
)
#: Words about the sentence, or about what is not so, which the sentence itself does not have.
_SPEAKS = re.compile(
    r"\b(?:sentence|caption|description|wrong|incorrect|should|instead|rather|mistaken?|not|never|"
    r"no|none|nothing|cannot|any|"
    r"whereas|replace|change|correct)\b|n['’]t\b|[\"“”]|->",
    re.IGNORECASE,
)
_TRULY = re.compile(r"\b(?:actually|really|in fact|in reality|clearly),? ", re.IGNORECASE)
_END = " .;!"
#: A statement that ends with one of these is incomplete.
_DANGLING = frozenset(("a", "an", "the", "of", "and", "with", "his", "her", "its", "their"))

#: A difference: [i, j) of the sentence's tokens, [k, m) of the statement's.
Code = tuple[int, int, int, int]
_COUNT = re.compile(COUNT, re.IGNORECASE)


def fixes_of_statement(text: str, sentence: str) -> tuple[Fix, ...]:
    """The differences between a sentence and a statement that corrects it.

    Returns:
        One fix per difference; none if the two have too few words in common to be the same
        sentence, or the statement is about the sentence instead of the image.
    """
    text, body = text.strip().rstrip(_END), sentence.rstrip(_END)
    said = {match[0].casefold() for match in _SPEAKS.finditer(sentence)}
    if any(match[0].casefold() not in said for match in _SPEAKS.finditer(text)):
        return ()
    if not _TRULY.search(body):
        text = _TRULY.sub("", text)
    lead = _LEAD.match(text)
    if lead and not sentence.casefold().startswith(lead[0].casefold()):
        text = text[lead.end() :]
    old, new = (list(_TOKEN.finditer(one)) for one in (body, text))
    keys = [[match[0].strip().casefold() for match in some] for some in (old, new)]
    matcher = SequenceMatcher(None, keys[0], keys[1], False)
    words = [sum(key[0].isalnum() for key in some) for some in keys]
    shared = sum(
        keys[0][k][0].isalnum()
        for block in matcher.get_matching_blocks()
        for k in range(block.a, block.a + block.size)
    )
    if shared < max(2, SHARE * max(words)) or not known_keys(body) & _content(text):
        return ()
    codes = [code[1:] for code in matcher.get_opcodes() if code[0] != "equal"]
    if any(max(j - i, m - k) > LONGEST for i, j, k, m in codes):
        return ()
    if keys[1][-1] in _DANGLING or any(_is_cut(code, *keys) for code in codes):
        return ()
    if any(k == m for _, _, k, m in codes) and shared < _SILENT * words[0]:
        return ()
    codes = _within(codes, *keys)
    codes = [_of_counts(*code, *keys) for code in _plain_ones(codes, keys[0], keys[1])]
    fixes = (_difference(body, text, old, new, code) for code in _apart(codes, len(old)))
    # "It is under the table." refers to what the sentence calls a cup
    return tuple(fix for fix in fixes if not _refers(fix.span.of(body), fix.right))


def nearest(stated: Iterable[str], sentence: str) -> str:
    """The text with the most words in common with a sentence."""
    old = _keys(sentence)

    def likeness(text: str) -> float:
        return SequenceMatcher(None, old, _keys(text), False).ratio()

    def is_part(text: str) -> bool:
        return " ".join(_keys(text)) in " ".join(old)

    whole, *parts = dict.fromkeys(stated)
    return max([whole, *(part for part in parts if not is_part(part))], key=likeness)


def _keys(text: str) -> list[str]:
    return [match[0].strip().casefold() for match in _TOKEN.finditer(text.strip().rstrip(_END))]


def _is_cut(code: Sequence[int], old: Sequence[str], new: Sequence[str]) -> bool:
    """Whether a statement begins later than the sentence, or ends earlier: it is then only a part,
    and its beginning may not correspond to the sentence's."""
    i, j, k, m = code
    edge = (i == 0 == k) or (j == len(old) and m == len(new))
    return edge and 0 < m - k < j - i - 1 and not PRONOUNS.issuperset(new[k:m])


def _within(codes: list[Code], old: Sequence[str], new: Sequence[str]) -> list[Code]:
    """Of several differences, those that are not a missing beginning or end: such a statement is
    only a part, unless what it leaves out is a count, color or the like."""
    inner = [
        (i, j, k, m)
        for i, j, k, m in codes
        if k < m or (i > 0 and j < len(old)) or _is_kind(old, new, i, j, k, m)
    ]
    return inner or codes


def _plain_ones(codes: Sequence[Code], old: Sequence[str], new: Sequence[str]) -> list[Code]:
    """Of several differences, those in counts, colors, negations and the like, and added or missing
    words: another word for the same thing is not a difference."""
    plain = [
        code
        for code in codes
        if code[0] == code[1] or code[2] == code[3] or _is_kind(old, new, *code)
    ]
    return plain if 0 < len(plain) < len(codes) else list(codes)


def _of_counts(
    i: int, j: int, k: int, m: int, old: Sequence[str], new: Sequence[str]
) -> tuple[int, int, int, int]:
    """A difference; between two counts, without what follows one ("there are only two dogs", for
    three brown dogs): a statement may omit an attribute, and "only" is just emphasis."""
    if i < j and k < m:
        stressed = k + (new[k] == "only" and m - k > 1)
        if _COUNT.fullmatch(old[i]) and _COUNT.fullmatch(new[stressed]):
            return i, min(j, i + m - stressed), stressed, m
    return i, j, k, m


def _is_kind(old: Sequence[str], new: Sequence[str], i: int, j: int, k: int, m: int) -> bool:
    if k < m and PRONOUNS.issuperset(new[k:m]):
        return False  # "it" for "the bird on the left"
    return any(KINDS.search(" ".join(some)) is not None for some in (old[i:j], new[k:m]))


def _refers(wrong: str, right: str) -> bool:
    """Whether a difference is only another way to refer to the same thing: "it", "the thing"."""
    old, new = wrong.strip().casefold(), right.strip().casefold()
    return new in PRONOUNS or (old in PRONOUNS and new.startswith("the "))


def _content(text: str) -> set[str]:
    return {key for _, keys in content_keys(text) for key in keys}


def _apart(codes: Sequence[tuple[int, ...]], length: int) -> list[tuple[int, int, int, int]]:
    """Differences as tokens [i, j) replaced by [k, m), each with an adjacent token if one side is
    empty; those that then touch are merged."""
    found: list[tuple[int, int, int, int]] = []
    for i, j, k, m in codes:
        if i == j or k == m:
            i, j, k, m = (i, j + 1, k, m + 1) if j < length else (i - 1, j, k - 1, m)
        if found and i < found[-1][1]:
            first = found.pop()
            i, k = first[0], first[2]
        found.append((i, j, k, m))
    return found


def _difference(
    sentence: str,
    text: str,
    old: list[re.Match[str]],
    new: list[re.Match[str]],
    places: tuple[int, int, int, int],
) -> Fix:
    i, j, k, m = places
    span = Span(old[i].start(), old[j - 1].end())
    right = text[new[k].start() : new[m - 1].end()]
    if right[:1].isspace() and span.of(sentence)[:1].isspace():
        right = right.lstrip()
        span = Span(span.end - len(span.of(sentence).lstrip()), span.end)
    if k == 0 and i and right[1:2].islower():
        right = right[0].lower() + right[1:]
    return Fix(span, right, basis="said of the image word by word")
