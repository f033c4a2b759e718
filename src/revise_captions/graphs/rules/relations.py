"""The fourth pass: what is said of two objects."""

from __future__ import annotations

from collections.abc import Iterator

from revise_captions.graphs import words
from revise_captions.graphs.rules.draft import NOMINAL, SUBJECTS, GraphDraft, Told
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.rules.subjects import bearer_of, conjuncts, refers, subject_of
from revise_captions.graphs.words import listed
from revise_captions.records import Span

#: "A man with a hat", "a bus with people on it".
_HAVING = frozenset(("with", "featuring", "including"))
#: Verbs that only say that something is somewhere.
_STANDING = words.LINKING - {"look"} | {"be", "locate", "position", "situate", "find"}
_VERBAL = frozenset(("VERB", "AUX"))
#: "A hill covered with trees": the trees cover it.
_COVERING = listed("cover surround line adorn dot decorate")
#: What says of a thing no more than that it is somewhere.
_SEEN = listed("visible present apparent noticeable located situated")
#: "Holds a racket in her hand", "puts a cup on the table": where the object is.
_HOLDING = listed("hold have wear carry put place rest watch")
#: What says more than that something is in the background, or at the side.
_AROUND = listed("behind above below beneath underneath under over beside near")
_IRREGULAR = {"lie": "lay"}


def relations(draft: GraphDraft) -> Iterator[Told]:
    """Every relation between two things, or what refers to one."""
    for node in draft.nodes:
        if node.role is Role.OWNER or (node.role is Role.COMPOUND and node.index in draft.things):
            yield from _possession(draft, node)
        elif node.case and node.role is not Role.OTHER:
            yield from _attached(draft, node)
        if node.pos in _VERBAL:
            yield from _verb(draft, node)
        if node.index in draft.things:
            yield from _relative_object(draft, node)


def _named(draft: GraphDraft, node: Node) -> bool:
    return draft.thing_of(node.index) is not None or refers(node)


def _possession(draft: GraphDraft, node: Node) -> Iterator[Told]:
    above = draft.nodes[node.head] if node.head >= 0 else None
    if above is None or node.text == "whose":
        return
    for owned in conjuncts(draft, above):
        if owned.index in draft.things:
            span = Span(node.start, draft.things[owned.index].span.end)
            yield Told(node.index, "have", owned.index, span, part=True)


def place_of(draft: GraphDraft, node: Node) -> tuple[str, int, list[int]]:
    """A nominal's whole preposition, what it ends at, and the nodes in it.

    "on", "top of" the table is ("on top of", table); a place alone ends at itself.
    """
    name, marks = " ".join(node.case), list(node.marks)
    target = node.index
    for _ in range(3):
        if target not in draft.places:
            break
        inner = draft.places[target]
        between = draft.nodes[target]
        side = [
            draft.nodes[i].text
            for i in between.children
            if draft.nodes[i].text in ("left", "right", "either", "both", "other", "far")
            and draft.nodes[i].text not in node.case
        ]
        name = " ".join([name, *side[-1:], between.text, *draft.nodes[inner].case])
        marks += [target, *draft.nodes[inner].marks]
        target = inner
    return name, target, marks


def _attached(draft: GraphDraft, node: Node) -> Iterator[Told]:
    """A prepositional phrase that hangs on a noun, or is the predicate of one."""
    name, target, marks = place_of(draft, node)
    if node.index in draft.stand_in and node.index not in draft.things:
        target = node.index
    above = draft.nodes[node.head] if node.head >= 0 else None
    if node.role is Role.OF_NOUN and above is not None:
        source = bearer_of(draft, node) if node.case[0] in _AROUND else above
        if above.copula and above.index not in draft.things:
            source = subject_of(draft, above)
    elif node.role in (
        Role.ROOT,
        Role.CONJUNCT,
        Role.RELATIVE,
        Role.CLAUSE,
        Role.COMPLEMENT,
        Role.PARTICIPLE,
    ):
        source = subject_of(draft, node)
    elif node.role is Role.PLACE and above is not None and above.pos not in _VERBAL:
        after = above.role is Role.ADJECTIVE and above.index > above.head
        source = draft.nodes[above.head] if after else subject_of(draft, above)
        if above.pos == "ADJ" and name and above.text not in _SEEN | words.COLORS:
            name, marks = f"{above.text} {name}", [above.index, *marks]
    else:
        return
    if source is None or not name or source.index == target:
        return
    if above is not None and draft.stand_in.get(above.index) == node.index:
        return
    if above is not None and draft.places.get(above.index) == node.index:
        return
    yield from _between(draft, source, name, target, marks, node)


