"""The clauses of a sentence that could stand alone, or be removed.

    The dog is brown, and it is asleep.      The dog is brown. / It is asleep.
    There is a dog, a cat and a ball.        one clause, with a list

Uses rules on words, not a parse: a part without a verb of its own belongs to the clause before it.
Known verbs are those of short descriptions; a clause with any other verb is not split off. Neither
is a part that could not stand alone: without a subject ("and sits on a mat"), subordinate, or with
half a pair of brackets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from revise_captions.records import Span
from revise_captions.text.content_words import words
from revise_captions.text.sentences import split

#: Version of these rules and of their use in critic, reviser and guards; part of the signature.
VERSION = "clauses/4"
#: Characters; anything longer is not a sentence of a few clauses.
_LONGEST = 1000
#: What is behind a determiner or "to" is no finite verb ("a fly"), "can" only one before another.
_VERBS = (
    r"(?<!\bto )\b(?:(?:is|are|was|were|has|have)\b"
    r"|(?<!\b[Aa] )(?<!\b[Aa]n )(?<!\b[Tt]he )(?<!\bits )(?<!\bhis )(?<!\bher )(?<!\btheir )"
    r"(?:stands?|sits?|flies|fly|jumps?|leaps?|waves?|sleeps?|holds?|"
    r"carries|carry|wears?|shows?|depicts?|contains?|includes?|reads|says|appears?|exists?|lies|lie|"
    r"rests?|grows?|floats?|hangs?|shines?|"
    r"can(?:not)? (?:\w+ly |also |not )?(?:be|see|fly|find|make|sit|stand|hold))\b)"
)
_VERB = re.compile(_VERBS)
_JOINT = re.compile(r",\s+(?:(?:and|but|while)\s+)?|\s+(?:and|but|while)\s+")
_DESCRIBED = re.compile(r"\b(?:wearing|with|in|holding|carrying)\b")
#: One thing that a plural verb shows not to be the whole subject: "a ball are visible".
_ONE_OF_SEVERAL = re.compile(r"(?:an?|one|another) (?:\w+ )+(?:are|were|have|can)\b")
_PRONOUN = re.compile(r"(?:it|he|she|they|there|this|that)\b")
_BACK = re.compile(
    r"\b(?:he|she|it|they|him|her|hers|them|his|its|their|both|other)\b", re.IGNORECASE
)
#: A quotation, markup, or a subordinate clause.
_WHOLE = re.compile(
    r"[\"“”„‘«»‹›「」『』（）<>|]|(?<!\w)'|\b(?:and|but|or|while),"
    r"|\b(?:who|whom|which|that|whose|where|if|not true|although|though|because|since|unless|until"
    r"|when|whenever|whereas|whether|why|how|either|neither|not only)\b"
    r"|^\W*(?:as|while|after|before|once)\b",
    re.IGNORECASE,
)
#: What has no subject of its own, or depends on what is before it.
_CONTINUES = re.compile(
    r"\W|(?:(?:also|now|then|still|not|\w+ly) )*"
    r"(?:(?:and|but|or|nor|yet|so|as|while|after|before|like|than|with|without|including|plus)\b"
    rf"|(?!\w*thing\b)\w+ing\b(?! {_VERBS})|{_VERBS})",
    re.IGNORECASE,
)
_DANGLES = re.compile(r"(?:[,;:&/\-–—…(\[{]|\.\.|\b(?:and|but|or|while|an?|the))$")
_EMPHASIS = re.compile(r"\*+|_+|`+|~+")
_MARKS = " .!?;:…"
_JOINTS = frozenset(("and", "but", "while"))


@dataclass(frozen=True, slots=True)
class SpokenPart:
    """A clause.

    Attributes:
        span: In code points of the sentence, without conjunctions and commas around it.
        text: The clause as a sentence of its own.
    """

    span: Span
    text: str


def clauses(sentence: str) -> tuple[SpokenPart, ...]:
    """The clauses of a sentence in order, two or more; () if it has only one.

    A sentence with a quotation, markup, or a subordinate clause is not split.
    """
    if len(sentence) > _LONGEST or _WHOLE.search(sentence):
        return ()
    body = sentence.rstrip(_MARKS)
    cuts = [(0, 0), *(joint.span() for joint in _JOINT.finditer(body)), (len(body), len(body))]
    found: list[Span] = []
    for k, ((_, start), (end, _)) in enumerate(pairwise(cuts)):
        begins = _VERB.search(body, start, end) or _goes_on(body, cuts[k : k + 3])
        begins = begins and not _CONTINUES.match(body, start, end)
        if found and not (begins and _VERB.search(found[-1].of(body))):
            found[-1] = Span(found[-1].start, end)
        else:
            found.append(Span(start, end))
    if len(found) < 2 or not all(_stands(span.of(body)) for span in found):
        return ()
    return tuple(SpokenPart(span, as_sentence(span.of(body))) for span in found)


def _stands(text: str) -> bool:
    """Whether a clause has a verb, and nothing of it is half a pair or half a list."""
    pairs = all(text.count(one) == text.count(other) for one, other in ("()", "[]", "{}"))
    runs = Counter(_EMPHASIS.findall(text)).values()
    whole = pairs and all(count % 2 == 0 for count in runs) and not _DANGLES.search(text)
    return whole and _VERB.search(text) is not None


def _goes_on(body: str, joints: Sequence[tuple[int, int]]) -> bool:
    """Whether what stands between two joints is the beginning of a subject, whose end and verb
    stand behind the second: ", a boy wearing a shirt and a hat is jumping", ", a cat and a dog are
    asleep"."""
    if len(joints) < 3:
        return False
    (start, first), (second, then), (end, _) = joints
    described = _DESCRIBED.search(body, first, second) and not _PRONOUN.match(body, then)
    return (
        "," in body[start:first]
        and body[second:then].strip() == "and"
        and bool(described or _ONE_OF_SEVERAL.match(body, then, end))
        and bool(_VERB.search(body, then, end))
    )


