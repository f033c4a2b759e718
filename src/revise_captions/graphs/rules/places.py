"""What is said of an object by where or how it is, where that is no object itself."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import accumulate

from revise_captions.graphs import words
from revise_captions.graphs.graph import AttributeKind
from revise_captions.graphs.inflect import gerund
from revise_captions.graphs.rules.draft import NOMINAL, GraphDraft, NounPhrase, Said
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.rules.subjects import bearer_of, conjuncts, refers
from revise_captions.graphs.words import listed
from revise_captions.records import Span


def is_side(draft: GraphDraft, node: Node) -> bool:
    """ "On the left of the picture", where "left of" is a preposition."""
    side = node.case[-1] == "of" and words.PLACES.intersection(node.case)
    return bool(side) and node.lemma in words.FRAMES and draft.thing_of(node.index) is None


#: Prepositions of places, times and states.
_WHERE = listed(
    "in on at under over above below behind beside inside outside through around across near "
    "during beneath underneath into onto along within"
)


def is_nowhere(draft: GraphDraft, node: Node) -> bool:
    """ "In mid-air", "at night", "above the scene": what follows the preposition is no object."""
    if node.pos not in NOMINAL or node.case[0] not in _WHERE or node.case[-1] == "of":
        return False
    if node.index in draft.places or node.index in draft.quoted:
        return False
    above = draft.nodes[node.head] if node.head >= 0 else node
    if above.lemma in words.LINKING and node.lemma in words.FRAMES:
        return False  # "looks at the viewer"
    claims = above.pos != "VERB" or above.lemma not in words.IDLE - words.LINKING
    colored = node.lemma in words.COLORS | words.HUES
    return claims and not colored and draft.thing_of(node.index) is None


def beyond(draft: GraphDraft, thing: NounPhrase) -> Iterator[Said]:
    """ "The skies above", "the people inside": a preposition with nothing after it."""
    for i in draft.nodes[thing.head].children:
        node = draft.nodes[i]
        if i == thing.head + 1 and node.role is Role.ADVERB and node.text in _ALONE:
            yield Said(thing.head, node.text, Span(node.start, node.end), AttributeKind.PLACE)


_ALONE = listed("above below behind beneath underneath inside outside overhead nearby")


def placed(draft: GraphDraft, node: Node) -> Iterator[Said]:
    """ "On the left side of the image", "in the corner": where in the picture something is."""
    inner = draft.places.get(node.index)
    if inner is not None and draft.nodes[inner].lemma not in words.FRAMES:
        return
    above = draft.nodes[node.head] if node.head >= 0 else None
    kinds = (Role.OF_NOUN, Role.PLACE, Role.PARTICIPLE, Role.RELATIVE, Role.CONJUNCT)
    source = bearer_of(draft, node) if node.copula or node.role in kinds else None
    if source is None or (draft.thing_of(source.index) is None and not refers(source)):
        return
    first, last = min([node.index, *node.marks]), node.index
    if is_side(draft, node):
        last = max(i for i in node.marks if draft.nodes[i].text in words.PLACES)
    if last - first > 5:
        return
    kept = draft.nodes[first : last + 1]
    value = " ".join(one.text for one in kept)
    span = Span(kept[0].start, kept[-1].end)
    if above is not None and first - 3 <= above.index < first and _acts(above):
        value, span = f"{doing(above)} {value}", Span(above.start, span.end)
    for one in conjuncts(draft, source):
        yield Said(one.index, value, span, AttributeKind.PLACE, node.negated)


def _acts(node: Node) -> bool:
    """Whether a verb says more of a place than that something is there."""
    return node.pos == "VERB" and node.lemma not in words.SHOWING | words.LINKING | words.IDLE


def doing(node: Node) -> str:
    """A verb as what follows "is": a participle as it stands, another form as the present one."""
    return node.text if node.tag in ("VBN", "VBG") else gerund(node.lemma)


#: So many words after a preposition may go by before its noun.
_LONGEST = 5
_SIDES = listed("left right")


def unsaid(draft: GraphDraft, spans: Sequence[Span]) -> Iterator[Said]:
    """Directions that neither an attribute nor a relation says, as the parser lost the way ("each
    number below the previous"): of the nearest thing before them in the sentence, or else after.

    Args:
        draft: With its things.
        spans: Where attributes and relations are said.
    """
    ordered = sorted(spans)
    ends = list(accumulate((span.end for span in ordered), max, initial=0))
    by_sentence: dict[int, list[int]] = {}
    for i in draft.things:
        by_sentence.setdefault(draft.nodes[i].sentence, []).append(i)
    for node in draft.nodes:
        if not _is_direction(draft, node):
            continue
        if ends[bisect_right(ordered, node.start, key=lambda span: span.start)] > node.start:
            continue
        first = node.index - (2 if node.text in _SIDES else node.text == "front")
        last = _noun_after(draft, node)
        things = by_sentence.get(node.sentence, [])
        before = [i for i in things if i < first]
        after = [i for i in things if i > last]
        if before or after:
            kept = draft.nodes[first : last + 1]
            span = Span(kept[0].start, kept[-1].end)
            value = " ".join(one.text for one in kept)
            bearer = max(before) if before else min(after)
            yield Said(bearer, value, span, AttributeKind.PLACE)


def _is_direction(draft: GraphDraft, node: Node) -> bool:
    if node.text in _ALONE - {"nearby", "overhead"}:
        return node.pos in ("ADP", "ADV", "SCONJ")
    before = [one.text for one in draft.nodes[max(0, node.index - 2) : node.index]]
    if node.text == "front":
        return before[-1:] == ["in"]
    return node.text in _SIDES and before in (["to", "the"], ["on", "the"])


def _noun_after(draft: GraphDraft, node: Node) -> int:
    """The noun that a preposition is followed by, or itself."""
    for one in draft.nodes[node.index + 1 : node.index + 1 + _LONGEST]:
        if one.pos in NOMINAL and one.role is not Role.COMPOUND:
            return one.index
        if one.pos in ("VERB", "AUX", "PUNCT"):
            break
    return node.index