def _between(
    draft: GraphDraft, source: Node, name: str, target: int, marks: list[int], node: Node
) -> Iterator[Told]:
    for one in conjuncts(draft, draft.nodes[target]):
        if not _named(draft, one) or (one.index != target and one.case and one.case != node.case):
            continue
        for left in _sharing(draft, source, node):
            if not _named(draft, left) or left.index > one.index > source.index:
                continue
            first = min([source.start, *(draft.nodes[i].start for i in marks)])
            span = Span(first, max(one.end, first + 1))
            denied = one.negated or node.negated
            if name == "of" and left.lemma in words.CONTAINERS:
                yield Told(left.index, "have", one.index, span, denied)
            elif name == "of" and left.lemma not in words.DEPICTIONS:
                yield Told(one.index, "have", left.index, span, denied, part=True)
            else:
                yield Told(left.index, name, one.index, span, denied)


def _sharing(draft: GraphDraft, source: Node, node: Node) -> list[Node]:
    """Whose phrase it is: "rice, onions and broccoli on a plate" are all there, unless one of them
    has a place of its own.
    """
    if source.role is not Role.CONJUNCT:
        return conjuncts(draft, source)
    row = conjuncts(draft, draft.nodes[source.head])
    own = any(
        one.lemma in _OTHERWISE
        or any(draft.nodes[i].role in _PLACING and i < source.index for i in one.children)
        for one in row
    )
    last = row[-1] is source and node.head == source.index
    return row if last and not own and node.case[0] in _WHERE else [source]


_PLACING = (Role.OF_NOUN, Role.PARTICIPLE, Role.RELATIVE)
_OTHERWISE = words.BEINGS | words.BODY | words.CLOTHES
_WHERE = listed("on in at under near behind above below inside beside next against around")


def _verb(draft: GraphDraft, node: Node) -> Iterator[Told]:
    """A verb with its subject, object and prepositional phrases."""
    if node.copula or node.role in (Role.AUXILIARY, Role.PASSIVE, Role.COPULA, Role.CASE):
        return
    children = [draft.nodes[i] for i in node.children]
    objects = [
        c for child in children if child.role is Role.OBJECT for c in conjuncts(draft, child)
    ]
    expletive = any(child.role is Role.EXPLETIVE for child in children)
    subject = subject_of(draft, node)
    stem = _stem(node, children)
    passive = node.passive or (
        node.tag == "VBN" and node.role in (Role.PARTICIPLE, Role.CLAUSE) and not objects
    )
    left = conjuncts(draft, subject) if subject is not None else []
    if subject is not None and subject.role is Role.CONJUNCT:
        left = [subject]
    left = [one for one in left if _named(draft, one)]
    silent = node.lemma in words.IDLE - words.SHOWING or (expletive and node.lemma == "be")
    silent = silent and not (node.lemma == "make" and any(c.case == ["of"] for c in children))
    for child in children:
        if child.role is Role.AGENT or (passive and child.case == ["by"]):
            for agent in conjuncts(draft, child):
                for one in left:
                    yield from _told(draft, agent, stem, one, node, [])
        elif child.role is Role.PLACE:
            yield from _placed(draft, node, child, left, "" if silent else stem, passive)
    if not passive and not silent:
        for target in objects:
            for one in left:
                yield from _told(draft, one, stem, target, node, [])


