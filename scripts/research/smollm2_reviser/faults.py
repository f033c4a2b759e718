"""Where a true sentence can be broken, and what of it can go.

A fault is one edit: `wrong` stands in the sentence where the image shows `right`. With `right`
empty, the phrase is nowhere in the image and the rewrite leaves it out.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from scripts.research.smollm2_reviser.words import (
    CLASSES,
    OF_WORD,
    RELATIONS,
    EditWords,
    sign,
)

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

_RELATION = re.compile(
    r"\b(?:" + "|".join(sorted(map(re.escape, RELATIONS), key=len, reverse=True)) + r")\b"
)
_QUOTED = re.compile(r"[\"“]([^\"“”]{1,40})[\"”]")
_NO_THING = frozenset(
    "image picture photo photograph shot side part top bottom left right center middle front back "
    "view background foreground edge area corner end piece kind type row pair set group lot one "
    "angle frame scene".split()
)
_OPEN = ("nouns", "plurals", "adjectives", "acting", "doing")


@dataclass(frozen=True, slots=True)
class Fault:
    """One edit of a sentence.

    Attributes:
        kind: A class of `words.CLASSES`, `adjective`, `object`, `relation`, `text`, `action`,
            `phrase` (goes whole) or `detail` (an adjective that goes).
        start, end: Where `right` stands in the true sentence, half open; empty where it is added.
        right: What is true; "" where nothing takes the place.
        wrong: What stands there in the broken sentence.
        thing: The thing it is about, as the sentence calls it; "" if unknown.
        many: Whether that is plural.
        frame: What is said of it, with {} in its place: "the man is holding {}"; "" if unknown.
    """

    kind: str
    start: int
    end: int
    right: str
    wrong: str
    thing: str = ""
    many: bool = False
    frame: str = ""


def name(token: Token) -> str:
    """A noun with what is joined to its left: "parking meter"."""
    first = token.i
    while (
        first > 0
        and token.doc[first - 1].dep_ == "compound"
        and (token.doc[first - 1].head.i in range(first, token.i + 1))
    ):
        first -= 1
    return str(token.doc[first : token.i + 1].text)


def is_thing(token: Token) -> bool:
    """Whether a token names something that can be seen."""
    from revise_captions.graphs.lexicon import is_depictable

    return (
        token.pos_ == "NOUN"
        and token.text.isalpha()
        and token.text.islower()
        and token.lemma_ not in _NO_THING
        and token.dep_ != "compound"
        and bool(is_depictable(token.lemma_))
    )


def is_many(token: Token) -> bool:
    return token.lemma_ != token.text.lower() and token.text.endswith("s")


def count_words(docs: Iterable[Doc]) -> EditWords:
    """Words of the open classes, each said at least three times."""
    counts: dict[str, Counter[str]] = {key: Counter() for key in _OPEN}
    for doc in docs:
        for token in doc:
            word = token.text.lower()
            if is_thing(token):
                counts["plurals" if is_many(token) else "nouns"][word] += 1
            elif _is_quality(token):
                counts["adjectives"][word] += 1
            elif _is_action(token):
                has_object = any(child.dep_ == "obj" for child in token.children)
                counts["doing" if has_object else "acting"][word] += 1
    nouns, plurals, adjectives, acting, doing = (
        tuple(sorted(word for word, count in counts[key].items() if count >= 3)) for key in _OPEN
    )
    return EditWords(nouns, plurals, adjectives, acting, doing)


def _is_quality(token: Token) -> bool:
    return (
        token.pos_ == "ADJ"
        and token.dep_ == "amod"
        and token.text.isalpha()
        and token.text.islower()
        and token.text not in OF_WORD
        and token.text not in RELATIONS
        and len(token.text) > 3
    )


def _is_action(token: Token) -> bool:
    return token.pos_ == "VERB" and token.text.endswith("ing") and token.text.islower()


def replacements(doc: Doc, words: EditWords, rng: random.Random) -> list[Fault]:
    """One fault for every place of a sentence where something else could stand, in order."""
    found = [*_of_tokens(doc, words, rng), *_relations(doc), *_texts(doc, rng)]
    found.sort(key=lambda fault: (fault.start, -fault.end))
    result: list[Fault] = []
    for fault in found:
        if fault.wrong and (not result or fault.start >= result[-1].end):
            result.append(fault)
    return result


def _of_tokens(doc: Doc, words: EditWords, rng: random.Random) -> Iterator[Fault]:
    for token in doc:
        word, start = token.text, token.idx
        end = start + len(word)
        if is_thing(token):
            many = is_many(token)
            pool = words.plurals if many else words.nouns
            named = name(token)
            begin = end - len(named)
            wrong = _other(named, pool, rng)
            yield Fault("object", begin, end, named, wrong, named, many, _frame(token))
        elif word in OF_WORD and token.pos_ in ("ADJ", "NUM", "NOUN") and token.dep_ != "compound":
            kind = OF_WORD[word]
            subject = _described(token)
            if subject is None and kind in ("count", "size", "state", "shape"):
                continue
            wrong = _other(word, _candidates(kind, doc), rng)
            if kind == "count" and "one" in (word, wrong):
                continue
            yield about(Fault(kind, start, end, word, wrong), subject)
        elif _is_quality(token):
            yield about(
                Fault("adjective", start, end, word, _other(word, words.adjectives, rng)),
                token.head,
            )
        elif _is_action(token):
            has_object = any(child.dep_ == "obj" for child in token.children)
            pool = words.doing if has_object else words.acting
            fault = Fault("action", start, end, word, _other(word, pool, rng))
            yield about(fault, _actor(token))


def _frame(token: Token) -> str:
    """A clause about a noun's place in the sentence: "the cat is on the {}"."""
    head = token.head
    be = "are" if is_many(head) else "is"
    if token.dep_ == "obj" and _is_action(head) and (actor := _actor(head)) is not None:
        return f"the {name(actor)} {'are' if is_many(actor) else 'is'} {head.text} {{}}"
    cases = [child.text for child in token.children if child.dep_ == "case"]
    if token.dep_ == "nmod" and len(cases) == 1 and cases != ["of"] and is_thing(head):
        return f"the {name(head)} {be} {cases[0]} {{}}"
    if token.dep_ == "obl" and len(cases) == 1 and (actor := _actor(head)) is not None:
        return f"the {name(actor)} {'are' if is_many(actor) else 'is'} {cases[0]} {{}}"
    return ""


