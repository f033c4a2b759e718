"""Two label schemes, read into the same roles: Universal Dependencies and ClearNLP's."""

from __future__ import annotations

from collections.abc import Sequence

from revise_captions.graphs.rules.roles import Node, Role

#: Universal Dependencies, subtypes first; the part before ":" where the whole is not listed.
_UD = {
    "root": Role.ROOT,
    "ROOT": Role.ROOT,
    "nsubj": Role.SUBJECT,
    "csubj": Role.SUBJECT,
    "nsubj:pass": Role.PASSIVE_SUBJECT,
    "csubj:pass": Role.PASSIVE_SUBJECT,
    "obj": Role.OBJECT,
    "iobj": Role.INDIRECT,
    "obl": Role.PLACE,
    "obl:agent": Role.AGENT,
    "obl:unmarked": Role.OTHER,
    "obl:tmod": Role.OTHER,
    "obl:npmod": Role.OTHER,
    "nmod": Role.OF_NOUN,
    "nmod:poss": Role.OWNER,
    "nmod:unmarked": Role.COMPOUND,
    "nmod:desc": Role.COMPOUND,
    "amod": Role.ADJECTIVE,
    "advmod": Role.ADVERB,
    "compound": Role.COMPOUND,
    "compound:prt": Role.PARTICLE,
    "flat": Role.FLAT,
    "fixed": Role.CASE,
    "goeswith": Role.FLAT,
    "nummod": Role.NUMBER,
    "det": Role.DETERMINER,
    "conj": Role.CONJUNCT,
    "acl": Role.PARTICIPLE,
    "acl:relcl": Role.RELATIVE,
    "advcl:relcl": Role.CLAUSE,
    "xcomp": Role.COMPLEMENT,
    "ccomp": Role.CLAUSE,
    "advcl": Role.CLAUSE,
    "parataxis": Role.CLAUSE,
    "appos": Role.APPOSITION,
    "aux": Role.AUXILIARY,
    "aux:pass": Role.PASSIVE,
    "cop": Role.COPULA,
    "expl": Role.EXPLETIVE,
    "case": Role.CASE,
    "list": Role.CONJUNCT,
}
#: ClearNLP, as in the pipelines that spaCy publishes for English.
_CLEAR = {
    "ROOT": Role.ROOT,
    "nsubj": Role.SUBJECT,
    "csubj": Role.SUBJECT,
    "nsubjpass": Role.PASSIVE_SUBJECT,
    "csubjpass": Role.PASSIVE_SUBJECT,
    "dobj": Role.OBJECT,
    "dative": Role.INDIRECT,
    "agent": Role.CASE,
    "prep": Role.CASE,
    "amod": Role.ADJECTIVE,
    "advmod": Role.ADVERB,
    "compound": Role.COMPOUND,
    "nmod": Role.COMPOUND,
    "prt": Role.PARTICLE,
    "nummod": Role.NUMBER,
    "quantmod": Role.OTHER,
    "det": Role.DETERMINER,
    "predet": Role.DETERMINER,
    "poss": Role.OWNER,
    "case": Role.CASE,
    "conj": Role.CONJUNCT,
    "acl": Role.PARTICIPLE,
    "relcl": Role.RELATIVE,
    "xcomp": Role.COMPLEMENT,
    "oprd": Role.COMPLEMENT,
    "ccomp": Role.CLAUSE,
    "advcl": Role.CLAUSE,
    "pcomp": Role.CLAUSE,
    "parataxis": Role.CLAUSE,
    "appos": Role.APPOSITION,
    "neg": Role.NEGATION,
    "aux": Role.AUXILIARY,
    "auxpass": Role.PASSIVE,
    "expl": Role.EXPLETIVE,
}
#: Labels that only ClearNLP has.
_CLEAR_ONLY = frozenset(
    ("dobj", "pobj", "nsubjpass", "prep", "attr", "acomp", "relcl", "auxpass", "poss", "prt")
)


