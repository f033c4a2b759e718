"""What changes with a fix: the words around a number, articles, and the forms of verbs.

It has [rose → fell].        It has fallen.         a participle behind "has"
It continues to [fall …].    It continues to grow.  a base form behind "to"
a steady [rise → fall]       a noun behind an article
an [increase → decrease]     a decrease
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from revise_captions.charts.claims.check import ClaimEdit
from revise_captions.charts.claims.mentions import Number
from revise_captions.charts.claims.vocabulary import ABOUT, NARROWLY, OVER, UNDER, verb_of
from revise_captions.records import Fix, Span

_ADVERBS = r"(?: (?:\w+ly|not|also|then|since|even|still|always|somewhat))*"
_PERFECT = re.compile(rf"\b(?:has|have|had|having){_ADVERBS} $", re.IGNORECASE)
_BASE = re.compile(
    rf"\b(?:to|will|would|could|can|may|might|should|did|does|do|not){_ADVERBS} $", re.IGNORECASE
)
#: "to growth" may be right behind these: "due to growth", "from decline to growth".
_NOUN_TO = re.compile(r"\b(?:due|from \w+|owing|thanks|attributed|prior) to $", re.IGNORECASE)
_NOUN = re.compile(
    r"\b(?:an?|the|its|their|this|that|any|some|no|of|in|with|by|further|annual|overall|general)"
    r"(?: (?!to\b|and\b|or\b)[\w-]+){0,2} $",
    re.IGNORECASE,
)
_ARTICLE = re.compile(r"\b(?P<article>[Aa]n?) $")
#: Words that begin with a vowel's sound, or do not, against their letter.
_AN, _A = (
    re.compile(r"(?:hour|honest|heir|8|11\b|18\b|[FHLMNRSX](?=[A-Z]))"),
    re.compile(r"(?:uni(?!n|m)|us[ae]|eu|one\b|once\b|U[A-Z])"),
)
#: Marks of a list, which no sentence's capital counts by.
_OPENING = re.compile(r"^[\s\"'“‘(*_]*$")


def with_fixes(sentence: str, fixes: Sequence[Fix]) -> str:
    """The sentence with all fixes put in, from right to left.

    Args:
        sentence: What the spans are of.
        fixes: Without overlaps, in any order.

    Returns:
        The new text: articles, verbs and the capital at its beginning agree with what was put in,
        and where something was removed, no double space is left. "" if nothing is left.
    """
    for fix in sorted(fixes, key=lambda fix: fix.span, reverse=True):
        before, after = sentence[: fix.span.start], sentence[fix.span.end :]
        sentence = _put_in(before, fix.right, after) if fix.right else _without(before, after)
    return sentence


def _put_in(before: str, right: str, after: str) -> str:
    right = _formed(before, right)
    article = _ARTICLE.search(before)
    if article:
        before = before[: article.start()] + _article(article["article"], right) + " "
    if _OPENING.match(before) and right[:1].islower():
        right = right[0].upper() + right[1:]
    return before + right + after


def _without(before: str, after: str) -> str:
    """Both sides of what is gone, one space between them."""
    follows = after.lstrip(" ")
    if not before.strip():
        return before + follows[:1].upper() + follows[1:] if follows.strip() else ""
    head = before.rstrip(" ")
    if head.endswith("\n"):
        return head + follows
    article = re.search(r"\b(?P<article>[Aa]n?)$", head)
    if article and follows:
        return f"{head[: article.start()]}{_article(article['article'], follows)} {follows}"
    return head + (after if re.match(r"[\s.,;:!?)]|$", after) else f" {after}")


def _article(said: str, word: str) -> str:
    """ "a" or "an" as the word wants it, with the capital that was there."""
    vowel = bool(_AN.match(word)) or (word[:1].lower() in "aeiou" and not _A.match(word))
    return said[0] + ("n" if vowel else "")


def _formed(before: str, right: str) -> str:
    """A form of a verb of direction as what is before it asks for; other words as they are."""
    verb = verb_of(right)
    if verb is None:
        return right
    if right in (verb.past, verb.participle) and _PERFECT.search(before):
        return verb.participle
    if right in (verb.base, verb.noun):
        if _BASE.search(before) and not _NOUN_TO.search(before):
            return verb.base
        if verb.noun and _NOUN.search(before):
            return verb.noun
    return right


#: Signs and hedges before a number that what is put in its place replaces.
_CURRENCY = re.compile(r"(?:(?:US|A|C)?[$]|[€£])\s?$")
_MINUS = re.compile(r"(?<![\w.,)])[-−–]{1,2}$")
_HEDGED = re.compile(
    rf"\b(?P<all>(?:(?:{NARROWLY}) )?(?:(?P<about>{ABOUT})|{OVER}|{UNDER})"
    r"(?: or equal to)?) (?:the )?$",
    re.IGNORECASE,
)
_OR_MORE = re.compile(r" or (?:more|less|fewer)\b")
#: What a bound before a number is replaced by: "dropping [below 4 → to 9]".
_PLACED = re.compile(r"\b(?:above|below|over|under|up to)$", re.IGNORECASE)
_MOVES = re.compile(
    r"\b(?:drop|f[ae]ll|ris|rose|climb|declin|decreas|increas|gr[eo]w|dip|jump)\w* $",
    re.IGNORECASE,
)
_STARTS = re.compile(
    r"\b(?:starts?|started|starting|begins?|began|ends?|ended|remain\w*|stay\w*)"
    r"(?: off| out)? $",
    re.IGNORECASE,
)
_AMOUNTS = re.compile(
    r"\b(?:rate|value|share|level|count|total|figure|height|number|percentage|score|price)s? $",
    re.IGNORECASE,
)


def number_edit(sentence: str, one: Number, right: str) -> ClaimEdit:
    """Another number in the place of one, with the words around it that no longer hold.

    Args:
        sentence: Where the number stands.
        one: The number.
        right: The other, with "about " before it where it was measured.

    Returns:
        An edit that takes in a bound before the number ("over 40" becomes "47") and "or more"
        behind it, and puts "about" before a currency's sign; "about 40" stays hedged.
    """
    start, end = one.start, one.digits_end
    hedge, digits = ("about ", right[6:]) if right.startswith("about ") else ("", right)
    if not one.said[:1].isdigit():  # in words, or "half (48%)"
        end = one.end + one.said.endswith(")")
        start, digits = end - len(one.said), digits + one.unit
    before = sentence[:start]
    for sign in (_MINUS, _CURRENCY):
        found = sign.search(before)
        if found and (sign is _CURRENCY or digits.startswith("-")):
            digits = found[0] + digits if sign is _CURRENCY else digits
            start, before = found.start(), before[: found.start()]
    words = _HEDGED.search(before)
    if words and words["about"] and not words["all"].lower().startswith(("just", "slightly")):
        hedge = ""  # it stands there already
    elif words:
        start = words.start()
        hedge = _link(before[:start], words["all"]) + hedge
    behind = _OR_MORE.match(sentence, one.end)
    if behind:
        digits, end = digits + sentence[end : one.end], behind.end()
    return ClaimEdit(Span(start, end), hedge + digits)


def _link(before: str, bound: str) -> str:
    """What joins a number whose "below" is gone to what is before it: "to", "at", "of"."""
    if not _PLACED.search(bound):
        return ""
    if _MOVES.search(before):
        return "to "
    if _STARTS.search(before):
        return "at "
    return "of " if _AMOUNTS.search(before) else ""
