"""Instructions in a rationale, which is data: a small model may follow them."""

# ruff: noqa: SIM905  (word lists read better as text)

from __future__ import annotations

import re

from revise_captions.text.content_words import FUNCTION_WORDS
from revise_captions.text.sentences import split

#: Words that begin a sentence only as an instruction; and ones that may also name a thing ("Stop
#: signs").
_ONLY = (
    "ignore|disregard|forget|reply|respond|rewrite|translate|repeat|summari[sz]e|say|speak|tell|"
    "act|behave|pretend|describe|explain|give|make|write|compose|recite|insert|append|finish"
)
_ALSO = "stop|print|output|answer|talk|list|count|sing"
_POLITE = r"\W*(?:(?:please|now|then|and|just)\W+)*"
_ORDERS = re.compile(rf"{_POLITE}(?:{_ONLY})\b", re.IGNORECASE)
_MAY_ORDER = re.compile(rf"{_POLITE}(?:{_ALSO})\b", re.IGNORECASE)
_STATES = re.compile(r"\b(?:is|are|was|were|has|have|shows?|looks?|appears?)\b|->", re.IGNORECASE)
_EXCHANGES = re.compile(r"\bnot\b|\binstead\b|\brather\b", re.IGNORECASE)
_FORBIDS = re.compile(rf"{_POLITE}(?:do\s+not|don['’]t)\s+\w", re.IGNORECASE)
#: A bare verb before an article ("Swap the first and the last word."), where no noun would stand.
_IMPERATIVE = re.compile(
    rf"{_POLITE}(?P<verb>[a-z]{{3,}}(?<!ing)(?<!ed)(?<!ly)(?<![^s]s))\s+"
    r"(?:an?|the|this|every|your|my)\s+\w",
    re.IGNORECASE,
)
#: Other words before an article: what a critic asks for or regrets, places, adverbs.
_NO_ORDERS = FUNCTION_WORDS | frozenset(
    "replace change remove delete drop strike omit use put read see note notice mind correct "
    "exchange substitute cut keep leave given got made saw took gave said left mistook behind "
    "under above below beneath underneath over near beside inside outside between among along "
    "across against through toward around opposite beyond past without within during despite "
    "except unlike like not both half such quite only even maybe perhaps never still once again "
    "here now yes none instead indeed rather almost".split()
)
_JOINT = re.compile(r"(?<=;)\s+")
_QUOTES = re.compile(r"[\"“”«»`‘]")
_ADDRESSES = re.compile(r"\b(?:you|your|yourself|me)\b", re.IGNORECASE)
_TAKES_OVER = re.compile(
    r"\b(?:previous|earlier|prior|all|your)\s+(?:\w+\s+)?(?:instructions?|prompts?|rules|tasks?)\b"
    r"|\bsystem\s*(?::|prompt|override|message)|\bfrom\s+now\s+on\b|\bassistant\s*:|<\|"
    r"|\byou\s+are\s+(?:now|an?|no\s+longer)\b|\b(?:debug|developer|admin|root)\s+mode\b"
    r"|\byour\s+(?:\w+\s+)?(?:answers?|outputs?|repl(?:y|ies)|responses?|developers?|creators?)\b",
    re.IGNORECASE,
)


def without_orders(rationale: str) -> str:
    """A rationale without the sentences and clauses that tell the reader what to do.

    "Replace red with blue." stays, as it says what is wrong. So do statements that begin like an
    instruction ("Stop signs are red.").
    """
    pieces = [piece for span in split(rationale) for piece in _clauses(span.of(rationale))]
    left = [piece for piece in pieces if not _is_order(piece)]
    return rationale if len(left) == len(pieces) else " ".join(left)


def _clauses(sentence: str) -> list[str]:
    """The parts joined by semicolons, except inside quotations."""
    return [sentence] if _QUOTES.search(sentence) else _JOINT.split(sentence)


def _is_order(sentence: str) -> bool:
    if _TAKES_OVER.search(sentence) or _ORDERS.match(sentence):
        return True
    states = bool(_STATES.search(sentence)) and not _ADDRESSES.search(sentence)
    bare = _IMPERATIVE.match(sentence)
    orders = bare is not None and bare["verb"].lower() not in _NO_ORDERS
    if orders and not _EXCHANGES.search(sentence):
        return not states
    return bool(_MAY_ORDER.match(sentence) or _FORBIDS.match(sentence)) and not states
