"""Deletions: whether a whole sentence may go, and what dangles where a word is gone.

A small model deletes a sentence where it does not know what to do, and a word without the "and"
that joined it to another.
"""

from __future__ import annotations

import re

from revise_captions.records import Complaint
from revise_captions.reviser.restoring import LOOSE
from revise_captions.text.content_words import content_keys, known_keys, words

#: Of the rules here; part of the signature.
VERSION = "delete/2"
#: Among so many first words a sentence names what it is about.
SUBJECT = 6
#: Said of a whole sentence, not of something in it.
_ALL = frozenset(("all", "text", "image", "picture", "photo"))
_PREDICATE = r"\b(?:is|are|was|were|looks?|appears?|seems?)\s+(?:\w+ly\s+)?(?:an?\s+|the\s+)?"


def may_go(sentence: str, fault: Complaint) -> bool:
    """Whether a rationale is a reason to delete the sentence.

    It is where it names nothing of the sentence ("Nothing of this can be seen."); where it says
    that what the sentence begins with is not there, or that what the sentence is about is not as
    the sentence says ("The colors are muted."); and where it leaves at most a word unnamed.
    """
    known = known_keys(fault.claim)
    named = [word for word, keys in content_keys(sentence) if keys & known and word not in _ALL]
    if not named or len(content_keys(sentence)) - len(named) <= 1:
        return True
    if fault.absent:
        return not fault.other and named[0] in words(sentence)[:SUBJECT]
    return any(re.search(_PREDICATE + re.escape(word), sentence, re.IGNORECASE) for word in named)


def without_quoted(sentence: str, fault: Complaint) -> str:
    """The sentence without the clause at its end that the rationale quotes; "" if nothing stays."""
    body = sentence.rstrip(" .!?")
    for quoted in fault.quoted:
        if body.endswith(quoted) and LOOSE.match(quoted):
            left = body.removesuffix(quoted).rstrip(" ,")
            if content_keys(left):
                return left + sentence[len(body) :]
    return ""


_DETERMINERS = r"an?|the|its|his|her|their|this|that|these|those"
_BEFORE = rf"{_DETERMINERS}|very|so|too|quite|is|are|was|were|looks?|seems?|appears?|with"
#: What dangles, and what stays of it.
_DANGLING = tuple(
    (re.compile(pattern, re.IGNORECASE), put)
    for pattern, put in (
        (rf"\b({_BEFORE}),? (?:and|or|but) (?=[^\W\d_])", r"\1 "),
        (rf"\b({_BEFORE}), (?=[^\W\d_])", r"\1 "),
        (r",? (?:and|or|but)(?=\s*[.;!?]|\s*$)", ""),
        (r"\b(and|or|but),? (?:and|or)\b", r"\1"),
        (r",(?:\s*,)+", ","),
        (r" +(?=[.,;!?])", ""),
    )
)
_ARTICLE = re.compile(r"\b(?P<article>an?) (?P<word>[a-z]+)", re.IGNORECASE)
_VOWEL = re.compile(r"(?!uni|us[aeiu]|eu|one\b|once\b|ubi|uti|ufo)[aeiou]|hour|honest|heir", re.I)


def without_dangling(text: str, sentence: str) -> str:
    """A rewrite without the conjunctions, commas and articles that dangle in it: "a lively and
    inviting image" without "lively" is "an inviting image", not "a and inviting image".

    Args:
        text: The rewrite.
        sentence: The original: what it has of the kind stays as it is.
    """
    for pattern, put in _DANGLING:
        if not pattern.search(sentence):
            text = pattern.sub(put, text)

    def fitting(match: re.Match[str]) -> str:
        if match[0] in sentence:
            return match[0]
        article = "an" if _VOWEL.match(match["word"]) else "a"
        return f"{match['article'][0]}{article[1:]} {match['word']}"

    return _ARTICLE.sub(fitting, text)