def _stem(node: Node, children: list[Node]) -> str:
    particles = [child.text for child in children if child.role is Role.PARTICLE]
    lemma = _IRREGULAR.get(node.lemma, node.lemma)
    return " ".join([lemma, *particles])


def _told(
    draft: GraphDraft, left: Node, name: str, right: Node, verb: Node, marks: list[int]
) -> Iterator[Told]:
    if not (_named(draft, left) and _named(draft, right)) or left.index == right.index:
        return
    at = [left, right, verb, *(draft.nodes[i] for i in marks)]
    span = Span(min(n.start for n in at), max(n.end for n in at))
    yield Told(left.index, name, right.index, span, verb.negated, part=name == "have")


def _placed(
    draft: GraphDraft, verb: Node, child: Node, left: list[Node], stem: str, passive: bool
) -> Iterator[Told]:
    """ "Sits on the mat": the verb and the preposition are one relation."""
    name, target, marks = place_of(draft, child)
    if child.index in draft.stand_in:
        target = child.index
    if child.role is Role.PLACE and child.case[:1] == ["as"]:
        return
    covering = verb.lemma in _COVERING and verb.tag != "VBG"
    if left and covering and child.case in (["by"], ["with"]):
        for one in left:
            for agent in conjuncts(draft, draft.nodes[target]):
                yield from _told(draft, agent, verb.lemma, one, verb, marks)
        return
    first = verb.index
    linking = verb.lemma in words.SHOWING | _STANDING
    full = name if linking else f"{stem} {name}".strip()
    held = [draft.nodes[i] for i in verb.children if draft.nodes[i].role is Role.OBJECT]
    if verb.lemma in _HOLDING and held and child.index > held[-1].index:
        left, full, linking = conjuncts(draft, held[-1]), name, True
    if not full:  # a place without a preposition: it stands in no relation that has a name
        return
    if not held and _dresses(verb, child):
        full = name
    for one in conjuncts(draft, draft.nodes[target]):
        said, end, at = full, one, marks
        if one.index != target and one.case and one.case != child.case:
            own, end, at = _own_place(draft, one)
            said = own if linking else f"{stem} {own}".strip()
        for source in left:
            if said and source.index != first:
                yield from _told(draft, source, said, end, verb, at)


def _dresses(verb: Node, child: Node) -> bool:
    """ "Sits in a red coat", "walks with long hair": so is somebody, whatever they do."""
    if child.case == ["in"]:
        return child.lemma in words.CLOTHES and verb.lemma not in _DRESSING
    worn = child.lemma in words.CLOTHES | words.BODY
    return child.case == ["with"] and worn and verb.lemma in words.DEEDS - {"play", "touch"}


_DRESSING = listed("dress clothe wrap cover")


def _own_place(draft: GraphDraft, node: Node) -> tuple[str, Node, list[int]]:
    """ "Above a wall and in front of a building": a conjunct with a preposition of its own."""
    name, target, marks = place_of(draft, node)
    return name, draft.nodes[target], marks


def _relative_object(draft: GraphDraft, node: Node) -> Iterator[Told]:
    """ "The beach that she is standing on", "the hat he wears": the noun is the clause's object."""
    for i in node.children:
        verb = draft.nodes[i]
        if verb.role is not Role.RELATIVE or verb.pos not in _VERBAL:
            continue
        children = [draft.nodes[j] for j in verb.children]
        subject = next((c for c in children if c.role in SUBJECTS), None)
        if subject is None or subject.text in words.RELATIVE:
            continue
        if any(c.role is Role.OBJECT and c.text not in words.RELATIVE for c in children):
            continue
        particle = next((c.text for c in children if c.role in (Role.CASE, Role.PARTICLE)), "")
        name = f"{verb.lemma} {particle}".strip()
        for one in conjuncts(draft, subject):
            if one.pos in NOMINAL or refers(one):
                yield from _told(draft, one, name, node, verb, [])
