"""Repairs clauses whose verb looks like a noun, or whose subject the parser put elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from revise_captions.graphs import lexicon
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.words import BEINGS, FRAMES, SHOWING, listed

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
    """ "A hook forms the bottom", "stripes curve around the corner", "a bird surges": a noun with
    an object, or one that agrees with the noun before it as only a verb does, is a verb.
    """
    before = _noun_before(found, node)
    if before is None:
        return
    lemma = lexicon.verb_of(node.text, node.lemma)
    if not lemma or lexicon.is_one(before.text, node.lemma):
        return
    below = _near(found, node)
    if before.role is Role.COMPOUND:
        verbal = _acts(node, before, below) or _agrees(found, node, before)
    else:
        verbal = _predicates(found, node, before)
    top = _top(found, node) if verbal and node.role in _BELOW and node.plural else node
    if not verbal or top is None:
        return
    for one in below:
        if one.index < before.index:
            one.head = before.index
        elif one.role is Role.OF_NOUN:
            one.role = Role.PLACE
    _raise(found, node, before, top)
    node.pos, node.tag, node.lemma, node.copula = "VERB", "", lemma, False


def _noun_before(found: Sequence[Node], node: Node) -> Node | None:
    """The noun that hangs on the one after it as its compound or subject, adverbs apart."""
    for before in reversed(found[: node.index]):
        if before.head != node.index:
            return None
        if before.role in (Role.COMPOUND, *_SUBJECTS):
            return before
        if before.pos != "ADV":
            return None
    return None


def _acts(node: Node, before: Node, below: Sequence[Node]) -> bool:
    """A known verb with an object, or in the singular after a plural."""
    known = lexicon.verb_forms().get(node.text)
    if known is None:
        return False
    acts = any(one.role is Role.OBJECT and one.index > node.index for one in below)
    single = any(one.text in ("a", "an") for one in below)
    return acts or (_is_plural(before) and not single and known == node.text)


def _agrees(found: Sequence[Node], node: Node, before: Node) -> bool:
    """ "A bird surges", "the musician smiles", "the image features": an "-s" after a singular, with
    an article of the singular, after who does such things, or after the picture.
    """
    if _is_plural(before) or not node.plural or node.role is Role.COMPOUND:
        return False
    known = node.text in lexicon.verb_forms()
    if before.text in FRAMES:
        return known and lexicon.verb_forms()[node.text] in SHOWING
    told = [one for one in _near(found, node) if one.index < before.index]
    one = any(one.text in _SINGULAR for one in told)
    several = any(one.role is Role.NUMBER or one.text in _SEVERAL for one in told)
    if one:
        return not several and (known or not lexicon.is_object(node.lemma))
    free = node.role in (Role.ROOT, Role.CLAUSE, Role.RELATIVE) or _second(found, node) is not None
    agent = node.lemma.endswith(("er", "or"))  # "the dog owners"
    verbal = (known or not agent) and not lexicon.is_object(node.lemma)
    return free and verbal and before.lemma in BEINGS


def _second(found: Sequence[Node], node: Node) -> Node | None:
    """Another subject after this one: "the bird surges forward, its head low" has two clauses."""
    if node.role not in _SUBJECTS:
        return None
    beside = _near(found, found[node.head])
    return next((o for o in beside if o.role in _SUBJECTS and o.index > node.index), None)


_SINGULAR = listed("a an each every another")
_SEVERAL = listed("few dozen hundred couple many")


def _predicates(found: Sequence[Node], node: Node, subject: Node) -> bool:
    """ "The dog lunges", "two girls dance": what has a subject without "is" and agrees with it."""
    if node.copula or subject.pos not in (*_NOUNS, "PRON") or node.role in _SUBJECTS:
        return False
    told = any(one.role is Role.DETERMINER for one in _near(found, subject))
    if lexicon.is_object(node.lemma) and not (told and node.plural):
        return False
    return _is_plural(subject) != node.plural


def _is_plural(node: Node) -> bool:
    return node.plural and node.lemma != node.text and node.text not in _BEFORE_NOUNS


#: Where a verb cannot be, and the noun before it may.
_BELOW = (Role.OBJECT, Role.OF_NOUN, Role.PLACE)


def _top(found: Sequence[Node], node: Node) -> Node | None:
    """The noun of the whole sentence that a noun is in a place or an object of, if one is."""
    for _ in range(4):
        if node.role not in (*_BELOW, Role.PARTICIPLE) or node.head > node.index:
            break
        node = found[node.head]
    return node if node.role is Role.ROOT and node.pos in _NOUNS and not node.copula else None


def _raise(found: Sequence[Node], verb: Node, before: Node, top: Node) -> None:
    """Puts a verb where its clause hangs, and its subject and its object below it."""
    above = found[verb.head] if verb.head >= 0 else verb
    before.role = Role.SUBJECT
    if top is not verb:  # "a man in a uniform jumps": the man does
        before.role, before.head = verb.role, verb.head
        verb.role, verb.head = Role.ROOT, -1
        for one in _near(found, top):
            if one.index > verb.index:
                one.head = verb.index
        top.role, top.head = Role.SUBJECT, verb.index
    elif verb.role in _SUBJECTS and above.pos in _NOUNS and not above.copula:
        # "the image features a plate"
        verb.role, verb.head = above.role, above.head
        above.role, above.head = Role.OBJECT, verb.index
    elif (second := _second(found, verb)) is not None:
        for one in _near(found, above):
            if one.index < second.index and one is not verb:
                one.head = verb.index
        verb.role, verb.head = above.role, above.head
        above.role, above.head = Role.CLAUSE, verb.index


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
