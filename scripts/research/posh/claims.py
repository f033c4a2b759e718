"""How far a short claim about an image is supported by captions and labelled boxes of it.

    claim = Claim("A man rides a blue bicycle.", ("A man on a black bike.",), boxes)
    check_claims([claim], judge)[0].against      # ("blue bicycle, and captions say black",)

A claim is described, contradicted, or passed over in silence. Three votes from 0 to 1 are averaged:

* **described**: the product of its components' chances. A component that the judge found in a
  caption is sure; one that nothing speaks of keeps the chance that `silence` states for its kind.
* **words**: the share of its words that some caption has; words that claim nothing by themselves
  are left out, and a word for something in the background counts as `silence` says.
* **allowed**: 0 where boxes or captions contradict it, with the reasons, else 1.

The judge's grade of a side ("on the left") is not asked where no caption names that side: an
encoder does not tell left from right. Boxes do.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from revise_captions.graphs import words
from revise_captions.graphs.graph import Graph
from revise_captions.graphs.parse import BUNDLED, parse
from revise_captions.graphs.triples import lemmas
from revise_captions.posh.judge import LEAST, MOST, Grade, GradingTask, Judge
from scripts.research.posh import boxes as boxed
from scripts.research.posh import contradictions, unmentioned_prior

#: What a claim without any component, or without a word that claims anything, gets.
OPEN = 0.8


@dataclass(frozen=True, slots=True)
class ImageClaim:
    """`captions`: what people said of the image. `boxes`: of COCO's categories, all there are;
    none at all where nobody annotated the image.
    """

    text: str
    captions: tuple[str, ...]
    boxes: tuple[boxed.Box, ...] = ()


@dataclass(frozen=True, slots=True)
class Support:
    """Votes from 0 to 1, and what was found against the claim."""

    described: float
    words: float
    against: tuple[str, ...]

    @property
    def score(self) -> float:
        return (self.described + self.words + (not self.against)) / 3


def check_claims(
    claims: Sequence[ImageClaim], judge: Judge, pipeline: str = BUNDLED
) -> list[Support]:
    """One `Support` per claim, in order. `pipeline`: as in `graphs.parse`.

    A component that the judge does not grade counts as one that nothing speaks of.
    """
    graphs = graphs_of(claims, pipeline)
    tasks = [
        GradingTask(graphs[c.text], tuple(graphs[t] for t in references(c)), precision=True)
        for c in claims
    ]
    found = []
    for claim, task, grades in zip(claims, tasks, judge.grade(tasks), strict=True):
        told = [graphs[text] for text in claim.captions]
        said = frozenset[str]().union(*map(stems, claim.captions))
        against = (
            *boxed.against(task.source, claim.boxes, said),
            *contradictions.against(task.source, told),
        )
        known = frozenset[str]().union(*map(stems, references(claim)))
        described = _described(task.source, grades, claim.boxes, known)
        found.append(Support(described, _words(claim.text, known), against))
    return found


def references(claim: ImageClaim) -> tuple[str, ...]:
    """The captions, and the boxes as a text."""
    return (*claim.captions, boxed.as_text(claim.boxes)) if claim.boxes else claim.captions


def graphs_of(claims: Sequence[ImageClaim], pipeline: str) -> Mapping[str, Graph]:
    texts = list(dict.fromkeys(t for claim in claims for t in (claim.text, *references(claim))))
    return dict(zip(texts, (g.present() for g in parse(texts, pipeline)), strict=True))


def _described(
    graph: Graph, grades: Sequence[Grade], boxes: Sequence[boxed.Box], known: frozenset[str]
) -> float:
    """The product over components of chance + (1 - chance) · grade."""
    if not grades:
        return OPEN
    sides = dict(_sides(graph, boxes, known))
    chances = unmentioned_prior.chances(graph)
    return prod(
        chance + (1 - chance) * sides.get(k, _share(grade))
        for k, (chance, grade) in enumerate(zip(chances, grades, strict=True))
    )


def _share(grade: Grade) -> float:
    return 0.0 if grade.score is None else (grade.score - LEAST) / (MOST - LEAST)


def _sides(
    graph: Graph, boxes: Sequence[boxed.Box], known: frozenset[str]
) -> Iterator[tuple[int, float]]:
    """Components that place something on a side that no caption names, and if boxes say so."""
    first = len(graph.objects)
    named = [(item.value, item.object) for item in graph.attributes]
    named += [(edge.name, edge.subject) for edge in graph.relations]
    for k, (text, index) in enumerate(named, first):
        side = boxed.side_of(text)
        if side and side not in known:
            own = boxed.category_in(graph, index)
            mine = [box for box in boxes if own and boxed.category(box.category) == own]
            yield k, float(boxed.on_side(side, mine))


def stems(text: str) -> frozenset[str]:
    """The lemmas of a text's words."""
    spaced = "".join(c if c.isalnum() else " " for c in text.lower())
    return frozenset(lemmas(word) for word in spaced.split()) - {"", "be", "there"}


def _words(text: str, known: frozenset[str]) -> float:
    own = stems(text) - unmentioned_prior.GRAMMAR - unmentioned_prior.VAGUE
    if not own:
        return OPEN
    kinds = {boxed.category(word) for word in known}
    told = {word for word in own if word in known or _implied(word, known, kinds)}
    return (len(told) + sum(map(unmentioned_prior.of_word, own - told))) / len(own)


def _implied(word: str, known: frozenset[str], kinds: set[str]) -> bool:
    """Where a bike is, a bicycle is and a vehicle; where a man is, people are, but no woman."""
    if word in ("person", "people"):
        return "person" in kinds
    return boxed.category(word) in kinds - {"", "person"} or bool(
        words.WIDER.get(word, frozenset()) & known
    )
