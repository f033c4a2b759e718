"""The second pass: which mentions speak of the same object. Rules, permissive, no model.

Each thing is a mention; so are personal pronouns, "both", "one", "the other (one)". In text order:

* a definite mention ("the man", "these boats", "the tall man") joins the latest object of the same
  name whose qualities it does not contradict, or one that its name is wider than ("the animal");
* an indefinite mention ("a man", "another man") opens an object, and so does a bare plural, unless
  it repeats a name with no new number or quality;
* a pronoun joins the nearest object before it that fits in number and kind, subjects first;
* "both" and "the two" are all members of the last pair; "one … the other" are one after the other,
  members of a group ("two dogs") as objects of their own.

A mention that fits nothing opens an object if it names a thing, and is left alone if it does not.
A learned resolver's clusters (`links`) are used before the rules.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass, field

from revise_captions.graphs import words
from revise_captions.graphs.rules.draft import NOMINAL, SUBJECTS, GraphDraft, NounPhrase
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.words import listed
from revise_captions.records import Span

_DEFINITE = listed("the this that these those his her its their my your our")
_PRONOUNS = words.MALE | words.FEMALE | words.NEUTER | words.GROUP
#: Where a pronoun stands for a thing, and does not count one ("one dog", "the other dog").
_NAMING = (
    Role.ROOT,
    Role.SUBJECT,
    Role.PASSIVE_SUBJECT,
    Role.OBJECT,
    Role.PLACE,
    Role.AGENT,
    Role.OF_NOUN,
    Role.CONJUNCT,
    Role.CLAUSE,
)
_REACH = 6  # sentences that a pronoun looks back


@dataclass(slots=True)
class _Entity:
    """An object so far: its first mention, its latest sentence, its qualities and its number."""

    top: int
    lemma: str
    sentence: int
    plural: bool
    subject: int
    denied: bool
    values: set[str] = field(default_factory=set)
    number: str = ""
    members: tuple[int, ...] = ()
    latest: int = 0
    owner: int | None = None


def resolve(draft: GraphDraft, links: Sequence[Sequence[Span]] = ()) -> dict[int, tuple[int, ...]]:
    """For each mention's node, the first mentions of the objects that it speaks of."""
    given = _given(draft, links)
    entities: dict[int, _Entity] = {}
    found: dict[int, tuple[int, ...]] = {}
    for node in draft.nodes:
        if node.index in draft.things:
            tops = _known(given, node, found) or _thing(draft, node, entities, found)
            if not tops and _speaks_of_nothing_new(draft, node):
                continue
            if not tops:
                entities[node.index] = _entity(draft, node)
                tops = (node.index,)
        elif node.text in words.RELATIVE and _antecedent(draft, node) in found:
            tops = found[_antecedent(draft, node)]
        elif node.text in _PRONOUNS or node.text in ("both", "two"):
            tops = _known(given, node, found) or _pronoun(draft, node, entities, found)
        elif node.text in words.MEMBERS and node.role in _NAMING:
            tops = _known(given, node, found) or _member(draft, node, entities)
        else:
            continue
        if not tops:
            continue
        found[node.index] = tops
        for top in tops:
            _touch(draft, node, entities[top])
    return found


def _speaks_of_nothing_new(draft: GraphDraft, node: Node) -> bool:
    """ "The structures", "these elements" without an antecedent."""
    generic = draft.things[node.index].lemma in words.GENERIC
    return generic and _determiner(draft, node) in _DEFINITE and _owner(draft, node) is None


def _given(draft: GraphDraft, links: Sequence[Sequence[Span]]) -> dict[int, int]:
    """Node to the number of its cluster: the node whose end is a mention's last word, or in it."""
    numbers: dict[int, int] = {}
    for number, spans in enumerate(links):
        for span in spans:
            inside = [n for n in draft.nodes if span.start <= n.start and n.end <= span.end]
            heads = [
                n
                for n in inside
                if n.head < 0 or not span.start <= draft.nodes[n.head].start < span.end
            ]
            for node in heads[:1]:
                numbers[node.index] = number
    return numbers


def _known(given: dict[int, int], node: Node, found: dict[int, tuple[int, ...]]) -> tuple[int, ...]:
    if node.index not in given:
        return ()
    same = (i for i in found if given.get(i) == given[node.index])
    return next((found[i] for i in same), ())


