"""Orders in a rationale, which is data: a small model may take them for orders to itself."""

from __future__ import annotations

import re

from revise_captions.text.sentences import split

#: Of the rules here; part of the signature.
VERSION = "orders/1"
#: With these a sentence begins only as an order; those may also name a thing ("Stop signs").
_ONLY = (
    "ignore|disregard|forget|reply|respond|rewrite|translate|repeat|summari[sz]e|say|speak|tell|"
    "act|behave|pretend|describe|explain|give|make|write"
)
_ALSO = "stop|print|output|answer|talk|list|count|sing"
_POLITE = r"\W*(?:(?:please|now|then|and|just)\W+)*"
_ORDERS = re.compile(rf"{_POLITE}(?:{_ONLY})\b", re.IGNORECASE)
_MAY_ORDER = re.compile(rf"{_POLITE}(?:{_ALSO})\b", re.IGNORECASE)
_STATES = re.compile(r"\b(?:is|are|was|were|has|have|shows?|looks?|appears?)\b|->", re.IGNORECASE)
_ADDRESSES = re.compile(r"\b(?:you|your|yourself|me)\b", re.IGNORECASE)
_TAKES_OVER = re.compile(
    r"\b(?:previous|earlier|prior|all|your)\s+(?:\w+\s+)?(?:instructions?|prompts?|rules|tasks?)\b"
    r"|\bsystem\s*(?::|prompt|override|message)|\bfrom\s+now\s+on\b|\bassistant\s*:|<\|"
    r"|\byou\s+are\s+(?:now|an?|no\s+longer)\b",
    re.IGNORECASE,
)


def without_orders(rationale: str) -> str:
    """A rationale without the sentences that tell the reader what to do.

    "Replace red with blue." stays: it says what is wrong. So does what begins like an order and
    states something ("Stop signs are red.").
    """
    sentences = [span.of(rationale) for span in split(rationale)]
    left = [sentence for sentence in sentences if not _is_order(sentence)]
    return rationale if len(left) == len(sentences) else " ".join(left)


def _is_order(sentence: str) -> bool:
    if _TAKES_OVER.search(sentence) or _ORDERS.match(sentence):
        return True
    states = _STATES.search(sentence) and not _ADDRESSES.search(sentence)
    return bool(_MAY_ORDER.match(sentence)) and not states
