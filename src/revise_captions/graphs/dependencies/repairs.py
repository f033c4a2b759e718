"""Repairs what parsers trained on letters and news get wrong in captions.

Each repair starts from a structure that no English sentence needs: a subject with a preposition, a
verb with an article.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from revise_captions.graphs import words
from revise_captions.graphs.dependencies.clauses import repair_clauses
from revise_captions.graphs.lexicon import is_one
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.words import listed

_NOUN_LIKE = (Role.SUBJECT, Role.PASSIVE_SUBJECT, Role.OBJECT, Role.OF_NOUN, Role.PLACE)
_BEFORE_NOUNS = (Role.DETERMINER, Role.ADJECTIVE, Role.NUMBER, Role.COMPOUND, Role.OWNER)


def repair(found: list[Node]) -> None:
    """Changes roles, heads and parts of speech; `children` and `case` are not filled yet."""
    _hyphenated(found)
    _counts(found)
    _adjectives(found)
    _nouns(found)
    repair_clauses(found)
    _rows(found)
    _inverted(found)
    _next_to(found)


def _hyphenated(found: Sequence[Node]) -> None:
    """ "Two wing-backed chairs stand": what looks like a verb there is a quality."""
    for node in found:
        if node.pos != "VERB" or "-" not in node.text:
            continue
        end = node.index + 1
        while end < len(found) and found[end].pos == "ADJ":
            end += 1
        if end == len(found) or found[end].pos != "NOUN" or found[end].head != node.index:
            continue
        noun, top = found[end], found[end]
        verbs = (one for one in found[end : end + _REACH] if one.head == node.index)
        verb = next((one for one in verbs if one.role is Role.COMPLEMENT), None)
        if verb is not None:
            top, noun.head, noun.role = verb, verb.index, Role.SUBJECT
        top.head, top.role = node.head, node.role
        for one in found[max(0, node.index - _REACH) : node.index + _REACH]:
            if one.head == node.index and one is not top and one.text not in node.text:
                one.head = noun.index if one.index < noun.index else top.index
        node.head, node.role, node.pos = noun.index, Role.ADJECTIVE, "ADJ"


#: So far from a word are those that hang on it.
_REACH = 60


def _counts(found: Sequence[Node]) -> None:
    """ "Two wing-backed chairs", "four animal paw prints": the noun's number, not its quality's."""
    for node in found:
        above = found[node.head] if node.head > node.index else node
        noun = found[above.head] if above.head > above.index else node
        if node.pos != "NUM" or noun.pos not in ("NOUN", "PROPN"):
            continue
        apart = above.role is Role.COMPOUND and noun.plural and above.index > node.index + 1
        if above.role is Role.ADJECTIVE or apart:
            node.head, node.role = noun.index, Role.NUMBER


def _adjectives(found: Sequence[Node]) -> None:
    """Qualities that the tagger took for nouns before a noun are adjectives."""
    for node, after in pairwise(found):
        if node.role is not Role.COMPOUND or node.pos not in ("NOUN", "PROPN", "X", "ADJ"):
            continue
        shade = node.text in words.SHADES and after.text in words.COLORS
        if shade or node.text in words.ADJECTIVES or node.text in words.COLORS:
            node.role, node.pos = Role.ADJECTIVE, "ADJ"


def _nouns(found: Sequence[Node]) -> None:
    """A "verb" in a noun's place with an article or an adjective ("with long fronds") is a noun."""
    before = {node.head for node in found if node.role in _BEFORE_NOUNS and node.index < node.head}
    for node in found:
        if node.pos == "VERB" and node.role in _NOUN_LIKE and node.index in before:
            node.pos, node.tag = "NOUN", ""
            node.plural = node.text.endswith("s") and not node.text.endswith("ss")
            node.lemma = node.text[:-1] if node.plural else node.text


def _rows(found: Sequence[Node]) -> None:
    """ "Thick, fluffy white and gray cumulus clouds": all qualities before a noun are the noun's,
    not each other's or those of a noun before it.
    """
    for noun in found:
        if noun.pos not in ("NOUN", "PROPN") or noun.role is Role.COMPOUND:
            continue
        first = _row(found, noun.index)
        above = found[noun.head] if noun.head >= 0 else noun
        if noun.role is Role.CONJUNCT and first <= above.index < noun.index and _quality(above):
            noun.head, noun.role = above.head, above.role
            above.head, above.role = noun.index, Role.ADJECTIVE
            for node in found[max(0, first - _REACH) : noun.index + _REACH]:
                if node.head == above.index and not first <= node.index < noun.index:
                    node.head = noun.index
        for node in found[first : noun.index]:
            if not first <= node.head < noun.index or not _quality(node):
                continue
            below = found[node.head]
            if below.role is not Role.COMPOUND or not is_one(node.text, below.lemma):
                node.head, node.role = noun.index, Role.ADJECTIVE


