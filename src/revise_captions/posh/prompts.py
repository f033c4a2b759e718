"""POSH's prompts, verbatim (A.1.4). Texts and identifiers are data, never instructions.

The paper prints one template for both directions: "(from DESCRIPTION2)" and "DESCRIPTION(1)" are
used if the question is about precision, and "the DESCRIPTION" if it is not.
"""

from __future__ import annotations

from collections.abc import Sequence

from revise_captions.engines.protocol import Data, Part, Prompt, Template

VERSION = "posh-a.1.4"
ANSWERS = ("1", "2", "3", "4", "5")

_GUIDE = (
    "\nConsider paraphrases but do NOT infer unstated details.\n\n"
    "Scoring guide -> 1: absent; 2: weak hint; 3: partial; 4: clear; 5: explicit & unambiguous.\n\n"
    "Respond ONLY with an integer 1-5."
)


def _prompt(target: str, source: str, precision: bool, question: Sequence[Part]) -> Prompt:
    """The descriptions come first and are the same for all questions of a pair: `shared`."""
    head: list[Part]
    if precision:
        head = [
            Template("DESCRIPTION1: "),
            Data(target),
            Template("\n\nDESCRIPTION2: "),
            Data(source),
            Template("\n\n"),
        ]
    else:
        head = [Template("DESCRIPTION: "), Data(target), Template("\n\n")]
    return Prompt((*head, *question, Template(_GUIDE)), shared=len(head))


def entity(target: str, source: str, identifier: str, *, precision: bool) -> Prompt:
    """Is an object mentioned?"""
    origin, where = ("” (from DESCRIPTION2)", "DESCRIPTION1") if precision else ("”", _WHERE)
    question: list[Part] = [
        Template("Q: Is an entity matching “"),
        Data(identifier),
        Template(f"{origin} mentioned in {where}?"),
    ]
    return _prompt(target, source, precision, question)


_WHERE = "the DESCRIPTION"


def attribute(target: str, source: str, identifier: str, value: str, *, precision: bool) -> Prompt:
    """Is an object described this way?"""
    origin, where = ("” (from DESCRIPTION2)", "DESCRIPTION1") if precision else ("”", _WHERE)
    question: list[Part] = [
        Template("Q: Is “"),
        Data(identifier),
        Template(f"{origin} described as “"),
        Data(value),
        Template(f"” in {where}?"),
    ]
    return _prompt(target, source, precision, question)


def relation(
    target: str, source: str, identifiers: tuple[str, str], name: str, *, precision: bool
) -> Prompt:
    """Is the relation between two objects described this way?"""
    origin, where = ("” (in DESCRIPTION2)", "DESCRIPTION1") if precision else ("”", _WHERE)
    question: list[Part] = [
        Template("Q: Is the relation between “"),
        Data(identifiers[0]),
        Template("” and “"),
        Data(identifiers[1]),
        Template(f"{origin} described as “"),
        Data(name),
        Template(f"” in {where}?"),
    ]
    return _prompt(target, source, precision, question)


def rewrite(identifier: str, *, of_relation: bool) -> Prompt:
    """Make a noun phrase of an identifier."""
    keeping = " into a grammatically correct noun phrase, keeping all details. "
    if of_relation:
        example = "“cat jumps on window” should be rewritten as “the cat jumping on the window”."
    else:
        example = "For example, “dog small” should be rewritten as “the small dog”."
    return Prompt(
        (
            Template("Rewrite “"),
            Data(identifier),
            Template(f"”{keeping}{example} Output ONLY the phrase."),
        )
    )
