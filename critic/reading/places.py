"""Finds where the words that a rationale names are in a sentence, and what replaces them."""

from __future__ import annotations

import re

from revise_captions.critic.reading.wordings import NamedPair
from revise_captions.records import Fix, Span
from revise_captions.text.content_words import content_keys

_ARTICLES = frozenset(("a", "an", "the"))
_DETERMINERS = frozenset(("some", "any", "no", "his", "her", "its", "their", "this", "that"))
_ONE = frozenset(("a", "an", "one", "single", "another", "each", "every"))
_MANY = frozenset(
    "two three four five six seven eight nine ten eleven twelve several many some few".split()  # noqa: SIM905
)
#: No number, time or word may continue beside a place.
_BEFORE, _AFTER = r"(?<!\w)(?<!\w[’'])(?<!\d[.,:])", r"(?!\w)(?![.,:]\d)(?![’'](?!s\b)\w)"
#: Nor a compound, unless the words occur only there.
_HYPHEN_BEFORE, _HYPHEN_AFTER = r"(?<!\w-)", r"(?!-\w)"
_VERBS = {"is": "are", "was": "were", "has": "have"}
_OF_ONE = {many: one for one, many in _VERBS.items()}
#: Words that lead up to what is right, and are already in the sentence.
_PLACES = frozenset(("at", "in", "on", "of", "to", "by"))
_LEADS = _PLACES | frozenset(
    "across along through from for with into onto near next behind under above over".split()  # noqa: SIM905
)
#: How many words around a subject may contain its attribute.
_NEAR = 4


def fix_of(pair: NamedPair, sentence: str) -> Fix | None:
    """The fix for a pair of words; None if the sentence has no such place, or several.

    Args:
        pair: As the rationale names them.
        sentence: The sentence.

    Returns:
        Articles that the sentence has before the place stay, words around it are not inserted
        twice, and a verb beside it agrees in number. It is certain if the wording shows exactly
        where the right words begin and end, and neither their number nor kind affects the words
        around.
    """
    wrong, right = pair.wrong, pair.right
    if _first(wrong) in ("a", "an") and _first(right) == "the":
        rest = wrong.partition(" ")[2], right.partition(" ")[2]
        if all(rest) and rest[0].casefold() != rest[1].casefold():
            wrong, right = rest  # what is known to a rationale may be new in the sentence
    span = _only_place(wrong, sentence, pair.subject)
    if span is None and _first(wrong) in _ARTICLES:
        wrong = wrong.split(" ", 1)[1] if " " in wrong else ""
        span = _only_place(wrong, sentence, pair.subject) if wrong else None
    if span is None:
        return None
    right, certain = _fitted(right, span, sentence, pair)
    if not right or right.casefold() == span.of(sentence).casefold():
        return None
    span, right, agrees = _agreeing(span, right, sentence)
    basis = "named in quotes" if pair.quoted else "wrong and right words are named"
    return Fix(span, _cased(right, span, sentence), certain=certain and agrees, basis=basis)


def _first(words: str) -> str:
    return words.split(" ", 1)[0].casefold()


def _only_place(words: str, sentence: str, subject: str) -> Span | None:
    """Where the words are; of several places, the one nearest to their subject."""
    if not words:
        return None
    plain = _BEFORE + r"\s+".join(map(re.escape, words.split())) + _AFTER
    for pattern in (_HYPHEN_BEFORE + plain + _HYPHEN_AFTER, plain):
        places = [Span(*match.span()) for match in re.finditer(pattern, sentence, re.IGNORECASE)]
        if places:
            break
    if len(places) < 2:
        return places[0] if places else None
    nearest = sorted((_distance(place, subject, sentence), place) for place in places)
    if nearest[0][0] <= _NEAR and nearest[0][0] < nearest[1][0]:
        return nearest[0][1]
    return None


def _distance(place: Span, subject: str, sentence: str) -> int:
    """Words between a place and the nearest word of the subject."""
    far = len(sentence)
    for word in re.findall(r"\w+", subject):
        if word.casefold() in _ARTICLES:
            continue
        for match in re.finditer(rf"\b{re.escape(word)}\b", sentence, re.IGNORECASE):
            between = sentence[min(place.end, match.end()) : max(place.start, match.start())]
            far = min(far, len(between.split()))
    return far


