"""Visual verification: the critic judges single components of a caption.

Each component becomes a short sentence of its own (`graphs.statements`), which the critic judges as
a caption of one sentence.

This checks consistency, not truth: a critic that asked for the revision agrees with itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from revise_captions.graphs.grading.components import Part
from revise_captions.graphs.graph import Graph
from revise_captions.graphs.statements import speaker_of
from revise_captions.records import Span, Verdict

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.critic.protocol import Critic


@dataclass(frozen=True, slots=True)
class ComponentQuestion:
    """One component as a sentence. `phrase` is its short name, `span` its place in the text."""

    text: str
    part: Part
    phrase: str
    span: Span


def questions(graph: Graph) -> list[ComponentQuestion]:
    """A sentence for every component that the text asserts, without duplicates."""
    graph = graph.present()
    speaker = speaker_of(graph)
    made = [
        ComponentQuestion(speaker.exists(i), Part.OBJECT, item.name, item.span)
        for i, item in enumerate(graph.objects)
    ]
    for said in graph.attributes:
        phrase = f"{said.value} {graph.objects[said.object].name}"
        text = speaker.has(said.object, said.value, said.kind)
        made.append(ComponentQuestion(text, Part.ATTRIBUTE, phrase, said.span))
    for edge in graph.relations:
        ends = graph.objects[edge.subject].name, graph.objects[edge.target].name
        text = speaker.stands(edge.subject, edge.name, edge.target)
        made.append(
            ComponentQuestion(text, Part.RELATION, f"{ends[0]} {edge.name} {ends[1]}", edge.span)
        )
    unique: dict[str, ComponentQuestion] = {}
    for item in made:
        unique.setdefault(item.text, item)
    return list(unique.values())


@dataclass(frozen=True, slots=True)
class ComponentAnswer:
    """A question with the critic's verdict. `yes` is None if unscored."""

    question: ComponentQuestion
    verdict: Verdict
    yes: bool | None


def look(
    asked: Sequence[tuple[Image, Sequence[ComponentQuestion]]], critic: Critic
) -> list[tuple[ComponentAnswer, ...]]:
    """The critic's answers, in order. Equal questions about one image are asked once."""
    from revise_captions.critic.protocol import JudgeRequest, chosen

    places: dict[tuple[int, str], int] = {}
    paragraphs: list[JudgeRequest] = []
    for image, items in asked:
        for item in items:
            if (id(image), item.text) not in places:
                places[id(image), item.text] = len(paragraphs)
                paragraphs.append(JudgeRequest(image, item.text, (Span(0, len(item.text)),)))
    whose = chosen(critic, [request.image for request in paragraphs])
    verdicts = [found[0] for found in critic.judge(paragraphs)] if paragraphs else []

    def answer(image: Image, item: ComponentQuestion) -> ComponentAnswer:
        place = places[id(image), item.text]
        p = verdicts[place].p_factual
        yes = None if p is None else p >= whose[place].threshold
        return ComponentAnswer(item, verdicts[place], yes)

    return [tuple(answer(image, item) for item in items) for image, items in asked]
