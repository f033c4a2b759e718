"""The third pass: what is said of one object alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from revise_captions.graphs import words
from revise_captions.graphs.graph import AttributeKind
from revise_captions.graphs.rules.draft import NOMINAL, SUBJECTS, GraphDraft, NounPhrase, Said
from revise_captions.graphs.rules.places import beyond, doing, is_nowhere, is_side, placed
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.rules.subjects import conjuncts, refers, subject_of
from revise_captions.graphs.words import listed
from revise_captions.records import Span

_DULL = listed("other same own such certain only main overall very able")


def attributes(draft: GraphDraft) -> Iterator[Said]:
    """Every attribute, in the order of the words that say it, as far as nodes go."""
    for thing in draft.things.values():
        yield from _of_noun(draft, thing)
        yield from beyond(draft, thing)
    for node in draft.nodes:
        yield from _of_predicate(draft, node)


def _of_noun(draft: GraphDraft, thing: NounPhrase) -> Iterator[Said]:
    """Adjectives, numbers, quantifiers and qualifying nouns of a noun phrase."""
    heads = [draft.nodes[thing.head]]
    for group, inner in draft.stand_in.items():
        if inner == thing.head:
            yield from _group(draft, thing, draft.nodes[group])
            heads.append(draft.nodes[group])
    for i in thing.modifiers:
        node = draft.nodes[i]
        first = draft.nodes[i - 1] if _makes_a_kind(draft, node, thing.head) else node
        value = draft.text[first.start : node.end].lower()
        yield Said(thing.head, value, Span(first.start, node.end))
    for head in heads:
        for i in head.children:
            node = draft.nodes[i]
            after = draft.nodes[i + 1] if i + 1 < head.index else node
            if after.index in thing.modifiers and _makes_a_kind(draft, after, head.index):
                continue
            if node.role is Role.ADJECTIVE and i not in thing.parts:
                for one in conjuncts(draft, node):
                    yield from _adjective(draft, thing.head, one)
            elif node.role is Role.NUMBER and node.index < head.index:
                yield from _number(thing.head, node)
            elif node.role is Role.DETERMINER and node.text in words.QUANTITIES - words.NO_COUNT:
                yield Said(thing.head, node.text, Span(node.start, node.end), AttributeKind.COUNT)


def _makes_a_kind(draft: GraphDraft, node: Node, noun: int) -> bool:
    """ "Long sleeve shirt", "double decker bus": two words are one quality."""
    first = draft.nodes[node.index - 1]
    kinds = (Role.ADJECTIVE, Role.COMPOUND, Role.NUMBER)
    return node.text in words.KINDS and first.role in kinds and first.head in (node.index, noun)


def _group(draft: GraphDraft, thing: NounPhrase, group: Node) -> Iterator[Said]:
    if group.text in words.NO_COUNT or group.pos not in NOMINAL:
        if group.text in words.NUMBERS:
            yield from _number(thing.head, group)
        return
    if group.lemma in ("couple", "pair"):
        yield Said(thing.head, "2", Span(group.start, group.end), AttributeKind.COUNT)
    elif group.lemma not in ("number", "kind", "type", "sort", "plenty", "lot"):
        end = max(
            [group.end, *(draft.nodes[i].end for i in group.children if i == group.index + 1)]
        )
        value = f"{group.text} of" if group.lemma in ("group",) else group.text
        yield Said(thing.head, value, Span(group.start, end), AttributeKind.COUNT)


def _number(thing: int, node: Node) -> Iterator[Said]:
    value = words.NUMBERS.get(node.text, node.text)
    if value != "1":
        yield Said(thing, value, Span(node.start, node.end), AttributeKind.COUNT)


def _adjective(
    draft: GraphDraft, thing: int, node: Node, *, denied: bool = False
) -> Iterator[Said]:
    """One quality, with the adverbs and shades right before it ("partly cloudy", "dark green")."""
    if node.text in _DULL or node.text in words.FRAMES or node.pos in ("PUNCT", "DET"):
        return
    if node.text in words.QUANTITIES:
        if node.text not in words.NO_COUNT:
            yield Said(thing, node.text, Span(node.start, node.end), AttributeKind.COUNT)
        return
    if node.text in words.SHADES and _next_is_color(draft, node):
        return
    start = node.index
    while start > 0 and _goes_with(draft, draft.nodes[start - 1], node):
        start -= 1
    value = " ".join(draft.nodes[i].text for i in range(start, node.index + 1))
    span = Span(draft.nodes[start].start, node.end)
    yield Said(thing, value, span, denied=denied or node.negated)


def _next_is_color(draft: GraphDraft, node: Node) -> bool:
    after = draft.nodes[node.index + 1] if node.index + 1 < len(draft.nodes) else None
    return after is not None and after.text in words.COLORS


def _goes_with(draft: GraphDraft, before: Node, node: Node) -> bool:
    if before.text in words.SHADES and node.text in words.COLORS:
        return True
    if before.role is not Role.ADVERB or before.head != node.index or before.text == "only":
        return False
    return before.text.endswith("ly") or before.text in words.DEGREES


def _of_predicate(draft: GraphDraft, node: Node) -> Iterator[Said]:
    """Predicate adjectives and nouns, participles and verbs that stand alone, painted colors."""
    if node.role is Role.CONJUNCT and node.head >= 0 and not node.copula:
        first = draft.nodes[node.head]
        predicate = first.copula or first.role in (Role.PARTICIPLE, Role.COMPLEMENT)
        if node.pos == "ADJ" and predicate and first.pos in ("ADJ", "VERB", "NOUN"):
            yield from _said_of_subject(draft, node)
        elif node.pos == "VERB":
            yield from _alone(draft, node)
        return
    if node.pos == "ADJ" and (
        node.copula
        or node.role in (Role.COMPLEMENT, Role.PARTICIPLE, Role.RELATIVE)
        or (node.role in (Role.ROOT, Role.CLAUSE) and _has_subject(draft, node))
    ):
        yield from _said_of_subject(draft, node)
    elif node.pos in NOMINAL and node.copula and not node.case and node.index not in draft.things:
        yield from _noun_predicate(draft, node)
    elif node.lemma in words.COLORS and node.role is Role.COMPLEMENT:
        yield from _said_of_subject(draft, node)
    elif node.pos in ("VERB", "AUX"):
        yield from _alone(draft, node)
        yield from _colored(draft, node)
    if node.pos in NOMINAL and node.lemma in words.HUES:
        yield from _hues(draft, node)
    elif node.pos in NOMINAL and node.lemma in words.COLORS:
        yield from _blue_of(draft, node)
    elif node.case and (
        node.lemma in words.PLACES or is_side(draft, node) or is_nowhere(draft, node)
    ):
        yield from placed(draft, node)


def _has_subject(draft: GraphDraft, node: Node) -> bool:
    return any(draft.nodes[i].role in SUBJECTS for i in node.children)


def _said_of_subject(draft: GraphDraft, node: Node) -> Iterator[Said]:
    subject = subject_of(draft, node)
    if subject is None or (draft.thing_of(subject.index) is None and not refers(subject)):
        return
    above = draft.nodes[node.head] if node.head >= 0 else node
    denied = node.negated or (node.role in (Role.COMPLEMENT, Role.CONJUNCT) and above.negated)
    yield from _adjective(draft, subject.index, node, denied=denied)
    for i in node.children:
        if draft.nodes[i].role is Role.ADJECTIVE and i < node.index:
            yield from _adjective(draft, subject.index, draft.nodes[i], denied=denied)


def _noun_predicate(draft: GraphDraft, node: Node) -> Iterator[Said]:
    """ "The top is a deep brown": the noun and its adjectives are the subject's."""
    subject = subject_of(draft, node)
    if subject is None or draft.thing_of(subject.index) is None:
        return
    denied = node.negated
    if node.lemma in words.COLORS:
        yield from _adjective(draft, subject.index, node, denied=denied)
    elif node.lemma not in words.HUES and node.lemma not in words.NO_OBJECTS:
        yield Said(subject.index, node.text, Span(node.start, node.end), denied=denied)
    for i in node.children:
        if draft.nodes[i].role is Role.ADJECTIVE:
            for one in conjuncts(draft, draft.nodes[i]):
                yield from _adjective(draft, subject.index, one, denied=denied)