def _entity(draft: GraphDraft, node: Node) -> _Entity:
    thing = draft.things[node.index]
    return _Entity(
        node.index,
        thing.lemma,
        node.sentence,
        thing.plural,
        _rank(draft, node),
        thing.denied,
        _values(draft, node),
        _number(draft, node),
        latest=node.index,
        owner=_owner(draft, node),
    )


def _rank(draft: GraphDraft, node: Node) -> int:
    """2 for a sentence's subject, 1 for a clause's, else 0: what pronouns go for first."""
    if node.role not in SUBJECTS:
        return 0
    return 2 if node.head >= 0 and draft.nodes[node.head].role is Role.ROOT else 1


def _touch(draft: GraphDraft, node: Node, entity: _Entity) -> None:
    entity.sentence, entity.latest = node.sentence, node.index
    entity.subject = _rank(draft, node) or (entity.subject if node.role is Role.OWNER else 0)
    if node.index in draft.things:
        entity.values |= _values(draft, node)


def _values(draft: GraphDraft, node: Node) -> set[str]:
    """The qualities in a noun phrase."""
    kinds = (Role.ADJECTIVE, Role.COMPOUND)
    return {draft.nodes[i].text for i in node.children if draft.nodes[i].role in kinds}


def _number(draft: GraphDraft, node: Node) -> str:
    for i in node.children:
        if draft.nodes[i].role is Role.NUMBER:
            return words.NUMBERS.get(draft.nodes[i].text, draft.nodes[i].text)
    return ""


def _owner(draft: GraphDraft, node: Node) -> int | None:
    """The node of a possessor, or of what it is said to be a part of."""
    for i in node.children:
        child = draft.nodes[i]
        if child.role is Role.OWNER or (child.role is Role.OF_NOUN and child.case == ["of"]):
            return i
    return None


def _determiner(draft: GraphDraft, node: Node) -> str:
    for i in node.children:
        if draft.nodes[i].role in (Role.DETERMINER, Role.OWNER) and i < node.index:
            return draft.nodes[i].text
    return ""


def _thing(
    draft: GraphDraft, node: Node, entities: dict[int, _Entity], found: dict[int, tuple[int, ...]]
) -> tuple[int, ...]:
    thing = draft.things[node.index]
    determiner = _determiner(draft, node)
    owner = _owner(draft, node)
    definite = determiner in _DEFINITE or owner is not None
    values, number = _values(draft, node), _number(draft, node)
    if thing.denied or determiner in ("a", "an", "another", "no"):
        return ()
    if "other" in values:
        return ()
    if not definite and (number or values or not thing.plural) and node.pos != "PROPN":
        return ()
    owners = found.get(owner, ()) if owner is not None else ()
    for wide in (False, True):
        for entity in sorted(entities.values(), key=lambda e: -e.latest):
            if entity.denied or not _fits(entity, thing.lemma, thing.plural, values, wide):
                continue
            if number and entity.number and number != entity.number:
                continue
            theirs = found.get(entity.owner, ()) if entity.owner is not None else ()
            if owners and theirs and not set(owners) & set(theirs):
                continue
            if wide and node.sentence - entity.sentence > 3:
                continue
            return (entity.top,)
    return ()


def _fits(entity: _Entity, lemma: str, plural: bool, values: set[str], wide: bool) -> bool:
    own = entity.lemma.rpartition(" ")[2]
    if wide:
        kinds = words.WIDER.get(lemma)
        return kinds is not None and own in kinds and plural == entity.plural
    same = entity.lemma == lemma or (
        own == lemma.rpartition(" ")[2] and (lemma in entity.lemma or entity.lemma in lemma)
    )
    if not same or plural != entity.plural:
        return False
    return not _contradict(values, entity.values)


#: Qualities of which a thing has one: two different ones are two things.
_EXCLUSIVE = (
    words.COLORS,
    listed("left right middle central upper lower front back top bottom"),
    listed("first second third fourth last next"),
    listed("large small big little tall short"),
    listed("young old older younger elderly"),
)


def _contradict(first: set[str], second: set[str]) -> bool:
    for kind in _EXCLUSIVE:
        one, other = first & kind, second & kind
        if one and other and not one & other:
            return True
    ranks = _EXCLUSIVE[1] | _EXCLUSIVE[2]
    return bool(first & ranks and not second & ranks)


