"""The prompts of the R2C branch (VELA, appendix J).

The paper prints one system message per perspective, a user turn with references and candidate, and
the beginning of the answer, “Score:”. Without references (Table 7), their line is left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from revise_captions.engines.protocol import Data, Part, Prompt, Template

#: The paper's perspectives, in its order.
PERSPECTIVES = ("descriptiveness", "relevance", "fluency")
#: The name of Table 8's single score. Its prompt is not printed; relevance is the perspective that
#: the raters of Flickr8k-Expert and Composite were asked about, so its prompt is used.
OVERALL = "overall"
#: The beginning of the assistant turn.
ANSWER = "Score:"
#: Part of every card, as another wording makes another metric.
VERSION = "appendix-J"

_ONLY = "Only give a number from 1 to 5 with no text."
_DESCRIPTIVENESS = f"""\
Evaluate the descriptiveness of the candidate caption based on the reference captions and the \
provided image. Focus only on how detailed the caption is, regardless of relevance. Refer to the \
following criteria:
- 5: Extremely detailed - Captures all objects, relationships, and attributes in the image with \
precise and complete descriptions, including spatial relationships and overall context.
- 4: Detailed - Captures most objects and relationships but lacks some elements.
- 3: Partially detailed - Mentions key objects but misses spatial relationships or additional \
details.
- 2: Insufficient detail - Mentions only a few objects correctly, with many elements missing.
- 1: Very poor detail - Mentions almost no objects and fails to represent the image content.
{_ONLY}"""
_RELEVANCE = f"""\
Evaluate the relevance of the candidate caption to the provided image considering the reference \
captions. Focus solely on how well the caption aligns with the image content, ignoring fluency or \
descriptiveness. Refer to the following criteria:
- 5: Fully relevant - Accurately describes the image content with no errors.
- 4: Mostly relevant - Contains minor errors but is generally aligned with the image content.
- 3: Partially relevant - Includes significant errors but some parts relate to the image.
- 2: Barely relevant - Contains many errors and deviates significantly from the image content.
- 1: Not relevant - Contains numerous errors and fundamentally mismatches the image.
{_ONLY}"""
_FLUENCY = f"""\
Evaluate the fluency of the candidate caption, focusing solely on its grammatical correctness, \
naturalness, and readability. Ignore the content's relevance or descriptiveness. Refer to the \
following criteria:
- 5: Very fluent - No errors or only one minor error; reads naturally as proper English sentences.
- 4: Fluent - Contains some errors but is overall natural and easy to understand.
- 3: Partially fluent - Noticeable errors but still comprehensible.
- 2: Lacking fluency - Many errors that make it hard to read.
- 1: Not fluent - Excessive errors that make it incomprehensible.
{_ONLY}"""
_SYSTEM = {
    "descriptiveness": _DESCRIPTIVENESS,
    "relevance": _RELEVANCE,
    "fluency": _FLUENCY,
    OVERALL: _RELEVANCE,
}


def prompt_for(perspective: str, candidate: str, references: Sequence[str]) -> Prompt:
    """The prompt of one perspective.

    Args:
        perspective: One of `PERSPECTIVES`, or `OVERALL`. A user-defined one, such as
            “faithfulness”, uses the prompt of `OVERALL`.
        candidate: The caption to score.
        references: Reference captions; () for the reference-free prompt.
    """
    parts: list[Part] = []
    if references:
        parts.append(Template("Reference Captions: "))
        for number, reference in enumerate(references):
            parts += [Template("\n")] if number else []
            parts.append(Data(reference))
        parts.append(Template("\n"))
    parts += [Template("Candidate Caption: "), Data(candidate)]
    return Prompt(tuple(parts), _SYSTEM.get(perspective, _RELEVANCE))
