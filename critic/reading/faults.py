"""What a rationale says is wrong, fault by fault, and whether it is about the sentence at all.

Given several faults, a small model overlooks one, or mixes them up; one by one, it corrects them
all. Told what is wrong with something else, it inserts those words regardless.
"""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from revise_captions.critic.reading.orders import without_orders
from revise_captions.records import Complaint
from revise_captions.text.content_words import content_keys, known_keys
from revise_captions.text.denials import denied
from revise_captions.text.sentences import split

#: Each costs a rewrite, so a rationale with more faults is treated as a whole.
MOST = 6
#: In characters; a longer rationale is treated as a whole, and exceeds the model's limit.
LONGEST = 2_000
_MORE = r"(?:also|moreover|in\s+addition|additionally|furthermore|besides|finally|further)\b"
_REST = r"(?:the\s+rest|everything\s+else|all\s+else|otherwise)\b"
_JOINT = re.compile(
    rf";\s*|,\s+and\s+|(?<=[.;,])\s+(?=\(?\d{{1,2}}[.)]\s|[-•*]\s|{_MORE}|{_REST})",
    re.IGNORECASE,
)
_IS_REST = re.compile(_REST, re.IGNORECASE)
_NUMBER = re.compile(r"^(?:\(?\d{1,2}[.)]|[-•*])\s+")
_ALSO = re.compile(rf"^(?:and\s+)?{_MORE},?\s*", re.IGNORECASE)
_QUOTED = re.compile(r"\"[^\"]*\"|“[^”]*”|«[^»]*»|`[^`]*`|‘[^’]*’|(?<!\w)'[^']*'(?!\w)")
_STATES = re.compile(
    r"\b(?:is|are|was|were|has|have|do|does|not|no|none|nothing|cannot|can|should|shows?|says?|"
    r"reads?|instead|rather|change|replace|remove|wrong|correct)\b|n['’]t|->|\?",
    re.IGNORECASE,
)
_DENIES = re.compile(
    r"\b(?:not?|none|nothing|never|neither|cannot|wrong|incorrect|unsupported|made\s+up)\b|n['’]t",
    re.IGNORECASE,
)
#: Says both what is wrong and what is right.
_EXCHANGES = re.compile(
    r",\s+not\b|\band\s+not\b|^not\b.+,|instead\s+of|rather\s+than|\bshould\s+be\b|->"
    r"|\b(?:replace|change|while|but)\b",
    re.IGNORECASE,
)
_GOES_ON = re.compile(
    r"^(?:it|they|he|she|its|their|his|her|this|that|these|those|there|correct|in\s+fact|actually|"
    r"the\s+(?:picture|image|photo|scene)\s+(?:shows|is))\b|\binstead\b(?!\s+of)",
    re.IGNORECASE,
)
_IS_ABSENT = re.compile(r"^there\s+(?:is|are)\s+no\b[^,;]*$", re.IGNORECASE)
_IS_WRONG = re.compile(r"\b(?:is|are)\s+(?:wrong|incorrect)$|\bdo(?:es)?\s+not\s+fit$", re.I)
#: Praise of what is right, up to what is wrong, if that follows.
_PRAISE = re.compile(
    r"^(?![^,;]*(?:\bnot\b|n['’]t))[^,;]*\b(?:rightly|correctly|accurate(?:ly)?|can\s+indeed|"
    r"(?:is|are)\s+as\s+described|rest\s+is\s+fine)\b[^,;]*(?:$|(?:,\s+but|;\s+however|,)[\s,]+)",
    re.IGNORECASE,
)
#: Words for the sentence and the image, which say nothing about either.
_META = frozenset(
    "image picture photo photograph sentence caption description statement claim show shows shown "
    "see seen not no none nothing".split()
)
#: Words for being wrong, or perhaps wrong; a sentence may also be about these ("a word").
FRAME = _META | frozenset(
    "text word part hallucination hallucinated invention invented speculation evidence error "
    "mistake correction wrong right correct incorrect inaccurate true false supported unsupported "
    "supports made up pure whole completely entirely entire however actually quite point contains "
    "align one visible describe describes described say says mention mentions "
    "mentioned match matches kind all perhaps likely most probably seems appears believe tell "
    "far".split()
)
_OPENING = re.compile(r"^(?!correct:)[^,:]*?(?:[,:]|\b(?:since|because))\s+(?=\S)", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:this|these|that|those|text|lettering|persons?|people|individuals?|wom[ae]n|m[ae]n|"
    r"child(?:ren)?|kids?|guys?|lad(?:y|ies)|females?|males?|animals?|vehicles?|objects?|items?|things?|"
    r"devices?|structures?|furniture|food|cloth(?:es|ing)|weather|scene|setting|background|"
    r"colou?rs?|number|count|position|location)\b",
    re.IGNORECASE,
)
_IT = re.compile(
    r"\b(?:it|its|they|them|their|he|him|his|she|her|there|i|you|one)\b", re.IGNORECASE
)


def read_faults(rationale: str, sentence: str, *, apart: bool = True) -> tuple[Complaint, ...]:
    """What a rationale calls wrong in a sentence, without instructions and praise.

    Args:
        rationale: What is wrong, as a model wrote it.
        sentence: The sentence that it is about.
        apart: Whether to separate faults; otherwise all is one fault.

    Returns:
        Faults without fixes; () if it is not about the sentence.
    """
    said = without_orders(rationale)
    found = faults(said, sentence)
    return tuple(fault_of(text, sentence) for text in (found if apart or not found else [said]))