_UPRIGHT = listed("tall proud")
#: What may follow a verb and needs a partner of its own.
_PARTNERS = (Role.OBJECT, Role.AGENT, Role.PLACE, Role.COMPLEMENT)


def _alone(draft: GraphDraft, node: Node) -> Iterator[Said]:
    """A participle or verb with nothing but its subject: "two bicycles parked", "a man smiling";
    or with something that is not an object: "looking at the viewer".
    """
    if node.lemma in ("stand", "rise", "tower"):
        yield from _upright(draft, node)
    children = [draft.nodes[i] for i in node.children]
    turned = any(c.index > node.index and c.text in words.DIRECTIONS for c in children)
    idle = node.lemma in words.IDLE | words.SHOWING | words.LINKING | {"be", "have", "do"}
    if idle and not (turned and node.lemma == "look"):
        return
    partners = [c for c in children if c.role in _PARTNERS and c.case != ["in", "color"]]
    if partners and not all(_is_framing(draft, c) and c.index > node.index for c in partners):
        return
    if (
        node.role in (Role.PARTICIPLE, Role.RELATIVE, Role.ROOT, Role.CONJUNCT, Role.COMPLEMENT)
        or node.tag in ("VBN", "VBG")
    ):  # fmt: skip
        subject = subject_of(draft, node)
    else:
        return
    if subject is None or (draft.thing_of(subject.index) is None and not refers(subject)):
        return
    if subject.index == node.index:
        return
    if partners:
        last = partners[-1].index + 1
        if last - node.index < 7:
            rest = [n.text for n in draft.nodes[node.index + 1 : last]]
            value = " ".join([doing(node), *rest])
            span = Span(node.start, draft.nodes[last - 1].end)
            yield Said(subject.index, value, span, AttributeKind.PLACE, node.negated)
        return
    said = [c for c in children if c.role is Role.PARTICLE or _is_manner(c)]
    particle = [c for c in said if c.index > node.index]
    value = " ".join([node.text, *(c.text for c in particle)])
    end = max([node.end, *(c.end for c in particle)])
    yield Said(subject.index, value, Span(node.start, end), denied=node.negated)


