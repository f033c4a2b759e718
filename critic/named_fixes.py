"""Fixes that a model's rationale names in words: the one place where a rationale's text is read.

    “red” should be “blue”            the quoted words of the sentence, by the quoted ones
    The car is blue, not red.         as many words before the comma as are denied behind it

How far the right words of the second form reach is a guess, so its fixes are not certain.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from revise_captions.records import Fix, Rationale, Span

#: Characters; a longer text is no list of corrections.
_LONGEST = 1000
_SHOULD_BE = re.compile(
    r"[\"“'‘](?P<wrong>[^\"“”\n]{1,80}?)[\"”'’] (?:should|must) be "
    r"[\"“'‘](?P<right>[^\"“”\n]{1,80}?)[\"”'’]"
)
_NOT = re.compile(
    r"(?P<before>(?:[\w’'-]+ ){0,8}[\w’'-]+),? (?:not|instead of|rather than) "
    r"(?P<wrong>[\w’'-]+(?: [\w’'-]+){0,3}?)(?=[.,;:]|$)"
)
_ARTICLES = frozenset(("a", "an", "the"))


def with_named_fixes(text: str, sentence: str) -> Rationale:
    """A rationale of words, with the fixes that they name.

    Args:
        text: What is wrong, as a model wrote it.
        sentence: The sentence that it is about.

    Returns:
        The text with a fix for each place that it names once and unmistakably; words that the
        sentence has not, or has more than once, give none.
    """
    if len(text) > _LONGEST:
        return Rationale(text)
    found: list[Fix] = []
    for fix in _named(text, sentence):
        if all(fix.span.end <= one.span.start or one.span.end <= fix.span.start for one in found):
            found.append(fix)
    return Rationale(text, tuple(sorted(found, key=lambda fix: fix.span)))


def _named(text: str, sentence: str) -> Iterator[Fix]:
    for match in _SHOULD_BE.finditer(text):
        if (span := _only_place(match["wrong"], sentence)) is not None:
            yield Fix(span, match["right"], basis="named in quotes")
    for match in _NOT.finditer(text):
        wrong = match["wrong"].split()
        if wrong[0].lower() in _ARTICLES:
            wrong = wrong[1:]
        right = match["before"].split()[-len(wrong) :] if wrong else []
        span = _only_place(" ".join(wrong), sentence) if len(right) == len(wrong) > 0 else None
        if span is not None:
            yield Fix(span, " ".join(right), certain=False, basis="named by “not”")


def _only_place(words: str, sentence: str) -> Span | None:
    """Where the words stand in the sentence; None if nowhere, or in several places."""
    places = [
        match.span()
        for match in re.finditer(rf"(?<!\w){re.escape(words)}(?!\w)", sentence, re.IGNORECASE)
    ]
    return Span(*places[0]) if len(places) == 1 else None
