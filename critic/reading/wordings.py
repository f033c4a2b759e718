"""Wordings that name wrong and right words, and where each of the two begins and ends.

A wording is a frame of words around two slots. The wrong words have to be in the sentence, so the
frame alone only has to find the ends of the right ones: after "it is", "the image shows" or a
subject with its verb, and before a full stop or a remark that the rest is right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

_TEXT = r"(?:sentence|caption|text|description|statement|claim|rationale|it)"
_IMAGE = r"(?:image|picture|photo|photograph|scene|shot)"
_SAYS = r"(?:says?|said|claims?|mentions?|states?|reads?|has|speaks of|describes?|calls? it|puts?)"
_WRONG = r"(?:wrong|incorrect|inaccurate|false|not (?:right|correct|accurate|true)|a mistake)"
_IS = r"(?:is|are|was|were|'s|’s|'re|’re)"
_NOT = rf"(?:{_IS} not|isn['’]t|aren['’]t|wasn['’]t|weren['’]t|{_IS} no)"
_THEN = r"(?:it|they|this|that|these|those|there|what is there|the (?:right|correct) \w+)"
_SHOULD = r"(?:should|must|ought to|has to|needs to)"
_TRULY = r"(?:(?:really|actually|in fact|rather|in reality|clearly|instead),? )?"
_SHOWS = rf"(?:shows?|has|depicts?|displays?|contains?|{_IS})"
_THE_TEXT = rf"(?:the |this )?{_TEXT}"
_CHANGE = r"(?:please )?(?:replace|change|correct|exchange|turn)"
_ARROW = r"(?:->|→|=>)"
_W, _R = r"(?P<wrong>.+?)", r"(?P<right>.+?)"
#: Wordings with the right words first, whose beginning is found by `_lead`.
_RIGHT_FIRST = (
    rf"{_R}(?:,| and|, and|, but) (?:not|never) {_W}",
    rf"{_R},? (?:instead of|rather than|as opposed to|in place of) {_W}",
    rf"{_R},? (?:whereas|while|where|although|though|but) {_THE_TEXT} {_SAYS} {_W}",
    rf"{_R} (?:was|were|is|are|has been) (?:mistaken|taken) for {_W}",
    rf"no mention of {_R}[,;:] {_THE_TEXT} {_SAYS} {_W}",
    rf"{_R} (?:is|are|would be) (?:right|correct|accurate)[,;]? (?:and |but )?{_W} {_NOT}",
)
_RIGHT_LAST = (
    rf"(?:[^,;]*? )??not {_W},? but {_TRULY}{_R}",
    rf"(?:where |instead, )?(?:{_THE_TEXT} {_SAYS} )?{_W},? (?:it |this )?{_SHOULD} "
    rf"(?:be|say|read|have been) {_R}",
    rf"{_W} {_ARROW} {_R}",
    rf"s/{_W}/{_R}/",
    rf"{_CHANGE} (?P<wrong>.+) (?:with|by|to|for|into) {_R}",  # "Change up to five to two."
    rf"{_CHANGE} {_W} (?:with|by|to|for|into) {_R}",
    rf"(?:use|put|read|write) {_R} (?:for|instead of|in place of) {_W}",
    rf"{_THE_TEXT} {_SAYS} {_W}(?:[,;:.]|,? (?:but|however|yet|while|whereas|although|though),?) "
    rf"(?:but )?{_TRULY}(?:(?:{_THEN}|the {_IMAGE}) {_SHOWS} )?{_TRULY}{_R}",
    rf"{_W} {_IS} {_WRONG}[,;:.] (?:(?:{_THEN}) (?:{_SHOULD} (?:be|say|read)|{_IS}) )?{_R}",
    rf"(?:it|they|this|that|these|those|there|he|she)? ?{_NOT} {_W}[,;:.] "
    rf"(?:but )?(?:(?:{_THEN}) ?{_IS} |the {_IMAGE} {_SHOWS} )?{_TRULY}{_R}",
    rf"{_W}\? (?:no|wrong|actually)[,;:.]? (?:it {_IS} |it['’]s )?{_R}",
    rf"what (?:is|are|was) (?:described as|called|said to be) {_W} {_IS} {_TRULY}{_R}",
    rf"(?:the )?(?:words?|phrase) {_W} (?:do|does) not (?:match|fit|agree with) the {_IMAGE},? "
    rf"which (?:has|shows) {_R}",
)
FRAMES = tuple(
    (re.compile(f"{frame}$", re.IGNORECASE | re.DOTALL), first)
    for frames, first in ((_RIGHT_LAST, False), (_RIGHT_FIRST, True))
    for frame in frames
)
#: Remarks that the rest is right, which are not part of the words before them.
_REST = re.compile(
    r"(?:, (?:though|if|i (?:think|believe)|(?:most )?(?:probably|likely)|it seems)"
    r"|[,;.]? (?:and |but )?(?:the rest|everything else|all else|otherwise))\b.*$",
    re.IGNORECASE | re.DOTALL,
)
#: What neither wrong nor right words contain: the end of a sentence, or of another claim.
_JOINED = re.compile(
    rf"[.!?] |;|\w[\"”]|[\"“]\w|{_ARROW}|, (?:but|not|instead|rather|whereas|while)\b|:(?: |$)"
    r"|\b(?:instead|rather than|but other|none|nothing|any|accurate|correct(?:ly)?|incorrect"
    r"|inaccurate|because|since|sentence|caption)\b|^(?:no|not)\b|, and no\b"
    rf"|\b{_SHOULD} be\b|, and (?:the|there|it|they)\b[^,]* {_IS}\b|\b(?:is|are) (?:wrong|right)\b",
    re.IGNORECASE | re.MULTILINE,
)
_ASIDE = re.compile(r", (?:as far as|if)\b[^,]*, ", re.IGNORECASE)
_OPENING = re.compile(
    r"^(?:(?:actually|in fact|in reality|no|wrong|correction|error|incorrect|rather|instead|also|"
    r"moreover|in addition|and|but|however|furthermore|"
    r"in the (?:image|picture|photo)|looking at the (?:image|picture|photo)|"
    r"it (?:appears|seems|looks)(?: that| like| to be)?|i (?:believe|think|would say)(?: that)?|"
    r"(?:most |quite )?likely|"
    r"probably|perhaps|as far as i can tell)\b[,:;.]? *)+",
    re.IGNORECASE,
)
#: Words that lead up to what is there, without describing it.
_PLAIN_LEAD = re.compile(
    rf"^(?:(?:it|this|that|they|these|those|there|he|she|here)(?: ?{_IS}| {_SHOULD} (?:be|say))"
    rf"|(?:in )?the {_IMAGE},? (?:\w+ly )?(?:shows?|depicts?|displays?|has|contains?|there {_IS})"
    rf"|(?:i|we|one)(?: can)? (?:see|find|count)s?) {_TRULY}",
    re.IGNORECASE,
)
_SUBJECT_LEAD = re.compile(rf"^(?P<subject>(?:[\w’'-]+ ){{1,8}}?)(?:{_IS}) {_TRULY}", re.IGNORECASE)
_PLAIN_TAIL = re.compile(
    rf" (?:(?:that|which|here|there)\b.*|instead|(?:can|could) be seen(?: \w+)?"
    rf"|(?:in|on) the {_IMAGE}|(?:is|are) (?:visible|shown|there)"
    rf"|{_IS} what (?:the {_IMAGE} shows|can be seen|is (?:there|shown)))$",
    re.IGNORECASE,
)
_FINITE = re.compile(rf"\b(?:{_IS}|i|it|we|can|cannot|should)\b", re.IGNORECASE)
PRONOUNS = frozenset(("it", "they", "he", "she", "this", "that", "these", "those", "there"))
_WORD = re.compile(r"\w")
_QUOTED = re.compile(
    r"\"([^\"\n]+)\"|[“„]([^“”\n]+)[“”]|‘([^’\n]+)’|(?<!\w)'([^'\n]+)'(?!\w)|«([^»\n]+)»"
    r"|\*+([^*\n]+)\*+|(?<!\w)_([^_\n]+)_(?!\w)|`([^`\n]+)`"
)


class NamedPair(NamedTuple):
    """Wrong and right words as a rationale names them.

    Attributes:
        wrong: Words that should be in the sentence.
        right: What should replace them.
        subject: What the rationale says this about, in words; "" if it does not say.
        exact: Whether the wording shows where the right words begin.
        quoted: Whether both are in quotation marks.
        bare: Whether nothing leads up to the right words.
    """

    wrong: str
    right: str
    subject: str = ""
    exact: bool = True
    quoted: bool = False
    bare: bool = False


def pairs(text: str) -> Iterator[NamedPair]:
    """Readings of one sentence of a rationale, the likeliest first.

    Args:
        text: A sentence, or two that go together ("Red? No, blue.").
    """
    text = _ASIDE.sub(" ", text.strip())
    plain = _OPENING.sub("", _REST.sub("", text).strip()).rstrip(".;!, ")
    yield from _in_quotes(plain)
    for frame, first in FRAMES:
        if (match := frame.match(plain)) is None:
            continue
        wrong, right = (_unquoted(match[name]) for name in ("wrong", "right"))
        wrong = wrong if first else _PLAIN_LEAD.sub("", wrong)
        wrong, right = (_PLAIN_TAIL.sub("", one) for one in (wrong, right))
        said = right
        right, subject, exact = _lead(right, wrong)
        if not first and _speaks_of_thing(wrong, right):
            continue
        if words := re.search(r"(\w+)$", wrong):  # "a wooden one"
            right = re.sub(r"\bones?$", words[0], right) if " " in right else right
        if right.casefold() in ("wrong", "incorrect", "false", "correct", "not"):
            continue  # "A is wrong: B is right."
        named = _WORD.search(wrong) and wrong.casefold() not in PRONOUNS
        if named and _WORD.search(right) and not _JOINED.search(f"{wrong}\n{right}"):
            yield NamedPair(wrong, right, subject, exact, bare=first and said == right)


def _in_quotes(text: str) -> Iterator[NamedPair]:
    """One of two quotes is wrong and in the sentence; the wording need not say which."""
    found = [
        (next(filter(None, match.groups())).strip(), match.start())
        for match in _QUOTED.finditer(text)
    ]
    if len(found) == 2:
        (one, first), (other, second) = found
        denied = [
            re.search(r"\b(?:not|instead of|in place of|rather than) $", text[:at]) is not None
            for at in (first, second)
        ]
        for wrong, right, no in ((one, other, denied[1]), (other, one, denied[0])):
            if not no:
                yield NamedPair(wrong, right, quoted=True)


def _unquoted(text: str) -> str:
    return text.strip().strip("\"“”‘’'`").strip(" ,;:")


def _lead(right: str, wrong: str) -> tuple[str, str, bool]:
    """The right words without what leads up to them, what they are about, and whether it is clear
    that they begin there."""
    if plain := _PLAIN_LEAD.match(right):
        return _unquoted(right[plain.end() :]), "", True
    subject = _SUBJECT_LEAD.match(right)
    if subject and not re.search(rf"\b{_IS}\b", wrong):
        return _unquoted(right[subject.end() :]), subject["subject"].strip(), False
    return right, "", not _FINITE.search(right)


def _speaks_of_thing(wrong: str, right: str) -> bool:
    """Whether the words before "should be" name a thing, and those after it describe it."""
    definite = re.match(r"(?:the|this|these|those) ", wrong, re.IGNORECASE)
    return definite is not None and not re.match(r"(?:an?|the|\w+’s|\w+'s) ", right, re.IGNORECASE)
