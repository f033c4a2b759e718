"""The first pass: which nodes name an object, and how."""

from __future__ import annotations

from revise_captions.graphs import lexicon, words
from revise_captions.graphs.rules.draft import NOMINAL, SUBJECTS, GraphDraft, NounPhrase
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.words import listed
from revise_captions.records import Span


def find(draft: GraphDraft) -> None:
    """Fills the draft's `things`, `stand_in` and `places`."""
    _groups_and_places(draft)
    _things(draft)


def _groups_and_places(draft: GraphDraft) -> None:
    """Finds "group of people" (the people are the thing) and "top of the table" (a place of it)."""
    for node in draft.nodes:
        if node.pos not in NOMINAL and node.pos not in ("NUM", "PRON", "ADJ", "DET"):
            continue
        inner = [
            draft.nodes[i]
            for i in node.children
            if draft.nodes[i].role in (Role.OF_NOUN, Role.PLACE)
            and draft.nodes[i].case[:1] == ["of"]
        ]
        if not inner:
            continue
        if node.lemma in words.GROUPS or node.pos in ("NUM", "PRON") or node.text in _SOME:
            draft.stand_in[node.index] = inner[0].index
        elif node.lemma in words.PLACES and node.case:
            draft.places[node.index] = inner[0].index


_SOME = listed("one some many most all each several few both two three none half rest")


def _things(draft: GraphDraft) -> None:
    for node in draft.nodes:
        if _names_a_thing(draft, node):
            draft.things[node.index] = _thing(draft, node)


def _names_a_thing(draft: GraphDraft, node: Node) -> bool:
    if node.index in draft.stand_in or node.index in draft.places or node.index in draft.quoted:
        return False
    if node.pos == "PRON":
        return node.text in ("someone", "somebody", "something", "everyone", "people")
    if node.pos not in NOMINAL or node.role in (Role.FLAT, Role.CASE):
        return False
    if node.text in words.MEMBERS:
        return False
    if node.role is Role.COMPOUND:
        return _is_whole(draft, node)
    if node.lemma in words.COLORS and (node.copula or node.role is Role.PLACE):
        return _is_joined(draft, node)
    if node.role is Role.OTHER and node.head >= 0 and node.pos == "PUNCT":
        return False
    if node.role is Role.ADJECTIVE and node.index < node.head:
        return False
    if node.case[:1] == ["as"] and node.role is Role.PLACE:
        return False
    if node.copula and node.role is not Role.PARTICIPLE and not node.case:
        return _has_no_subject(draft, node)
    named = lexicon.is_depictable(node.lemma) or _is_joined(draft, node)
    if not (named or _is_somewhere(draft, node)) or _is_frame(draft, node):
        return False
    return not _is_effect(draft, node)


def _is_effect(draft: GraphDraft, node: Node) -> bool:
    """What something adds, suggests or creates is the writer's, unless it is named with "the"."""
    definite = False
    for _ in range(4):
        above = draft.nodes[node.head] if node.head >= 0 else None
        if above is None:
            return False
        definite = definite or any(draft.nodes[i].text in _GIVEN for i in node.children)
        if node.role in (Role.OBJECT, Role.PLACE, Role.COMPLEMENT) and above.pos == "VERB":
            if above.passive and above.lemma in _MAKING:
                return False
            light = above.lemma == "cast" and node.lemma in _LIGHTS
            return light or (above.lemma in words.EFFECTS and not definite)
        if node.role not in (Role.OF_NOUN, Role.CONJUNCT):
            return False
        node = above
    return False


def _is_joined(draft: GraphDraft, node: Node) -> bool:
    """ "Store front", "banana bunch": things together, though the second word alone is none."""
    before = draft.nodes[node.index - 1] if node.index - 1 in node.children else None
    compound = before is not None and before.role is Role.COMPOUND
    return compound and lexicon.is_one(draft.nodes[node.index - 1].text, node.lemma)


_MAKING = listed("draw create make")


def _is_somewhere(draft: GraphDraft, node: Node) -> bool:
    """ "A rock formation is behind a zebra": whatever its word, what is there is a thing."""
    above = draft.nodes[node.head] if node.head >= 0 else node
    there = node.role is Role.SUBJECT and above.copula and above.case[:1] in _SOMEWHERE
    below = [draft.nodes[i] for i in node.children]
    told = any(one.role is Role.COMPOUND for one in below)
    return there and told and any(one.text in ("a", "an") for one in below)


_SOMEWHERE = [[case] for case in ("on", "behind", "under", "above", "below", "beside", "near")]
_LIGHTS = listed("light glow hue warmth shine spell")
_GIVEN = listed("the this these those his her its their")


