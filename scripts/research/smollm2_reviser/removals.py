"""What can go from a sentence, what nothing supports and can be added, and what is miscounted."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from scripts.research.smollm2_reviser.faults import (
    Fault,
    about,
    articled,
    is_many,
    is_thing,
    name,
    put,
)
from scripts.research.smollm2_reviser.words import CLASSES, EditWords

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_BESIDE = frozenset({"with", "beside", "behind", "near", "by"})
_NOUN_PHRASE = frozenset({"DET", "ADJ", "NUM", "NOUN", "PROPN", "ADV"})
_ITEM = 6
_CLAUSE = 16
_TAILS = (
    " with {}", ", with {} nearby", " and {}", " next to {}", " beside {}",
    ", and there {is} {} in the background", ", near {}", " behind {}",
    ", while {} can be seen behind", ", with {} visible in the distance", ", along with {}",
    ", as well as {}", ", and {} can be seen nearby", ", holding {}", ", surrounded by {}",
)  # fmt: skip
_NUMBERS = ("two", "three", "four", "five", "six")
_AGREES = {"is": "are", "was": "were", "has": "have", "does": "do"}
_PLURALS = {"man": "men", "woman": "women", "child": "children", "person": "people"}


def additions(doc: Doc, words: EditWords, rng: random.Random) -> list[Fault]:
    """Things and details that nothing supports, added to a true sentence."""
    text, found = doc.text, []
    if not text.endswith(".") or text.endswith(".."):
        return []
    many, last = rng.random() < 0.4, len(text) - 1
    noun = rng.choice(words.plurals if many else words.nouns)
    before = [rng.choice(("some", "several", "two", "a few"))] if many else ["a"]
    before += [rng.choice(CLASSES["color"])] if rng.random() < 0.4 else []
    tail = rng.choice(_TAILS).replace("{is}", "are" if many else "is")
    added = articled(tail.format(" ".join([*before, noun])))
    found.append(Fault("phrase", last, last, "", added, noun, many))
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
    """Phrases, details, items of lists and clauses that can go and leave a sentence."""
    return [*_details(doc), *_items(doc), *_clauses(doc)]


def _details(doc: Doc) -> Iterator[Fault]:
    for token in doc:
        if token.dep_ == "amod" and token.pos_ == "ADJ" and token.head.i == token.i + 1:
            following = doc[token.i + 1]
            if is_thing(following):
                start, end = token.idx, following.idx
                fault = Fault("detail", start, end, "", doc.text[start:end])
                yield about(fault, following)
        elif token.dep_ in ("nmod", "obl") and is_thing(token) and (span := _phrase(doc, token)):
            wrong = doc.text[slice(*span)]
            yield Fault("phrase", *span, "", wrong, name(token), is_many(token))
        elif token.dep_ == "conj" and is_thing(token) and (span := _phrase(doc, token)):
            head = token.head
            lone = sum(child.dep_ == "conj" for child in head.children) == 1
            if lone and is_thing(head) and head.dep_ != "nsubj":
                wrong = doc.text[slice(*span)]
                yield Fault("phrase", *span, "", wrong, name(token), is_many(token))


def _phrase(doc: Doc, token: Token) -> tuple[int, int] | None:
    """The span of a prepositional or joined phrase at a boundary, with the space before it."""
    subtree = sorted(token.subtree, key=lambda part: part.i)
    first, last = subtree[0], subtree[-1]
    if last.i - first.i + 1 != len(subtree) or first.i == 0 or last.i + 1 >= len(doc):
        return None
    joined, following = token.dep_ == "conj", doc[last.i + 1]
    inner = token.dep_ == "nmod" and following.pos_ in ("AUX", "VERB")
    if not inner and (following.text not in (".", ",") or (following.text == "," and joined)):
        return None
    if first.text not in ({"and"} if joined else _BESIDE) or len(subtree) > 8:
        return None
    end = last.idx + len(last.text)
    start = doc[first.i - 1].idx + len(doc[first.i - 1].text)
    return start, end


def _items(doc: Doc) -> Iterator[Fault]:
    """Each item of "two girls, an orange cat, and a house", with the list that is left."""
    for token in doc:
        if token.dep_ != "cc" or token.text not in ("and", "or"):
            continue
        items = _listed(doc, token.i)
        start, end = items[0].start_char, items[-1].end_char
        if len(items) < 3 or items[0].root.dep_.startswith("nsubj"):
            continue
        comma = "," if doc[token.i - 1].text == "," else ""
        for gone in items:
            left = [item.text for item in items if item is not gone]
            last = f"{comma if len(left) > 2 else ''} {token.text} {left[-1]}"
            thing = gone[-1]
            yield Fault(
                "phrase", start, end, ", ".join(left[:-1]) + last, gone.text, name(thing),
                is_many(thing),
            )  # fmt: skip


def _listed(doc: Doc, joint: int) -> list[Span]:
    """The noun phrases of the list whose last item follows the token `joint`; one if it is none."""

    def phrase(first: int, last: int) -> Span | None:
        span = doc[first:last]
        fits = 0 < len(span) <= _ITEM and all(token.pos_ in _NOUN_PHRASE for token in span)
        return span if fits and is_thing(span[-1]) else None

    after = joint + 1
    while after < len(doc) and doc[after].pos_ in _NOUN_PHRASE:
        after += 1
    items = [doc[joint + 1 : after]]
    if phrase(joint + 1, after) is None or after >= len(doc) or doc[after].text != ".":
        return [doc[joint : joint + 1]]
    at = joint - 1 if doc[joint - 1].text == "," else joint
    while at > 0:
        first = at
        while first > 0 and doc[first - 1].pos_ in _NOUN_PHRASE:
            first -= 1
        found = phrase(first, at)
        if found is None:
            return [doc[joint : joint + 1]]
        items.insert(0, found)
        if first == 0 or doc[first - 1].text != ",":
            return items
        at = first - 1
    return items


def _clauses(doc: Doc) -> Iterator[Fault]:
    """Clauses at the end that say more: ", creating a cozy atmosphere", " wearing a hat"."""
    for token in doc:
        acl = token.dep_.startswith("acl")
        if not (acl or token.dep_ == "advcl") or token.pos_ != "VERB":
            continue
        subtree = sorted(token.subtree, key=lambda part: part.i)
        first, last = subtree[0], subtree[-1]
        if first.text == "," and len(subtree) > 1:
            first = subtree[1]
        before = doc[first.i - 1] if first.i else None
        if before is None or last.i + 2 < len(doc) or not doc.text.endswith("."):
            continue
        if last.text == ".":
            last = doc[last.i - 1]
        participle = first.i == token.i and token.text.endswith(("ing", "ed"))
        comma = before.text == ","
        if not (comma or (acl and participle)) or last.i - first.i >= _CLAUSE:
            continue
        if not participle and first.text not in ("which", "who", "that"):
            continue
        start = before.idx if comma else before.idx + len(before.text)
        end = last.idx + len(last.text)
        fault = Fault("clause", start, end, "", doc.text[first.idx : end])
        yield about(fault, token.head) if acl else fault


def recount(doc: Doc, rng: random.Random) -> tuple[str, str, Fault] | None:
    """A sentence with one of a thing, and with several of it: broken, right and the fault."""
    for token in doc:
        thing = token.head
        if (
            token.text.lower() not in ("a", "an") or not is_thing(thing) or is_many(thing)
            or not 1 <= thing.i - token.i <= 3 or name(thing) != thing.text
        ):  # fmt: skip
            continue
        edits = _agreeing(thing)
        if edits is None:
            continue
        number = rng.choice(_NUMBERS)
        big = token.i == 0
        several, one = (number.capitalize(), "One") if big else (number, "one")
        span = (token.idx, token.idx + len(token.text))
        noun = (thing.idx, thing.idx + len(thing.text), plural(thing.text))
        many = put(doc.text, [(*span, several), noun, *edits])
        if rng.random() < 0.5:
            return many, put(doc.text, [(*span, one)]), Fault("count", *span, "one", number,
                                                              thing.text, False)  # fmt: skip
        return doc.text, many, Fault("count", *span, number, "one", noun[2], True)
    return None


def _agreeing(thing: Token) -> list[tuple[int, int, str]] | None:
    """Edits of the verbs that agree with a noun; None where they are not understood."""
    if any(token.text in ("its", "it", "his", "her", "itself") for token in thing.doc):
        return None
    if any(child.dep_ in ("conj", "acl:relcl") for child in thing.children):
        return None
    if not thing.dep_.startswith("nsubj"):
        return []
    head = thing.head
    verbs = [t for t in (head, *head.children) if t.text in _AGREES and t.i != thing.i]
    if not verbs and not head.text.endswith("ing"):
        return None
    return [(verb.idx, verb.idx + len(verb.text), _AGREES[verb.text]) for verb in verbs]


def plural(noun: str) -> str:
    """The plural of an English noun."""
    if noun in _PLURALS:
        return _PLURALS[noun]
    if re.search(r"(?:s|x|z|ch|sh)$", noun):
        return f"{noun}es"
    return re.sub(r"([^aeiou])y$", r"\1ie", noun) + "s"
