"""Whose state or act a predicate is, and what stands in a row with it."""

from __future__ import annotations

from revise_captions.graphs import words
from revise_captions.graphs.rules.draft import NOMINAL, SUBJECTS, GraphDraft
from revise_captions.graphs.rules.roles import Node, Role


def conjuncts(draft: GraphDraft, node: Node) -> list[Node]:
    """A node and those coordinated with it."""
    more = (draft.nodes[i] for i in node.children)
    return [node, *(n for n in more if n.role is Role.CONJUNCT)]


def subject_of(draft: GraphDraft, node: Node, depth: int = 0) -> Node | None:
    """Whose state or act a predicate is: its subject, or that of the clause that it depends on."""
    own = next((draft.nodes[i] for i in node.children if draft.nodes[i].role in SUBJECTS), None)
    above = draft.nodes[node.head] if node.head >= 0 else None
    if own is not None and not (own.text in words.RELATIVE and own.pos in ("PRON", "DET", "SCONJ")):
        return own
    if above is None:
        return _fronted(draft, node)
    if depth > 6:
        return None
    if node.role in (Role.RELATIVE, Role.PARTICIPLE):
        predicate = above.copula and above.index not in draft.things
        return (subject_of(draft, above, depth + 1) if predicate else None) or above
    if node.role is Role.CONJUNCT and above.role in (Role.RELATIVE, Role.PARTICIPLE):
        return subject_of(draft, above, depth + 1)
    if node.role is Role.CONJUNCT and _is_subject(node, above):
        return above
    if node.role in (Role.CONJUNCT, Role.COMPLEMENT):
        return subject_of(draft, above, depth + 1)
    aim = any(draft.nodes[i].text == "to" for i in node.children)
    if node.role is Role.CLAUSE and (node.tag in ("VBG", "VBN") or node.pos == "ADJ" or aim):
        marked = any(draft.nodes[i].text == "with" for i in node.children)
        return None if marked else subject_of(draft, above, depth + 1)
    return None


def _is_subject(node: Node, above: Node) -> bool:
    """ "A groove, akin to a scar, stretches": the verb was joined to its subject."""
    verb = node.pos == "VERB" and node.tag not in ("VBG", "VBN")
    return verb and above.pos in NOMINAL and above.role is Role.ROOT and not above.copula


def _fronted(draft: GraphDraft, node: Node) -> Node | None:
    """ "Cloaked in a jacket, the skier stands": the clause that follows has the subject."""
    if node.tag not in ("VBN", "VBG"):
        return None
    for i in node.children:
        clause = draft.nodes[i]
        if i > node.index and clause.role in (Role.CLAUSE, Role.CONJUNCT):
            for j in clause.children:
                if draft.nodes[j].role in SUBJECTS and draft.nodes[j].index > node.index:
                    return draft.nodes[j]
    return None


def refers(node: Node) -> bool:
    """Whether coreference may know what a node stands for."""
    return node.pos in ("PRON", "DET", "NUM", "ADJ")


def bearer_of(draft: GraphDraft, node: Node) -> Node | None:
    """What a phrase with a preposition is said of. Where that is no thing itself ("in the *center*
    below the window", "provides a *backdrop* behind the table"), what it is said of in its turn.
    """
    found: Node | None = node
    for _ in range(3):
        assert found is not None
        above = draft.nodes[found.head] if found.head >= 0 else None
        if found.role is Role.OF_NOUN:
            found = above
        elif found.role in (Role.PLACE, Role.OBJECT) and above is not None:
            return subject_of(draft, above)
        else:
            return subject_of(draft, found)
        if found is None or not _says_where(draft, found):
            return found
    return found


def _says_where(draft: GraphDraft, node: Node) -> bool:
    where = node.lemma in words.FRAMES or (node.lemma in words.PLACES and bool(node.case))
    return where and draft.thing_of(node.index) is None
