"""What scene-graph annotators do with a noun, counted from FACTUAL's training part.

FACTUAL (Li et al. 2023; MIT, captions and graphs from Visual Genome, CC BY 4.0) has 37,861 region
descriptions with graphs. `make_lexicon.py` counts in them which nouns annotators take for objects
and which nouns before a noun they keep in the name ("street sign") or turn into an attribute
("metal pole"); `lexicon.json`, beside this file, has the result.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from revise_captions.graphs.inflect import forms, gerund
from revise_captions.graphs.words import BEINGS, BODY, CLOTHES, NO_OBJECTS, VISIBLE, listed

_FILE = Path(__file__).with_name("lexicon.json")
_ABSTRACT = listed("ity ness ance ence tion sion ism ship hood dom ility ology ency ancy")


@dataclass(frozen=True, slots=True)
class Lexicon:
    """`objects`: nouns that were objects; `others`: words that hardly ever were.

    `joined`, `parted`: pairs of words that stay one name, or do not, against the rule for the
    first word alone; `qualifying`: first words that become attributes; `owned`: pairs of a whole
    and its part; `parts`: second words that mostly are parts of the first; `verbs`: lemmas.
    """

    objects: frozenset[str]
    others: frozenset[str]
    joined: frozenset[str]
    parted: frozenset[str]
    qualifying: frozenset[str]
    owned: frozenset[str]
    parts: frozenset[str]
    verbs: frozenset[str]


@cache
def _lexicon() -> Lexicon:
    found = json.loads(_FILE.read_text(encoding="utf-8"))
    return Lexicon(**{key: frozenset(found[key].split("|")) for key in Lexicon.__slots__})


@cache
def is_depictable(lemma: str) -> bool:
    """Whether a noun names something that can be seen, if only a part or a texture."""
    return lemma in VISIBLE or is_named(lemma)


@cache
def is_named(lemma: str) -> bool:
    """Whether annotators write a noun down: known objects, or words that are not plainly abstract
    and not among those that they hardly ever took for an object.
    """
    known = _lexicon()
    if lemma in NO_OBJECTS or lemma in known.others:
        return False
    return lemma in known.objects or not lemma.endswith(tuple(_ABSTRACT))


@cache
def belongs(modifier: str, head: str, *, adjective: bool = False) -> bool:
    """Whether a modifier right before a noun is a part of its name ("street sign", "hot dog")."""
    known, pair = _lexicon(), f"{modifier} {head}"
    if pair in known.joined:
        return True
    if adjective or "-" in modifier or pair in known.parted:
        return False
    return modifier not in known.qualifying


@cache
def is_one(first: str, second: str) -> bool:
    """Whether annotators write two words as one name ("fire hydrant")."""
    return f"{first} {second}" in _lexicon().joined


@cache
def is_part(modifier: str, head: str) -> bool:
    """Whether a noun before a noun names the whole ("giraffe horn", "car trunk")."""
    known, pair = _lexicon(), f"{modifier} {head}"
    if pair in known.owned:
        return True
    if pair in known.joined or pair in known.parted:
        return False
    body = head in BODY - CLOTHES - _MARKS and modifier in BEINGS
    whole = head in known.parts or body or (modifier in _INSIDE and head in _FIXTURES)
    return whole and modifier in known.objects and modifier not in known.qualifying


#: Marks like a tiger's, wherever they are.
_MARKS = listed("stripe spot")
_INSIDE = listed("bathroom restroom house train car cabin building hotel")
_FIXTURES = listed("wall floor sink roof ceiling window")


@cache
def verb_forms() -> dict[str, str]:
    """Every form of the verbs that captions use, to its lemma."""
    return forms(verb for verb in sorted(_lexicon().verbs) if verb not in PREPOSITIONS)


@cache
def verb_of(text: str, noun: str) -> str:
    """The lemma of a form that is a verb as well as a noun ("surges" to "surge"); "": it is none.

    Args:
        text: The form.
        noun: Its lemma as a noun.
    """
    import simplemma

    known = verb_forms().get(text)
    if known is not None:
        return known
    return noun if simplemma.is_known(gerund(noun), lang="en") else ""


@cache
def is_object(lemma: str) -> bool:
    """Whether annotators took a noun for an object at all."""
    return lemma in _lexicon().objects


PREPOSITIONS = listed(
    "in on at by with of over under above below behind beside near inside outside alongside next "
    "around across along through into onto against between among beneath underneath beyond from "
    "to toward towards atop off within amidst down up past for like about as than the left right "
    "out away before after during until on"
)
