"""Moves clauses and phrases to the noun that they can be said of.

"A woman with long hair lying on the bed": parsers attach the nearest noun, though hair, shirts and
benches neither lie, hold nor look. Of the nouns on the way up from it, the first being is meant.
What a thing can do as well ("a vase with flowers standing on a table") stays where it is. "A man in
a red shirt with orange hair", "a boy in gray pants on a skateboard": so are hair and places his.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from revise_captions.graphs import words
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.words import listed

_NOUNS = ("NOUN", "PROPN")
#: So many nouns up a chain are asked.
_LONGEST = 4
#: And so many words back.
_REACH = 60
_WORN = words.CLOTHES | words.BODY
#: Where somebody is, not their clothes.
_PLACED = listed("at near next behind beside on in by")
#: What such a phrase is in, near or behind does nothing itself.
_AROUND = listed("at near behind beside in by")


def attach(found: Sequence[Node]) -> None:
    """Changes heads; needs `case`, not `children`."""
    for node in found:
        if node.head < 0:
            continue
        if node.role in (Role.PARTICIPLE, Role.RELATIVE):
            _clause(found, node)
        elif node.role is Role.OF_NOUN and node.case:
            _phrase(found, node)
        elif node.role is Role.PLACE and node.lemma in _WORN and node.case in (["in"], ["with"]):
            _dressed(found, node)


def _clause(found: Sequence[Node], node: Node) -> None:
    above = found[node.head]
    if node.tag == "VBG" and above.role is Role.CONJUNCT and found[above.head].pos in _NOUNS:
        above = found[above.head]  # "a mother and her son watching": both
        node.head = above.index
    between = found[max(0, node.index - _REACH) : node.index]
    asks = any(one.head == node.index and one.text in ("who", "whom") for one in between)
    acts = asks or (node.role is Role.PARTICIPLE and node.tag == "VBG")
    if not acts or above.pos not in _NOUNS or above.lemma in words.BEINGS:
        return
    does = node.lemma in words.DEEDS or above.case[:1] in ([case] for case in _AROUND)
    if does or above.lemma in words.BODY | words.CLOTHES:
        _move(found, node, above)


def _phrase(found: Sequence[Node], node: Node) -> None:
    """Clothes have no hair, and stand on nothing."""
    above = found[node.head]
    has = node.case == ["with"] and node.lemma in _WORN and above.lemma in _WORN
    placed = node.case[0] in _PLACED and node.lemma not in words.BODY
    if has or (placed and above.lemma in words.CLOTHES):
        _move(found, node, above)


def _dressed(found: Sequence[Node], node: Node) -> None:
    """ "A man walks next to a woman in a coat": the coat is hers."""
    first = min(node.marks, default=0)
    before = found[first - 1] if first else node
    being = before.lemma in words.BEINGS and before.pos in _NOUNS and before.head == node.head
    if being and before.role in (Role.PLACE, Role.OBJECT, Role.AGENT):
        node.head, node.role = before.index, Role.OF_NOUN


def _move(found: Sequence[Node], node: Node, above: Node) -> None:
    owner = next((one for one in _owners(found, above) if one.lemma in words.BEINGS), None)
    if owner is not None:
        node.head = owner.index


def _owners(found: Sequence[Node], node: Node) -> Iterator[Node]:
    """The nouns that a noun hangs on, upwards, and the subject of the verb that ends them."""
    for _ in range(_LONGEST):
        above = found[node.head]
        if node.head < 0:
            return
        if node.role in (Role.PLACE, Role.OBJECT) and above.pos == "VERB":
            if above.role not in (Role.PARTICIPLE, Role.RELATIVE):
                before = found[max(0, above.index - _REACH) : above.index]
                yield from (
                    one for one in before if one.head == above.index and one.role is Role.SUBJECT
                )
                return
            above = found[above.head]
        elif node.role not in (Role.OF_NOUN, Role.CONJUNCT) or above.pos not in _NOUNS:
            return
        yield above
        node = above
