"""Turns a model's rationale into data: the one place where its text is parsed.

    “red” should be “blue”            quoted words of the sentence, and their quoted replacement
    The car is blue, not red.         and a dozen other wordings (`wordings`)
    The blue car is parked.           the sentence itself, or a part of it, with what is wrong fixed
    Oops: blue; no red to be seen.    in any wording, the likeliest of all readings (`slots`)
    The left canine is white.         a part, with other names for the same things (`alignment`)
    There is a dog, but no lamp.      what is there, for a sentence that denies something

What no wording covers is left in words, fault by fault, for a language model.
"""

from __future__ import annotations

import re
from dataclasses import replace

from revise_captions.critic.reading.absence import affirmed
from revise_captions.critic.reading.alignment import (
    fix_of_part,
    in_the_words_of,
    pairs_by_class,
    without_as_with,
    without_talk,
)
from revise_captions.critic.reading.faults import fault_of, read_faults, speaks_of
from revise_captions.critic.reading.kinds import KINDS
from revise_captions.critic.reading.orders import without_orders
from revise_captions.critic.reading.places import fix_of
from revise_captions.critic.reading.slots import likely_fix, overreaches
from revise_captions.critic.reading.statements import fixes_of_statement, nearest
from revise_captions.critic.reading.wordings import PRONOUNS, pairs
from revise_captions.records import ABSENCE, Complaint, Fix, Rationale, Span
from revise_captions.text.sentences import split

#: Version of all this parsing; part of the signature.
VERSION = "reading/4"
#: Marks words as a clause of their own rather than the end of a list.
_CLAUSE = re.compile(
    r"\b(?:is|are|was|were|has|have|do|does|should|must|can|cannot|shows?|says?|see|change|replace)\b"
    r"|n['’]t|->",
    re.IGNORECASE,
)
#: Characters; a longer rationale is left to the guards.
_UNREAD = 10_000
#: Characters; a longer text is not a list of corrections, nor a longer sentence correctable by one.
_LONGEST = 1000


def with_named_fixes(text: str, sentence: str) -> Rationale:
    """A rationale in words, with the fixes that they name.

    Args:
        text: What is wrong, as a model wrote it.
        sentence: The sentence that it is about.

    Returns:
        The text with a fix for each place that it names unambiguously; words that the sentence
        does not have, or has more than once, give none.
    """
    fixes = [fix for fault in read(text, sentence) for fix in fault.fixes]
    return Rationale(text, tuple(sorted(fixes, key=lambda fix: fix.span)))


def read(text: str, sentence: str, *, apart: bool = True) -> tuple[Complaint, ...]:
    """What a rationale calls wrong, fault by fault, with the fixes that its words name.

    Args:
        text: What is wrong, as a model wrote it.
        sentence: The sentence that it is about.
        apart: Whether to separate faults; otherwise all is one fault, in words only.

    Returns:
        Faults in the order named, with fixes that do not overlap; () if the rationale is not
        about the sentence.
    """
    if max(len(text), len(sentence)) > _UNREAD:
        return (Complaint(text, text),)
    short = apart and max(len(text), len(sentence)) <= _LONGEST
    if short and (whole := _whole(text, sentence)):
        return (Complaint(text, text, fixes=whole),)
    if not short:
        return read_faults(text, sentence, apart=apart)
    found = _read_apart(text, sentence)
    named = [fix for fault in found for fix in fault.fixes if fix.certain]
    if named and not any(overreaches(fix.right, sentence) for fix in named):
        return found
    if (fix := None if named else _aligned(text, sentence)) is not None:
        return (replace(fault_of(text, sentence), fixes=(fix,)),)
    guess = likely_fix(without_orders(text), sentence)
    if guess is not None and guess.fix.certain:
        fault = fault_of(text, sentence)
        return (replace(fault, fixes=(guess.fix,), likely=guess.likely),)
    return tuple(_less_certain(fault, sentence) for fault in found)


def _less_certain(fault: Complaint, sentence: str) -> Complaint:
    """A fault whose fixes are uncertain if they may contain words of the wording itself."""
    doubted = (
        replace(fix, certain=fix.certain and not overreaches(fix.right, sentence))
        for fix in fault.fixes
    )
    return replace(fault, fixes=tuple(doubted))


def _read_apart(text: str, sentence: str) -> tuple[Complaint, ...]:
    """Separate faults, with the fixes that wordings name."""
    found = read_faults(text, sentence)
    if not found:
        return found
    named, rest = _named_in_sentences(without_orders(text), sentence)
    if not named:
        return _apart([_with_fix(fault, sentence) for fault in found])
    left = read_faults(rest, sentence) if speaks_of(sentence, rest) else ()
    return _apart([*named, *(_with_fix(fault, sentence) for fault in left)])


