"""The type of error that a critic's rationale describes, derived from its words.

    object      something is missing, or is something else
    count       there are more, or fewer
    attribute   color, size, material, pattern, shape
    relation    position of one thing relative to another
    action      an activity or a pose
    text        written text
    setting     place, time, weather
    other       none of these

A rationale says what is wrong and what is there instead (VNLI-Critique, section 3). Its type comes
from the words that it negates (“not red”, “rather than two”, “no dog”) or, without a negation, from
the words that the sentence lacks. The rules were written for the picture-book world, against whose
ground truth they are tested (`tests/pipelines/test_error_types.py`); they have not been measured on
other rationales.
"""

from __future__ import annotations

import re

from revise_captions.graphs.words import COLORS, NUMBERS, SHADES, listed

TYPES = ("object", "count", "attribute", "relation", "action", "text", "setting", "other")

_ATTRIBUTES = (
    COLORS
    | SHADES
    | listed(
        "small large big little tiny huge tall short long wide narrow thick thin striped plain "
        "dotted spotted checkered chequered patterned solid wooden metal metallic plastic glass "
        "stone brick leather round square rectangular oval empty full old young new bare shiny "
        "transparent curly straight smooth rough color colored colour coloured"
    )
)
_SETTINGS = listed(
    "scene scenes setting weather day daytime night nighttime indoors outdoors indoor "
    "outdoor sunny rainy cloudy snowy clear foggy stormy overcast sunset sunrise dusk dawn morning "
    "evening afternoon summer winter autumn spring beach meadow street room forest city kitchen "
    "bedroom office desert walls raining snowing foggy"
)
_RELATIONS = listed(
    "left right above below behind beneath under underneath over beside near between inside "
    "outside on in at against across around atop next front far"
)
_POSES = listed("asleep awake seated upright")
_NO_ACTIONS = listed(
    "wearing carrying holding having being building ceiling morning evening nothing something "
    "anything during painting clothing awning railing raining snowing"
)
_WRITTEN = re.compile(
    r"\b(?:says?|reads?|reading|written|spells?|spelled|letters?|lettering|inscription|labell?ed"
    r"|the words?|text)\b"
)
_ABSENT = re.compile(
    r"\bthere (?:is|are|was|were) (?:no\b|not (?:any|an?)\b)|^no \w+|[.;,] no \w+"
    r"|\b(?:is|are) not (?:visible|present|shown|there|seen|in the (?:image|picture|photo|scene))"
    r"|\bdo(?:es)? not (?:show|contain|include|depict)\b|\bmissing\b|\babsent\b"
)
#: What is denied: the words after the marker, up to the next punctuation mark or contrast.
_DENIED = re.compile(
    r"\b(?:rather than|instead of|not|no|nor)\b\s+([^.;,]*?)(?=[.;,]|\bbut\b|\band\b|\brather\b|$)"
)
_WORD = re.compile(r"[a-z]+|\d+")
_LITTLE = listed(
    "a an the is are was were be been it its he she they his her their him them this that these "
    "those to of by with and but in on at there here can could seen picture image photo shows show "
    "actually fact instead rather than not no only very has have does do wearing"
)


def type_of(sentence: str, rationale: str) -> str:
    """One of `TYPES`, for a rationale about `sentence`."""
    said = " ".join(rationale.lower().split())
    if not said:
        return "other"
    if _WRITTEN.search(said) and not _ABSENT.search(said):
        return "text"
    denied = [_words(found[1]) for found in _DENIED.finditer(said)]
    for words in denied:
        if kind := _denied_kind(words, said):
            return kind
    if _ABSENT.search(said) or any(denied):
        return "object"
    return _new_kind(_words(said), frozenset(_words(sentence.lower())))


def _words(text: str) -> list[str]:
    return _WORD.findall(text)


def _denied_kind(words: list[str], said: str) -> str | None:
    """The type of the negated words; None for an object or nothing."""
    if not words:
        return None
    content = [word for word in words if word not in _LITTLE]
    if words[0] in NUMBERS and (len(content) < 2 or _counted_twice(content[-1], said)):
        return "count"
    if any(word in _SETTINGS for word in content):
        return "setting"
    if words[0] in ("to", "on", "in", "at") or words[0] in _RELATIONS:
        return "relation"
    if _is_action(words[0]) or (len(content) == 1 and content[0] in _POSES):
        return "action"
    if content and content[0] in _ATTRIBUTES and (
        len(content) == 1 or said.count(content[-1]) > 1 or content[1] in _ATTRIBUTES
    ):  # fmt: skip
        return "attribute"
    return None


def _counted_twice(noun: str, said: str) -> bool:
    """Whether the noun of a negated count (“three boats”) is mentioned again."""
    return len(re.findall(rf"\b{re.escape(noun.rstrip('s'))}", said)) > 1


def _is_action(word: str) -> bool:
    return word in _POSES or (word.endswith("ing") and len(word) > 4 and word not in _NO_ACTIONS)


def _new_kind(said: list[str], sentence: frozenset[str]) -> str:
    """The type of a rationale without negation, from the words that the sentence lacks."""
    new = [word for word in said if word not in sentence and word not in _LITTLE]
    if any(word in _SETTINGS for word in new):
        return "setting"
    if any(_is_action(word) for word in new):
        return "action"
    if any(word in NUMBERS for word in said if word not in sentence):
        return "count"
    if any(word in _RELATIONS for word in new):
        return "relation"
    if any(word in _ATTRIBUTES for word in new):
        return "attribute"
    if any(word in _RELATIONS for word in said):
        return "relation"
    return "object" if new else "other"
