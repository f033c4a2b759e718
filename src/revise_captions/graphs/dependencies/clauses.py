"""Repairs clauses whose verb looks like a noun, or whose subject the parser put elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from revise_captions.graphs import lexicon
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.words import listed

_NOUNS = ("NOUN", "PROPN")
_SUBJECTS = (Role.SUBJECT, Role.PASSIVE_SUBJECT)
#: Plural forms that stand before a noun: "a sports field", "a glasses case".
_BEFORE_NOUNS = listed("sports glasses goods arms woods games clothes jeans")
#: So far from a verb are the words that hang on it.
_REACH = 60


def repair_clauses(found: Sequence[Node]) -> None:
    """Changes roles, heads and parts of speech; `children` and `case` are not filled yet."""
    for node in found:
        if node.pos in _NOUNS:
            _verb(found, node)
            _fronted(found, node)
            if node.role is Role.COMPOUND:
                _subject(found, node)
        elif node.pos == "VERB" and node.role is Role.CONJUNCT:
            _coordinate(found, node)


def _near(found: Sequence[Node], node: Node) -> list[Node]:
    """What hangs on a node."""
    around = found[max(0, node.index - _REACH) : node.index + _REACH]
    return [one for one in around if one.head == node.index]


def _verb(found: Sequence[Node], node: Node) -> None:
    """ "A hook forms the bottom", "stripes curve around the corner": a noun with an object, or one
    in the singular after a plural, is a verb.
    """
    before = found[node.index - 1] if node.index else node
    if before.head != node.index or before.role is not Role.COMPOUND:
        return
    lemma = lexicon.verb_forms().get(node.text)
    if lemma is None or lexicon.is_one(before.text, node.lemma):
        return
    below = _near(found, node)
    acts = any(one.role is Role.OBJECT and one.index > node.index for one in below)
    single = any(one.text in ("a", "an") for one in below)
    plural = before.plural and before.lemma != before.text and before.text not in _BEFORE_NOUNS
    if acts or (plural and not single and lemma == node.text):
        for one in below:
            if one.index < before.index:
                one.head = before.index
            elif one.role is Role.OF_NOUN:
                one.role = Role.PLACE
        before.role, node.pos, node.tag, node.lemma = Role.SUBJECT, "VERB", "", lemma
        node.copula = False


def _subject(found: Sequence[Node], node: Node) -> None:
    """ "Two stuffed elands stand": what stands before a verb like a noun before a noun."""
    verb = found[node.head]
    if verb.pos != "VERB" or verb.index != node.index + 1 or verb.role is Role.ADJECTIVE:
        return
    if not any(one.role in _SUBJECTS for one in _near(found, verb)):
        node.role = Role.SUBJECT


def _fronted(found: Sequence[Node], node: Node) -> None:
    """ "Behind the skeleton, a brush grows": a place in the sentence, not its head."""
    if node.role is not Role.ROOT or node.copula:
        return
    below = _near(found, node)
    if not any(one.role is Role.CASE and one.index < node.index for one in below):
        return
    for verb in below:
        clause = verb.role in (Role.CONJUNCT, Role.CLAUSE) and verb.pos == "VERB"
        if clause and any(one.role in _SUBJECTS for one in _near(found, verb)):
            verb.role, verb.head = Role.ROOT, -1
            node.role, node.head = Role.PLACE, verb.index
            return


def _coordinate(found: Sequence[Node], verb: Node) -> None:
    """ "Three appear above, and a doorway appears below": the noun that was joined to another one
    before a verb without a subject is that.
    """
    noun = found[verb.index - 1]
    if noun.role is not Role.CONJUNCT or noun.pos not in _NOUNS or verb.tag in ("VBG", "VBN"):
        return
    if any(one.role in _SUBJECTS for one in _near(found, verb)):
        return
    if any(one.pos == "CCONJ" for one in _near(found, noun)):
        noun.role, noun.head = Role.SUBJECT, verb.index