def _is_whole(draft: GraphDraft, node: Node) -> bool:
    """ "Giraffe horn": the giraffe is there, and has a horn."""
    if node.head != node.index + 1:
        return False
    part = draft.nodes[node.head]
    return part.role is not Role.COMPOUND and lexicon.is_part(node.lemma, part.lemma)


def _has_no_subject(draft: GraphDraft, node: Node) -> bool:
    """A predicate noun is a quality of its subject, unless the subject is the picture itself."""
    subject = next((draft.nodes[i] for i in node.children if draft.nodes[i].role in SUBJECTS), None)
    if subject is None:
        return lexicon.is_depictable(node.lemma)
    framed = subject.lemma in words.FRAMES or subject.lemma in words.PLACES
    bare = subject.pos == "PRON" and subject.text in (
        "this",
        "it",
        "these",
        "here",
        "that",
        "there",
    )
    return (framed or bare) and lexicon.is_depictable(node.lemma)


#: Places only with what they are of ("in the heart of the city"), alone things.
_ALSO_THINGS = listed("heart tip base")
#: "Facing the camera" has none, "at the camera" looks at the viewer.
_SEEN_BY = (["to"], ["at"], ["towards"], ["toward"], ["from"], ["by"])


#: What a text may say something about: "a low-angle shot", "a panoramic view".
_SHOTS = listed("shot view")


def _is_qualified(draft: GraphDraft, node: Node) -> bool:
    kinds = (Role.ADJECTIVE, Role.COMPOUND)
    return any(draft.nodes[i].role in kinds and i < node.index for i in node.children)


def _is_frame(draft: GraphDraft, node: Node) -> bool:
    """ "The image" that shows something, "in the background": not a thing in the scene."""
    if node.lemma not in words.FRAMES:
        place = node.lemma in words.PLACES - _ALSO_THINGS and not node.plural
        return place and bool(node.case)
    if node.lemma not in words.PICTURES:
        return node.lemma not in _SHOTS or not _is_qualified(draft, node)
    above = draft.nodes[node.head] if node.head >= 0 else None
    if above is not None and node.role in SUBJECTS and above.lemma in words.SHOWING | words.IDLE:
        return True
    if above is not None and node.role is Role.OBJECT and above.lemma in ("paint", "create"):
        return True
    definite = any(draft.nodes[i].text in ("the", "this") for i in node.children)
    return definite and (node.lemma != "camera" or node.case[:1] in _SEEN_BY)


def _thing(draft: GraphDraft, node: Node) -> NounPhrase:
    """Name and span: the head with the compounds next to it that belong to the name."""
    parts: list[int] = [node.index]
    modifiers: list[int] = []
    for i in sorted((i for i in node.children if i < node.index), reverse=True):
        child = draft.nodes[i]
        adjacent = child.index == parts[0] - 1 and not modifiers
        if child.role is Role.ADJECTIVE:
            if adjacent and lexicon.belongs(child.text, node.lemma, adjective=True):
                parts.insert(0, i)
        elif child.role not in (Role.COMPOUND, Role.FLAT) or i in draft.things:
            continue
        elif adjacent and child.text not in words.KINDS and lexicon.belongs(child.text, node.lemma):
            parts.insert(0, i)
        else:
            modifiers.insert(0, i)
    parts += [i for i in node.children if draft.nodes[i].role is Role.FLAT and i > node.index]
    first, last = draft.nodes[parts[0]], draft.nodes[parts[-1]]
    name = " ".join(draft.nodes[i].text for i in parts)
    stem = " ".join([draft.nodes[i].text for i in parts[:-1]] + [draft.nodes[parts[-1]].lemma])
    denied = node.negated or any(
        draft.nodes[i].text == "no" and draft.nodes[i].role is Role.DETERMINER
        for i in node.children
    )
    return NounPhrase(
        node.index,
        parts,
        name,
        stem,
        Span(first.start, last.end),
        node.plural,
        denied or _absent(draft, node),
        modifiers=modifiers,
    )


def _absent(draft: GraphDraft, node: Node) -> bool:
    """ "There are not any cars", "does not contain text", "devoid of people"."""
    above = draft.nodes[node.head] if node.head >= 0 else None
    if above is None:
        return False
    if node.role in (Role.OBJECT, Role.SUBJECT) and above.negated and above.pos in ("VERB", "AUX"):
        indefinite = not any(
            draft.nodes[i].text in ("the", "this", "his", "her", "its", "their")
            for i in node.children
        )
        seen = above.lemma in words.SHOWING | {"be", "have", "exist", "wear", "hold"}
        return indefinite and seen and (node.role is Role.OBJECT or above.lemma in ("be", "exist"))
    return node.role is Role.PLACE and above.lemma in ("devoid", "free", "empty")