def _aligned(text: str, sentence: str) -> Fix | None:
    """The fix of a rationale in no known wording, by what it has in common with the sentence."""
    plain = without_orders(text)
    for said in dict.fromkeys((in_the_words_of(sentence, plain), plain)):
        for stated in without_talk(said):
            part = fix_of_part(stated, sentence)
            if part and _speaks_so(plain, part.right):
                return part
    if there := without_as_with(plain, sentence):
        return there
    fix = next(
        (f for pair in pairs_by_class(plain, sentence) if (f := fix_of(pair, sentence))), None
    )
    if fix is None or not fix.certain:
        return None
    return replace(fix, basis="the sentence has one count, color or time to be it")


def _speaks_so(text: str, right: str) -> bool:
    """Whether the right words are a rationale's own, without the sentence's names in them."""
    own = set(re.findall(r"\w+", text.casefold()))
    return own.issuperset(re.findall(r"\w+", right.casefold()))


def _named_in_sentences(text: str, sentence: str) -> tuple[list[Complaint], str]:
    """Faults of the sentences of a rationale whose wording names them; and the other sentences."""
    pieces = [span.of(text) for span in split(text)]
    each = [_named_in(piece, sentence) for piece in pieces]
    named: list[Complaint] = []
    rest: list[str] = []
    at = 0
    while at < len(pieces):
        found, step = each[at], 1
        if not found and at + 1 < len(pieces) and not each[at + 1]:  # "Red? No, blue."
            both = _with_fix(fault_of(" ".join(pieces[at : at + 2]), sentence), sentence)
            found, step = ([both], 2) if both.fixes else ([], 1)
        named += found
        rest += [] if found else [pieces[at]]
        at += step
    return named, " ".join(rest)


def _named_in(text: str, sentence: str) -> list[Complaint]:
    """The faults of one sentence of a rationale: clause by clause if one of them names its own,
    else the one that the whole names; none if it names none."""
    parts = [_with_fix(fault, sentence) for fault in read_faults(text, sentence)]
    clauses = len(parts) > 1 and all(_CLAUSE.search(part.text) for part in parts)
    if clauses and any(part.fixes for part in parts):
        return parts
    whole = _with_fix(fault_of(text, sentence), sentence)
    return [whole] if whole.fixes else []


def _apart(faults: list[Complaint]) -> tuple[Complaint, ...]:
    """The faults without overlapping fixes: the one named first stays."""
    taken: list[Span] = []
    found = []
    for fault in faults:
        spans = [fix.span for fix in fault.fixes]
        if any(s.start < t.end and t.start < s.end for s in spans for t in taken):
            fault = replace(fault, fixes=())
        taken += [fix.span for fix in fault.fixes]
        found.append(fault)
    return tuple(found)


def _whole(text: str, sentence: str) -> tuple[Fix, ...]:
    """Fixes that the rationale as a whole justifies."""
    there = affirmed(sentence, text)
    if there is not None:
        basis = "what is there, for what is denied"
        return (Fix(Span(0, len(sentence)), there, ABSENCE, basis=basis),)
    stated = nearest(without_talk(text), sentence)
    fixes = fixes_of_statement(stated, sentence)
    if len(fixes) > 1:
        fixes = _in_earnest(fixes, stated, sentence)
    # "It is" in "It is on the left." is not talk before "on the left"
    refers = text.split(" ", 1)[0].casefold() in PRONOUNS
    return fixes_of_statement(text, sentence) if refers and not fixes else fixes


def _in_earnest(fixes: tuple[Fix, ...], stated: str, sentence: str) -> tuple[Fix, ...]:
    """Of several differences, those that are not other names for the same; none if it does not
    show which are: "Two canines are racing on a beach." of dogs that are running on sand."""
    plainer = fixes_of_statement(in_the_words_of(sentence, stated), sentence)
    if 0 < len(plainer) < len(fixes) and all(_speaks_so(stated, fix.right) for fix in plainer):
        return plainer
    closed = any(KINDS.search(f"{fix.span.of(sentence)} {fix.right}") for fix in fixes)
    return fixes if closed else ()


def _with_fix(fault: Complaint, sentence: str) -> Complaint:
    fixes = (fix_of(pair, sentence) for of in (fault.claim, fault.text) for pair in pairs(of))
    fix = next((fix for fix in fixes if fix is not None), None)
    return fault if fix is None else replace(fault, fixes=(fix,))