def _antecedent(draft: GraphDraft, node: Node) -> int:
    """The noun that a relative pronoun's clause belongs to; -1 for none."""
    above = node.head
    for _ in range(4):
        if above < 0:
            return -1
        if draft.nodes[above].role is Role.RELATIVE:
            return draft.nodes[above].head
        above = draft.nodes[above].head
    return -1


def _near(node: Node, entities: dict[int, _Entity]) -> list[_Entity]:
    """The objects that a pronoun may reach, the likeliest first."""
    return sorted(
        (e for e in entities.values() if node.sentence - e.sentence <= _REACH and not e.denied),
        key=lambda e: (
            e.sentence == node.sentence or e.sentence == node.sentence - 1,
            e.sentence,
            e.subject,
            e.latest,
        ),
        reverse=True,
    )


def _member(draft: GraphDraft, node: Node, entities: dict[int, _Entity]) -> tuple[int, ...]:
    """ "One … the other": of two things named together the first and the second; of a group
    ("three dogs") each time another of its members, an object of its own.
    """
    other = node.text not in ("one", "ones") or any(
        draft.nodes[i].text in ("other", "second", "another") for i in node.children
    )
    for entity in _near(node, entities):
        partners = _partners(draft, entity, entities)
        if len(partners) == 1 and not entity.plural:
            return (partners[0] if other else entity.top,)
        if entity.plural and entity.top in draft.things:
            group = draft.things[entity.top]
            span = Span(node.start, node.end)
            many = node.text.endswith("s")
            name = group.name if many else group.lemma
            draft.things[node.index] = NounPhrase(
                node.index, [node.index], name, group.lemma, span, many, node.negated
            )
            entities[node.index] = _entity(draft, node)
            return (node.index,)
    return ()


def _partners(draft: GraphDraft, first: _Entity, others: Container[int]) -> list[int]:
    """What was named in a row with an object ("a man and a woman")."""
    below = draft.nodes[first.top].children
    return [i for i in below if i in others and draft.nodes[i].role is Role.CONJUNCT]


def _pronoun(
    draft: GraphDraft, node: Node, entities: dict[int, _Entity], found: dict[int, tuple[int, ...]]
) -> tuple[int, ...]:
    near = _near(node, entities)
    if node.text in ("both", "two"):
        return _pair(draft, node, near)
    fitting = [entity for entity in near if _may_be(draft, node, entity)]
    if node.role is Role.OWNER and fitting:
        return (_whole(fitting[0], fitting, found).top,)
    return (fitting[0].top,) if fitting else ()


def _whole(part: _Entity, fitting: Sequence[_Entity], found: dict[int, tuple[int, ...]]) -> _Entity:
    """ "The underside of the bird is white, and its wings": what owns the part owns the next."""
    for _ in range(3):
        owners = found.get(part.owner, ()) if part.owner is not None else ()
        whole = next((entity for entity in fitting if entity.top in owners), None)
        if whole is None or whole is part:
            break
        part = whole
    return part


def _pair(draft: GraphDraft, node: Node, near: Sequence[_Entity]) -> tuple[int, ...]:
    """The two things that "both" speaks of: the last ones coordinated, or a group of two."""
    if (
        node.head >= 0
        and draft.nodes[node.head].index in draft.things
        and node.role in (Role.DETERMINER, Role.NUMBER)
    ):
        return ()
    tops = {entity.top for entity in near}
    for entity in near:
        if entity.number == "2":
            return (entity.top,)
        partners = _partners(draft, entity, tops)
        if len(partners) == 1:
            return (entity.top, partners[0])
    return ()


def _may_be(draft: GraphDraft, node: Node, entity: _Entity) -> bool:
    head = entity.lemma.rpartition(" ")[2]
    person = head in words.PERSONS
    top = draft.nodes[entity.top]
    if node.head == entity.latest and node.role is Role.OWNER:
        return False
    if node.text in words.MALE:
        return person and not entity.plural and head not in words.FEMALES
    if node.text in words.FEMALE:
        return person and not entity.plural and head not in words.MALES
    if node.text in words.NEUTER:
        return not entity.plural and (not person or head in ("baby", "child", "figure"))
    return entity.plural or person or top.pos not in NOMINAL