def with_clauses(sentence: str, put: Mapping[Span, str]) -> str:
    """The sentence with other sentences in the places of its clauses.

    Args:
        sentence: What the places are of.
        put: What goes into which place, "" to take the clause out; a place that is no clause of the
            sentence is passed over.

    Returns:
        The new sentence; "" where all clauses went. The others stay to the character as they were,
        but for the capital at the beginning, and so does what joined them; the last one is joined
        as the last one was.
    """
    parts = clauses(sentence)
    said = {part.span: part.span.of(sentence) for part in parts}
    for place in put.keys() & said.keys():
        said[place] = _fitted(put[place].rstrip(_MARKS), said[place], first=place.start == 0)
    left = [(k, text) for k, text in enumerate(said.values()) if text]
    if not left:
        return "" if parts else sentence
    joints = [sentence[one.span.end : other.span.start] for one, other in pairwise(parts)]
    between = [joints[k - 1] for k, _ in left[1:]]
    if between and left[-1][0] < len(joints) and between[-1].strip() == ",":
        between[-1] = joints[-1]
    first, text = left[0]
    if first and not sentence[0].islower():
        text = f"{text[0].upper()}{text[1:]}"
    text += "".join(joint + own for joint, (_, own) in zip(between, left[1:], strict=True))
    end = sentence[parts[-1].span.end :]
    return (text.rstrip(".") if end.startswith(".") else text) + end


def in_place_of(sentence: str, gone: Collection[Span], text: str) -> tuple[str, str] | None:
    """What the clauses in places of a sentence said, and what a rewrite says instead of them.

    Args:
        sentence: What the places are of.
        gone: The places.
        text: The rewrite.

    Returns:
        Both, "" where the rewrite says nothing instead; None if it does anything else to the
        sentence. Only words are compared.
    """
    was: list[str] = []
    now: list[str] = []
    rest, open_ = words(text), False
    for part in clauses(sentence):
        if part.span in gone:
            was.append(part.text)
            open_ = True
            continue
        own = words(part.text)
        starts = (k for k in range(len(rest)) if rest[k : k + len(own)] == own)
        start = next(starts, None)
        if start is None or not (open_ or _JOINTS.issuperset(rest[:start])):
            return None
        now += rest[:start]
        rest, open_ = rest[start + len(own) :], False
    if rest and not open_:
        return None
    now += rest
    return " ".join(was), "" if _JOINTS.issuperset(now) else " ".join(now)


def refers_back(text: str) -> bool:
    """Whether the first sentence of a text may refer to something that was named before it.

    Its "it" would be taken for what is newly said before it, and is left alone where that goes.
    """
    found = split(text)
    return bool(found) and _BACK.search(found[0].of(text)) is not None


def _fitted(text: str, was: str, *, first: bool) -> str:
    """What goes into a clause's place, without a sentence's capital where the clause had none; a
    name that the clause has keeps its own, and words all in capitals theirs."""
    word = text.partition(" ")[0]
    named = word in was.split() or (len(word) > 1 and word.isupper())
    if named or (first and not was[0].islower()):
        return text
    return text[:1].lower() + text[1:]


def as_sentence(text: str) -> str:
    """A clause as a sentence of its own."""
    return f"{text[:1].upper()}{text[1:]}{'' if text.endswith('.') else '.'}"