def _upright(draft: GraphDraft, node: Node) -> Iterator[Said]:
    """ "Trees stand tall": a quality of what stands."""
    subject = subject_of(draft, node)
    for i in node.children:
        said = draft.nodes[i]
        if said.text in _UPRIGHT and i == node.index + 1 and subject is not None:
            yield Said(subject.index, said.text, Span(said.start, said.end), denied=node.negated)


def _is_manner(node: Node) -> bool:
    adverb = node.role is Role.ADVERB and node.text.endswith("ly")
    return node.text in words.DIRECTIONS or adverb


def _is_framing(draft: GraphDraft, node: Node) -> bool:
    """ "The viewer", "the image" after a verb; "the left" is `placed`'s."""
    return node.lemma in words.FRAMES and draft.thing_of(node.index) is None and not refers(node)


def _colored(draft: GraphDraft, node: Node) -> Iterator[Said]:
    """ "Painted red", "painted in blue and grey"."""
    if node.lemma not in words.COLORING:
        return
    subject = subject_of(draft, node)
    if subject is None:
        return
    for i in node.children:
        child = draft.nodes[i]
        if child.role in (Role.PLACE, Role.OBJECT, Role.COMPLEMENT, Role.OTHER):
            yield from _colors_in(draft, subject.index, conjuncts(draft, child))


def _colors_in(draft: GraphDraft, thing: int, nodes: Sequence[Node]) -> Iterator[Said]:
    for node in nodes:
        if node.lemma in words.COLORS:
            yield from _adjective(draft, thing, node)


def _hues(draft: GraphDraft, node: Node) -> Iterator[Said]:
    """ "In hues of orange", "with a dark green color", "the same shade of blue"."""
    owner = _owner_of_hue(draft, node)
    if owner is None:
        return
    for i in node.children:
        child = draft.nodes[i]
        if child.role is Role.OF_NOUN and child.case[:1] == ["of"]:
            yield from _colors_in(draft, owner, conjuncts(draft, child))
        elif child.role in (Role.ADJECTIVE, Role.COMPOUND):
            for one in conjuncts(draft, child):
                if one.lemma in words.COLORS:
                    yield from _adjective(draft, owner, one)


def _blue_of(draft: GraphDraft, node: Node) -> Iterator[Said]:
    """ "The light blue of the sky": the sky is light blue."""
    for i in node.children:
        owner = draft.nodes[i]
        if owner.role is Role.OF_NOUN and owner.case == ["of"] and i in draft.things:
            yield from _adjective(draft, i, node)


def _owner_of_hue(draft: GraphDraft, node: Node) -> int | None:
    above = draft.nodes[node.head] if node.head >= 0 else None
    if above is None:
        return None
    if node.role is Role.OF_NOUN and draft.thing_of(above.index) is not None:
        return above.index
    if node.copula or above.pos in ("VERB", "ADJ"):
        subject = subject_of(draft, node if node.copula else above)
        return subject.index if subject is not None else None
    return None