def _fitted(right: str, span: Span, sentence: str, pair: NamedPair) -> tuple[str, bool]:
    """The right words without those already around the place, and whether their extent is
    certain."""
    inside = span.of(sentence).casefold().split()
    before, after = sentence[: span.start].split(), sentence[span.end :].split()
    words, certain = right.split(), pair.exact
    for size in range(min(3, len(words) - 1, len(before)), 0, -1):
        if _same(words[:size], before[-size:]) and not _same(words[:size], inside[:size]):
            words, certain = words[size:], True
            break
    for size in range(min(3, len(words) - 1, len(after)), 0, -1):
        if _same(words[-size:], after[:size]) and not _same(words[-size:], inside[-size:]):
            words = words[:-size]
            break
    words = _without_thing(words, inside, after)
    if inside[0] not in _LEADS and _led_up_to(words) and not _same(words[1:], inside):
        words = words[1:]
    shorter = len(words) < len(inside) and not (_counts(words) and _counts(inside))
    if shorter and pair.bare and not {word.casefold() for word in words} <= set(inside):
        certain = False  # the extent of "blue, not tall trees" is unclear
    if len(words) > 1 and _takes_no_article(words, inside, before, pair):
        words = words[1:]
    if not pair.exact and any(word.endswith(",") for word in words):
        certain = False  # "wooden, and behind, not in front of"
    if before and len(words) > len(inside) and not _same(words[-1:], inside[-1:]):
        certain = certain and not content_keys(before[-1])  # "a green balloon": "a pink tree"
    if len(words) > len(inside) + _NEAR and _says_again(words, [*before, *after]):
        certain = False  # "between the poles and the sun", for "above the sun"
    if not certain and len(words) != len(inside):
        starts = [k for k, word in enumerate(words) if word.casefold() == inside[0]]
        same = bool(starts) and inside[0] in _ARTICLES
        return " ".join(words[starts[-1] :] if same else words[-len(inside) :]), same
    alike = len(words) == len(inside) and not any(word.endswith(",") for word in words)
    return " ".join(words), certain or alike


def _says_again(words: list[str], others: list[str]) -> bool:
    one, other = ({word.casefold().strip(".,;:") for word in some} for some in (words, others))
    return any(len(word) > 2 for word in one & other - _ARTICLES)


def _led_up_to(words: list[str]) -> bool:
    """ "at 10:30", and not "at least ten"."""
    return (
        len(words) > 1
        and words[0].casefold() in _PLACES
        and words[1].casefold() not in ("least", "most")
    )


def _counts(words: list[str]) -> bool:
    return any(_number(word) is not None for word in words)


def _takes_no_article(
    words: list[str], inside: list[str], before: list[str], pair: NamedPair
) -> bool:
    """Whether the article of the right words belongs to the rationale, not to the sentence."""
    if inside[0] in _ARTICLES or words[0].casefold() not in _ARTICLES or _same(words[1:], inside):
        return False
    near = {word.casefold() for word in before[-3:]} & _ARTICLES
    near |= {word.casefold() for word in before[-1:]} & _DETERMINERS
    return words[0].casefold() == "the" or bool(near) or _first(pair.wrong) in _ARTICLES


def _without_thing(words: list[str], inside: list[str], after: list[str]) -> list[str]:
    """ "three flowers" as "three", if "red flowers" follow the place."""
    plain = [word.casefold().strip(".,;:") for word in (*words, *inside)]
    for k, word in enumerate(after[:_NEAR]):
        thing = word.casefold().strip(".,;:")
        if thing in plain[: len(words)] and thing not in _ARTICLES:
            shape = k and len(words) > 1 and len(words) != len(inside)
            if shape and thing == plain[len(words) - 1] and thing not in inside:
                words = words[:-1]
                while len(words) > 1 and words[-1].casefold() in _ARTICLES:
                    words = words[:-1]
            break
    return words


def _same(some: list[str], others: list[str]) -> bool:
    return [w.casefold().strip(".,;:") for w in some] == [
        w.casefold().strip(".,;:") for w in others
    ]


def _agreeing(span: Span, right: str, sentence: str) -> tuple[Span, str, bool]:
    """Includes the verb beside the place if the number changes; not certain if a noun would have
    to change too."""
    wrong = span.of(sentence)
    now, then = _number(wrong), _number(right)
    if now is None or then is None or now == then:
        return span, right, True
    if len(wrong.split()) == 1 or len(right.split()) == 1:
        return span, right, False
    forms = _VERBS if then else _OF_ONE
    before = re.search(r"\b(there )(is|are|was|were) $", sentence[: span.start], re.IGNORECASE)
    if before and before[2].casefold() in forms:
        return Span(before.start(2), span.end), f"{forms[before[2].casefold()]} {right}", True
    after = re.match(r" (is|are|was|were|has|have)\b", sentence[span.end :])
    if after and after[1] in forms and not sentence[: span.start].strip():
        return Span(span.start, span.end + after.end()), f"{right} {forms[after[1]]}", True
    return span, right, True


def _number(words: str) -> bool | None:
    """Whether a phrase is plural, by its first word; None if that does not show it."""
    first = _first(words)
    if first in _ONE or first == "1":
        return False
    return True if first in _MANY or first.isdigit() else None


def _cased(right: str, span: Span, sentence: str) -> str:
    """The right words, without a rationale's initial capital in the middle of a sentence."""
    wrong = span.of(sentence)
    if wrong[:1].islower() and re.match(r"[A-Z](?:[a-z]| )", right) and span.start:
        return right[0].lower() + right[1:] if not wrong.istitle() else right
    return right
