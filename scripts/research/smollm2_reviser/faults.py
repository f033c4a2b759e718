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
    Vocabulary,
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
_BESIDE = frozenset({"with", "beside", "behind", "near", "by"})


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
    """

    kind: str
    start: int
    end: int
    right: str
    wrong: str
    thing: str = ""
    many: bool = False


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


def count_vocabulary(docs: Iterable[Doc]) -> Vocabulary:
    """Words of the open classes, each said at least three times."""
    counts: dict[str, Counter[str]] = {key: Counter() for key in Vocabulary.__slots__}
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
    return Vocabulary(
        *(
            tuple(sorted(word for word, count in counts[key].items() if count >= 3))
            for key in Vocabulary.__slots__
        )
    )


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


def replacements(doc: Doc, words: Vocabulary, rng: random.Random) -> list[Fault]:
    """One fault for every place of a sentence where something else could stand, in order."""
    found = [*_of_tokens(doc, words, rng), *_relations(doc), *_texts(doc, rng)]
    found.sort(key=lambda fault: (fault.start, -fault.end))
    result: list[Fault] = []
    for fault in found:
        if fault.wrong and (not result or fault.start >= result[-1].end):
            result.append(fault)
    return result


def _of_tokens(doc: Doc, words: Vocabulary, rng: random.Random) -> Iterator[Fault]:
    for token in doc:
        word, start = token.text, token.idx
        end = start + len(word)
        if is_thing(token):
            many = is_many(token)
            pool = words.plurals if many else words.nouns
            named = name(token)
            begin = end - len(named)
            yield Fault("object", begin, end, named, _other(named, pool, rng), named, many)
        elif word in OF_WORD and token.pos_ in ("ADJ", "NUM", "NOUN") and token.dep_ != "compound":
            kind = OF_WORD[word]
            subject = _described(token)
            if subject is None and kind in ("count", "size", "state", "shape"):
                continue
            wrong = _other(word, _candidates(kind, doc), rng)
            if kind == "count" and "one" in (word, wrong):
                continue
            yield _about(Fault(kind, start, end, word, wrong), subject)
        elif _is_quality(token):
            yield _about(
                Fault("adjective", start, end, word, _other(word, words.adjectives, rng)),
                token.head,
            )
        elif _is_action(token):
            has_object = any(child.dep_ == "obj" for child in token.children)
            pool = words.doing if has_object else words.acting
            fault = Fault("action", start, end, word, _other(word, pool, rng))
            yield _about(fault, _actor(token))


def _candidates(kind: str, doc: Doc) -> tuple[str, ...]:
    said = {token.text for token in doc}
    return tuple(word for word in CLASSES[kind] if word not in said)


def _other(word: str, pool: tuple[str, ...], rng: random.Random) -> str:
    for _ in range(8):
        if pool and (other := rng.choice(pool)) != word and other not in word:
            return other
    return ""


def _about(fault: Fault, subject: Token | None) -> Fault:
    if subject is None or subject.pos_ != "NOUN":
        return fault
    return replace(fault, thing=name(subject), many=is_many(subject))


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
        yield Fault("relation", match.start(), match.end(), right, RELATIONS[right], landmark)


def _texts(doc: Doc, rng: random.Random) -> Iterator[Fault]:
    for match in _QUOTED.finditer(doc.text):
        right = match.group(1)
        yield Fault("text", match.start(1), match.end(1), right, sign(right, rng))


def additions(doc: Doc, words: Vocabulary, rng: random.Random) -> list[Fault]:
    """Things and details that nothing supports, added to a true sentence."""
    text, found = doc.text, []
    if not text.endswith(".") or text.endswith(".."):
        return []
    noun, last = rng.choice(words.nouns), len(text) - 1
    color = rng.choice(CLASSES["color"])
    named = f"{color} {noun}" if rng.random() < 0.4 else noun
    tail = rng.choice(
        (" with a {}", ", with a {} nearby", " and a {}", " next to a {}", " beside a {}",
         ", and there is a {} in the background", ", near a {}", " behind a {}",
         ", while a {} stands behind", ", with a {} visible in the distance")
    )  # fmt: skip
    found.append(Fault("phrase", last, last, "", articled(tail.format(named)), noun))
    for token in doc:
        if not is_thing(token):
            continue
        start = token.idx + len(token.text) - len(name(token))
        described = any(child.dep_ in ("amod", "nummod") for child in token.children)
        if not described and start > 0:
            kind = rng.choice(("color", "material", "state", "pattern", "adjective"))
            pool = words.adjectives if kind == "adjective" else CLASSES[kind]
            wrong = rng.choice(pool)
            if wrong not in text:
                found.append(
                    Fault("detail", start, start, "", wrong + " ", name(token), is_many(token))
                )
    return found


def removals(doc: Doc) -> list[Fault]:
    """Phrases and details of a sentence that can go and leave a sentence."""
    found = []
    for token in doc:
        if token.dep_ == "amod" and token.pos_ == "ADJ" and token.head.i == token.i + 1:
            following = doc[token.i + 1]
            if is_thing(following):
                start, end = token.idx, following.idx
                fault = Fault("detail", start, end, "", doc.text[start:end])
                found.append(_about(fault, following))
        elif token.dep_ in ("nmod", "obl") and is_thing(token) and (span := _phrase(doc, token)):
            found.append(Fault("phrase", *span, "", doc.text[slice(*span)], name(token)))
        elif token.dep_ == "conj" and is_thing(token) and (span := _phrase(doc, token)):
            head = token.head
            lone = sum(child.dep_ == "conj" for child in head.children) == 1
            if lone and is_thing(head) and head.dep_ != "nsubj":
                found.append(Fault("phrase", *span, "", doc.text[slice(*span)], name(token)))
    return found


def _phrase(doc: Doc, token: Token) -> tuple[int, int] | None:
    """The span of a prepositional or joined phrase at a boundary, with the space before it."""
    subtree = sorted(token.subtree, key=lambda part: part.i)
    first, last = subtree[0], subtree[-1]
    if last.i - first.i + 1 != len(subtree) or first.i == 0 or last.i + 1 >= len(doc):
        return None
    following = doc[last.i + 1].text
    joined = token.dep_ == "conj"
    if following not in (".", ",") or (following == "," and joined):
        return None
    if first.text not in ({"and"} if joined else _BESIDE) or len(subtree) > 8:
        return None
    end = last.idx + len(last.text)
    start = doc[first.i - 1].idx + len(doc[first.i - 1].text)
    return start, end


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