def fault_of(text: str, sentence: str) -> Complaint:
    """One fault, from what is said about it."""
    return Complaint(text, said_wrong(text, sentence), denied=tuple(denied(text).values()))


def faults(rationale: str, sentence: str) -> list[str]:
    """The faults that a rationale names, each in its own words.

    "The cat is white, not black. Also, there is no dog; the rest is fine." names two. Clauses that
    say what is wrong and what is right about one fault stay together ("There is no dog; it is a
    cat.").

    Returns:
        The rationale itself if it plainly names one, or more than `MOST`; nothing if it is not
        about the sentence.
    """
    if len(rationale) > LONGEST:
        return [rationale]
    found: list[str] = []
    for piece, is_new in _pieces(rationale, sentence):
        if found and not is_new and _continues(piece, found[-1], sentence):
            found[-1] = f"{found[-1]}{'' if found[-1].endswith('?') else ';'} {piece}"
        else:
            found.append(piece)
    if not found and _PRAISE.match(rationale):
        return []
    # "The shadow is on a table." may be about a sentence that calls the shadow something else.
    near = " ".join([sentence, *(piece for piece in found if speaks_of(sentence, piece))])
    named = [p for p in found if speaks_of(near, p) and not _IS_REST.match(p)]
    if len(named) == 1 == len(found) or not found or len(named) > MOST:
        return [rationale] if rationale else []
    return [f"{piece[:1].upper()}{piece[1:]}." for piece in named]


def said_wrong(rationale: str, sentence: str) -> str:
    """A rationale without its praise ("The cat is described correctly, but …", "The rest is fine.")
    and without words around its claims; the rationale itself if nothing else is left."""
    if len(rationale) > LONGEST:
        return rationale
    pieces = [piece for piece, _ in _pieces(rationale, sentence) if not _IS_REST.match(piece)]
    return "; ".join(pieces) or rationale


def speaks_of(sentence: str, claim: str) -> bool:
    """Whether a claim is about a sentence.

    It is if it has a content word of the sentence, or refers to what the sentence says ("these",
    "the person"). A claim of what "it" is *not* names the fault, which the sentence should contain.
    """
    if _shares(sentence, claim) or _POINTS.search(claim):
        return True
    exact = _DENIES.search(claim) or _EXCHANGES.search(claim)
    return bool(_IT.search(claim)) and not exact


def _shares(sentence: str, claim: str) -> bool:
    """Whether they have a content word in common.

    An article counts as "one" if another number is named beside it ("Six, not one."); "wrong in
    one point" is not about it.
    """
    said = {key for _, keys in content_keys(sentence) for key in keys}
    named = [keys for word, keys in content_keys(claim) if word not in _META]
    if len({key for keys in named for key in keys if key.isdigit()}) > 1:
        said = known_keys(sentence)
    return any(keys & said for keys in named)


def _says(text: str, sentence: str) -> bool:
    """Whether a text says more than that something is wrong."""
    return _shares(sentence, text) or any(w not in FRAME for w, _ in content_keys(text))


@lru_cache(maxsize=256)
def _pieces(rationale: str, sentence: str) -> tuple[tuple[str, bool], ...]:
    """Sentences and joined clauses, without praise, numbering and connectives; each with whether
    it begins with a number or an "also".

    Cached, as one rationale is split about nine times: whole, by sentence, by fault.
    """
    pieces = []
    for span in split(rationale):
        for joint, clause in _clauses(span.of(rationale), sentence):
            text = _ALSO.sub("", _NUMBER.sub("", clause))
            is_new = text != clause or joint.startswith(",")
            text = _PRAISE.sub("", text)
            while (match := _OPENING.match(text)) and not _says(match[0], sentence):
                text = text[match.end() :]
            text = text.strip().rstrip(".;, ")
            if _says(text, sentence):
                pieces.append((text, is_new))
    return tuple(pieces)


def _clauses(text: str, sentence: str) -> Iterator[tuple[str, str]]:
    """A sentence of a rationale, split where it joins clauses that each state something.

    Each comes with what joins it to the previous one. Quoted text, and words that the sentence
    has, are not split.
    """
    quoted = [match.span() for match in _QUOTED.finditer(text)]
    start, last = 0, ""
    for joint in _JOINT.finditer(text):
        before, after = text[start : joint.start()], text[joint.end() :]
        around = f"{before.split(' ')[-1]}{joint[0]}{after.split(' ')[0]}"
        if around in sentence or any(a < joint.start() < b for a, b in quoted) or not after:
            continue
        if joint[0].startswith(",") and not (_STATES.search(before) and _STATES.search(after)):
            continue
        yield last, before.strip()
        start, last = joint.end(), joint[0]
    yield last, text[start:].strip()


def _continues(piece: str, before: str, sentence: str) -> bool:
    """Whether a clause continues the previous one's fault: what is wrong, what is right."""
    if before.endswith("?") or _stands_in(piece, before, sentence):
        return True
    if _EXCHANGES.search(piece) or _EXCHANGES.search(before):
        return False
    goes_on = _GOES_ON.search(piece) or _IS_WRONG.search(before)
    return bool(goes_on) and bool(_DENIES.search(piece)) != bool(_DENIES.search(before))


def _stands_in(piece: str, before: str, sentence: str) -> bool:
    """Whether a clause says what is there instead of an absent thing: “There is no bird. The boat
    is below the sun.” about “It is below the sun.”"""
    if not _IS_ABSENT.match(before) or any(
        rule.search(piece) for rule in (_DENIES, _EXCHANGES, _IS_REST)
    ):
        return False
    named = next((keys for word, keys in content_keys(piece) if word not in _META), None)
    return named is not None and not named & known_keys(sentence)