def read_labels(found: Sequence[Node], labels: Sequence[str]) -> None:
    """Gives every node its role, and moves ClearNLP's heads to where UD has them."""
    if _CLEAR_ONLY.intersection(labels):
        _from_clear(found, labels)
    else:
        _from_universal(found, labels)


def _from_universal(found: Sequence[Node], labels: Sequence[str]) -> None:
    for node, label in zip(found, labels, strict=True):
        role = _UD.get(label) or _UD.get(label.partition(":")[0]) or Role.OTHER
        node.role = role
    for node in found:
        if node.role is Role.COPULA and node.head >= 0:
            found[node.head].copula = True


def _from_clear(found: Sequence[Node], labels: Sequence[str]) -> None:
    for node, label in zip(found, labels, strict=True):
        node.role = _CLEAR.get(label, Role.OTHER)
    _lift_copulas(found, labels)
    _lower_prepositions(found, labels)


def _lift_copulas(found: Sequence[Node], labels: Sequence[str]) -> None:
    """`attr` and `acomp` under a copula, or else its first prepositional phrase, take its place."""
    below: list[list[int]] = [[] for _ in found]
    for node in found:
        if node.head >= 0:
            below[node.head].append(node.index)
    for verb in found:
        if verb.lemma != "be" or verb.role in (Role.AUXILIARY, Role.PASSIVE):
            continue
        there = any(labels[i] == "expl" for i in below[verb.index])
        predicate = next((i for i in below[verb.index] if labels[i] in ("attr", "acomp")), None)
        if predicate is None:
            preps = [i for i in below[verb.index] if labels[i] == "prep"]
            inner = [j for i in preps for j in below[i] if labels[j] == "pobj"]
            predicate = preps[0] if inner and not there else None
        if there:
            if predicate is not None:
                found[predicate].role = Role.SUBJECT
            continue
        if predicate is None:
            continue
        top = found[predicate]
        top.role, top.head, top.copula = verb.role, verb.head, True
        for i in below[verb.index]:
            if i != predicate:
                found[i].head = predicate
        verb.head, verb.role = predicate, Role.COPULA
    for node in found:
        above = found[node.head] if node.head >= 0 else None
        if labels[node.index] in ("attr", "acomp") and above is not None and not node.copula:
            node.role = Role.COMPLEMENT if above.role is not Role.COPULA else node.role


def _lower_prepositions(found: Sequence[Node], labels: Sequence[str]) -> None:
    """A preposition's noun hangs where the preposition hung, the preposition is its case."""
    for node in found:
        if labels[node.index] not in ("pobj", "pcomp"):
            continue
        chain: list[int] = []
        above = node.head
        while above >= 0 and labels[above] in ("prep", "agent", "dative"):
            if found[above].copula or found[above].role in (Role.ROOT, Role.CLAUSE):
                chain.append(above)
                break
            chain.append(above)
            above = found[above].head
            if above >= 0 and labels[above] not in ("prep", "agent", "dative"):
                break
        if not chain:
            continue
        top = found[chain[-1]]
        agent = labels[chain[-1]] == "agent"
        _hang(found, node, top, agent)
        node.case = [found[i].text for i in reversed(chain)]
        node.marks = sorted(chain)
        for i in chain:
            for other in found:
                if other.head == i and other.index != node.index and other.index not in chain:
                    other.head = node.index
            found[i].head, found[i].role, found[i].copula = node.index, Role.CASE, False


def _hang(found: Sequence[Node], node: Node, top: Node, agent: bool) -> None:
    if top.copula or top.head < 0:
        node.head, node.role, node.copula = top.head, top.role, top.copula
        if top.role is Role.CASE:
            node.role = Role.ROOT
        return
    node.head = top.head
    above = found[top.head]
    nominal = above.pos in ("NOUN", "PROPN", "PRON", "NUM") and not above.copula
    node.role = Role.AGENT if agent else Role.OF_NOUN if nominal else Role.PLACE
