"""Reads a dependency parse of either label scheme into the same nodes.

spaCy pipelines for English come with ClearNLP-style labels (`prep` → `pobj`, copulas as heads) or
with Universal Dependencies (`case` under the noun, copulas under the predicate). Here both become
UD-like nodes with few roles:

* a preposition is not a node between two words but the `case` of the lower one;
* a predicate adjective, noun or place ("is red", "is a cat", "is on the mat") stands where its
  copula stood and has the copula's subject;
* every conjunct points to the first of its row;
* a word written with hyphens ("three-story") is one node.

The extractor sees nothing else of a parser.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

from revise_captions.graphs.dependencies.attachment import attach
from revise_captions.graphs.dependencies.repairs import repair
from revise_captions.graphs.dependencies.schemes import read_labels
from revise_captions.graphs.lexicon import verb_forms
from revise_captions.graphs.rules.roles import Node, Role
from revise_captions.graphs.words import PLACES, listed

if TYPE_CHECKING:
    from spacy.tokens import Doc


_NEGATIONS = frozenset(("no", "not", "n't", "never", "without", "neither", "nor", "n’t"))


def nodes(doc: Doc) -> list[Node]:
    """The facts about a parsed document, one node a word; merged and dropped words are left as
    nodes of role OTHER without children, so that indexes are the document's.
    """
    labels = [token.dep_ for token in doc]
    found = [_node(token, number) for number, token in enumerate(doc)]
    sentence = -1
    for token, node in zip(doc, found, strict=True):
        sentence += bool(token.is_sent_start) or sentence < 0
        node.sentence = sentence
        node.head = -1 if token.head.i == token.i else token.head.i
    read_labels(found, labels)
    _join_hyphens(found)
    repair(found)
    _first_conjuncts(found)
    _case_and_flags(found)
    attach(found)
    for node in found:
        if node.head >= 0:
            found[node.head].children.append(node.index)
    return found


def _node(token: object, number: int) -> Node:
    from spacy.tokens import Token

    assert isinstance(token, Token)
    tag = token.tag_
    morph = token.morph
    plural = tag in ("NNS", "NNPS") or "Plur" in morph.get("Number", [])
    if token.pos_ == "NOUN" and not plural and not tag:
        plural = _looks_plural(token.text.lower())
    if not tag:
        forms = morph.get("VerbForm", [])
        if "Part" in forms:
            tag = "VBN" if "Past" in morph.get("Tense", []) else "VBG"
        elif "Ger" in forms:
            tag = "VBG"
    return Node(
        number,
        token.idx,
        token.idx + len(token.text),
        token.text.lower(),
        _lemma(token.text.lower(), token.lemma_.lower(), token.pos_, plural),
        "SPACE" if token.is_space else token.pos_,
        tag,
        plural,
        0,
    )


@lru_cache(maxsize=65536)
def _looks_plural(text: str) -> bool:
    import simplemma

    if not text.endswith("s") or text.endswith(("ss", "us", "is")):
        return False
    return str(simplemma.lemmatize(text, lang="en")).lower() != text


@lru_cache(maxsize=65536)
def _lemma(text: str, given: str, pos: str, plural: bool) -> str:
    """A dictionary's lemma of a verb or plural noun, and the pipeline's of words it lacks.

    Small pipelines guess a new verb's lemma by its ending ("sitt", "holde"); a dictionary does not
    know whether "building" is a noun, a tagger does.
    """
    import simplemma

    if pos in ("NOUN", "PROPN"):
        return str(simplemma.lemmatize(text, lang="en")).lower() if plural else text
    if pos in ("AUX", "VERB") and text in _BE:
        return "be"
    if pos == "AUX":
        return given or text
    if pos != "VERB":
        return text
    known = verb_forms().get(text)
    if known is not None:
        return known
    found = str(simplemma.lemmatize(text, lang="en")).lower()
    if found == text and given:
        return given
    return given if found == given + "e" else found


_BE = listed("be is are was were been being am 's 're ’s ’re")


def _join_hyphens(found: list[Node]) -> None:
    """Words joined by hyphens become the node of the one whose head lies outside."""
    start = 0
    while start < len(found):
        end = start
        while (
            end + 2 < len(found)
            and found[end + 1].text in ("-", "–")
            and found[end].end == found[end + 1].start
            and found[end + 1].end == found[end + 2].start
        ):
            end += 2
        if end > start:
            _join(found, range(start, end + 1))
        start = end + 1


def _join(found: list[Node], part: range) -> None:
    outside = [i for i in part if found[i].head not in part and found[i].text != "-"]
    top = found[outside[-1] if outside else part[-1]]
    if top.role is Role.CASE:
        top.role = Role.ADJECTIVE
    first, last = found[part[0]], found[part[-1]]
    text = "".join(found[i].text for i in part)
    if top.lemma != top.text and top.index == last.index and top.pos != "VERB":
        top.lemma = "".join(found[i].text for i in part[:-1]) + top.lemma
    else:
        top.lemma = text
    top.text, top.start, top.end = text, first.start, last.end
    for node in found:
        if node.head in part and node.index not in part:
            node.head = top.index
    for i in part:
        if i != top.index:
            found[i].role, found[i].head = Role.OTHER, top.index
            found[i].pos = "PUNCT"


def _first_conjuncts(found: Sequence[Node]) -> None:
    for node in found:
        seen = 0
        while (
            node.role is Role.CONJUNCT
            and node.head >= 0
            and found[node.head].role is Role.CONJUNCT
            and found[node.head].head >= 0
            and seen < len(found)
        ):
            node.head = found[node.head].head
            seen += 1


#: Inside a preposition of several words and not of its name: "on the right side of".
_NO_CASE = listed("'s ’s ' the a an")
_SIDES = listed("left right")


def _case_and_flags(found: Sequence[Node]) -> None:
    """Fills `case`, `passive`, `negated` from the function words."""
    for node in found:
        if node.head < 0:
            continue
        above = found[node.head]
        if node.role is Role.CASE:
            named = node.text not in (_NO_CASE | _SIDES if above.lemma in PLACES else _NO_CASE)
            if named and node.index not in above.marks:
                if above.role is Role.CASE and above.head >= 0:
                    above = found[above.head]
                above.case.append(node.text)
                above.marks.append(node.index)
            if node.text == "without":
                above.negated = True
        elif node.role is Role.PASSIVE:
            above.passive = True
        elif node.role is Role.NEGATION or node.text in _NEGATIONS:
            if node.role is not Role.CONJUNCT and node.text != "nor":
                above.negated = True
        elif node.role is Role.PASSIVE_SUBJECT:
            above.passive = True
    for node in found:
        if node.role is Role.AGENT and node.head >= 0 and found[node.head].pos in ("VERB", "ADJ"):
            found[node.head].passive = True