def _quality(node: Node) -> bool:
    kinds = (Role.ADJECTIVE, Role.CONJUNCT, Role.COMPOUND)
    if node.pos == "VERB":
        return node.role is Role.ADJECTIVE
    return not node.copula and (
        node.role is Role.ADJECTIVE
        or (node.pos == "ADJ" and (node.role in kinds or node.text in words.COLORS))
    )


def _row(found: Sequence[Node], end: int) -> int:
    """The first node of the row of qualities and nouns right before a noun."""
    first = end
    while first > 0:
        node = found[first - 1]
        joint = node.text in (",", "and") or (node.pos == "PUNCT" and node.role is Role.OTHER)
        if joint:
            before = first - 2 - (first > 2 and found[first - 2].text == ",")
            if before < 0 or not (_quality(found[first]) and _quality(found[before])):
                return first
            first = before + 1
        elif not _quality(node) and node.role is not Role.COMPOUND:
            return first
        first -= 1
    return first


#: Verbs whose subject may follow them: "on the wall hangs a picture".
_SITUATED = listed("hang sit stand lie lay rest appear rise grow float lean loom perch")


def _inverted(found: Sequence[Node]) -> None:
    """ "Above the wall is a bank", "flanking the door are two lamps": what follows is there."""
    below: list[list[Node]] = [[] for _ in found]
    for node in found:
        if node.head >= 0:
            below[node.head].append(node)
    for node in found:
        if node.copula and node.pos in ("NOUN", "PROPN"):
            _swap(found, node, below)
        elif node.lemma in _SITUATED and node.pos == "VERB":
            _behind(node, below)


def _behind(node: Node, below: Sequence[Sequence[Node]]) -> None:
    """ "On the wall hangs a picture": the "object" of such a verb after a place is its subject."""
    before = [one for one in below[node.index] if one.index < node.index]
    loose = [one for one in before if one.pos == "ADP"]
    for one in before:
        if one.role is not Role.SUBJECT:
            continue
        for case in loose:
            if case.index < one.index:
                case.role, case.head = Role.CASE, one.index
        if loose or any(c.role is Role.CASE for c in below[one.index]):
            one.role = Role.PLACE
    if any(one.role in (Role.SUBJECT, Role.EXPLETIVE) for one in below[node.index]):
        return
    if any(one.role is Role.PLACE for one in before):
        for one in below[node.index]:
            if one.role is Role.OBJECT and one.index > node.index:
                one.role = Role.SUBJECT


def _swap(found: Sequence[Node], node: Node, below: Sequence[Sequence[Node]]) -> None:
    """A predicate noun whose "subject" has a preposition, or is a participle, is what is there."""
    subject = next((one for one in below[node.index] if one.role is Role.SUBJECT), None)
    if subject is None:
        _there(node, below[node.index])
    if subject is None or subject.index > node.index:
        return
    cases = [one for one in below[node.index] if one.role is Role.CASE or one.pos == "ADP"]
    cases = [one for one in cases if one.index < subject.index]
    own = any(one.role is Role.CASE and one.text != "'s" for one in below[subject.index])
    participle = subject.pos == "VERB" and subject.tag in ("VBG", "VBN", "")
    if not (cases or own or participle):
        return
    for one in cases:
        one.head, one.role = subject.index, Role.CASE
    subject.role = Role.PARTICIPLE if participle else Role.OF_NOUN
    node.copula = False
    for one in below[node.index]:
        if one.role is Role.COPULA:
            one.role = Role.OTHER


def _there(node: Node, below: Sequence[Node]) -> None:
    """ "To the right of the horse are houses": no predicate, but what is there."""
    be = next((one.index for one in below if one.role is Role.COPULA), -1)
    places = [one for one in below if one.role is Role.PLACE and one.index < be]
    if places and be < node.index:
        node.copula = False
        for one in places:
            one.role = Role.OF_NOUN


_NEAR = frozenset(("next", "close", "adjacent"))


def _next_to(found: Sequence[Node]) -> None:
    """ "Next to the road": one preposition, whatever "next" hangs on."""
    for near, to in pairwise(found):
        if near.text not in _NEAR or to.text != "to" or to.head < 0:
            continue
        noun = found[to.head]
        if noun.index <= to.index or (near.role is Role.CASE and near.head == noun.index):
            continue
        if noun.pos == "VERB":
            noun.pos, noun.lemma = "NOUN", noun.text
        if noun.head == near.index or near.head == noun.index:
            noun.head, noun.role, noun.copula = near.head, near.role, near.copula or noun.copula
            if noun.head == noun.index or noun.head == near.index:
                noun.head = -1
        if noun.head >= 0 and noun.role is not Role.CONJUNCT:
            nominal = found[noun.head].pos in ("NOUN", "PROPN") and not found[noun.head].copula
            noun.role = Role.OF_NOUN if nominal else Role.PLACE
        for other in found:
            if other.head == near.index and other.index not in (noun.index, to.index):
                other.head = noun.index
        near.role, near.head, near.copula = Role.CASE, noun.index, False
        to.role, to.head = Role.CASE, noun.index
