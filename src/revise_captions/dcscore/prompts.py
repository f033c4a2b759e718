"""The prompts for language models, with one prompt and one schema per step.

The steps are the paper's (2503.07906, section 3.1): decomposition, matching, and verification "by
utilizing both image and human-written caption". The paper prints its prompts (Tables 13 to 15) as
pictures, so these are our own wording. Without a human-written caption, as in FeedQuill's training,
the question is FeedQuill's, verbatim (section 4.1). Captions and units are data: they never become
part of the chat format.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from revise_captions.engines.protocol import Data, Part, Picture, Prompt, Template

if TYPE_CHECKING:
    from PIL.Image import Image

VERSION = "dcscore/2"
WORDS = ("Yes", "No")

UNITS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "units": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "descriptive": {"type": "boolean"}},
                "required": ["text", "descriptive"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["units"],
    "additionalProperties": False,
}
MATCHES_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "matches": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "unit": {"type": "integer"},
                    "references": {"type": "array", "items": {"type": "integer"}},
                },
                "required": ["unit", "references"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["matches"],
    "additionalProperties": False,
}

_DECOMPOSE = """\
Break one sentence of an image caption down into primitive information units: the smallest \
statements that can be understood and checked on their own. Each unit is a short sentence with \
one object, one attribute, one relation, one count or one written text. Name things instead of \
writing "it" or "they"; take the names from the caption. Add nothing that the sentence does not \
say. Mark a unit as descriptive if the image can show it; opinions, feelings, guesses and remarks \
about the caption itself are not descriptive. A sentence that says nothing has no units.
Answer with JSON only: {"units": [{"text": "The dog is brown.", "descriptive": true}]}

Caption:
"""
_MATCH = """\
Below are numbered statements about an image from two captions, A and B. For each statement of A, \
list the numbers of the statements of B that mention it or from which it follows logically; an \
empty list if there are none. Answer with JSON only, one entry for each statement of A:
{"matches": [{"unit": 1, "references": [2, 3]}, {"unit": 2, "references": []}]}

Statements of A:
"""


def decomposition(caption: str, sentence: str) -> Prompt:
    """Asks to decompose a sentence, in the context of its caption."""
    parts = (
        Template(_DECOMPOSE),
        Data(caption),
        Template("\n\nSentence:\n"),
        Data(sentence),
    )
    return Prompt(parts, shared=2)


def matching(units: Sequence[str], references: Sequence[str]) -> Prompt:
    """Which of the reference's statements state each unit? Both are numbered from 1."""
    parts: list[Part] = [Template(_MATCH), *_numbered(units)]
    parts += [Template("\nStatements of B:\n"), *_numbered(references)]
    return Prompt(tuple(parts))


def _numbered(texts: Sequence[str]) -> list[Part]:
    found: list[Part] = []
    for number, text in enumerate(texts, 1):
        found += [Template(f"{number}. "), Data(" ".join(text.split())), Template("\n")]
    return found


def verification(image: Image, unit: str, reference: str) -> Prompt:
    """Is a unit correct, by the image and a person's description of it? DCScore's question."""
    parts = (
        Picture(image),
        Template("A person described this image as follows:\n"),
        Data(reference),
        Template("\n\nStatement:\n"),
        Data(unit),
        Template(
            "\n\nIs the statement correct according to the image or the description? "
            "Please only answer 'yes' or 'no'"
        ),
    )
    return Prompt(parts, shared=4)


def training_verification(image: Image, unit: str) -> Prompt:
    """Is a unit correct, by the image alone? FeedQuill's question (section 4.1)."""
    question = " Is the statement correct? Please only answer 'yes' or 'no'"
    return Prompt((Picture(image), Data(unit), Template(question)), shared=1)