def _candidates(kind: str, doc: Doc) -> tuple[str, ...]:
    said = {token.text for token in doc}
    return tuple(word for word in CLASSES[kind] if word not in said)


def _other(word: str, pool: tuple[str, ...], rng: random.Random) -> str:
    for _ in range(8):
        if pool and (other := rng.choice(pool)) != word and other not in word:
            return other
    return ""


def about(fault: Fault, subject: Token | None) -> Fault:
    if subject is None or subject.pos_ != "NOUN":
        return fault
    called = name(subject)
    if subject.i == 0 and subject.pos_ == "NOUN":
        called = called[:1].lower() + called[1:]
    return replace(fault, thing=called, many=is_many(subject))


def _described(token: Token) -> Token | None:
    """The noun that an adjective or a number is about."""
    if token.dep_ in ("amod", "nummod") and token.head.pos_ == "NOUN":
        return token.head
    subjects = [child for child in token.children if child.dep_ == "nsubj"]
    if subjects and subjects[0].pos_ == "NOUN":
        return subjects[0]
    return None


def _actor(token: Token) -> Token | None:
    if token.dep_ == "acl" and token.head.pos_ == "NOUN":
        return token.head
    subjects = [child for child in token.children if child.dep_.startswith("nsubj")]
    return subjects[0] if subjects and subjects[0].pos_ == "NOUN" else None


def _relations(doc: Doc) -> Iterator[Fault]:
    for match in _RELATION.finditer(doc.text):
        after = [token for token in doc if token.idx >= match.end()][:5]
        landmark = next((name(token) for token in after if token.pos_ == "NOUN"), "")
        right = match.group()
        if right.split()[-1] in _NO_THING:
            landmark = ""
        yield Fault("relation", match.start(), match.end(), right, RELATIONS[right], landmark)


def _texts(doc: Doc, rng: random.Random) -> Iterator[Fault]:
    for match in _QUOTED.finditer(doc.text):
        right = match.group(1)
        yield Fault("text", match.start(1), match.end(1), right, sign(right, rng))


_ARTICLE = re.compile(r"\b([Aa])n? (?=([A-Za-z]))")


def articled(text: str) -> str:
    """Corrects "a" and "an" by the next letter."""
    return _ARTICLE.sub(lambda m: m[1] + ("n " if m[2].lower() in "aeiou" else " "), text)


def put(text: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """`text` with each (start, end, new) replaced; an article right before one is corrected."""
    result, at = "", 0
    for start, end, new in sorted(edits):
        result += text[at:start]
        following = new or text[end:]
        article = re.search(r"\b([Aa])n? $", result)
        if article and following[:1].isalpha():
            vowel = "n " if following[0].lower() in "aeiou" else " "
            result = result[: article.start()] + article[1] + vowel
        result += new
        at = end
    return result + text[at:]


def one_or_many(noun: str, many: bool) -> str:
    """A noun with its article where it is one, as a rationale calls it: "a dog", "dogs"."""
    return noun if many else articled(f"a {noun}")


def capital(text: str) -> str:
    """`text` with a capital first letter."""
    return text[:1].upper() + text[1:]
