"""POSH's questions as the authors' code asks them, with prompts from the user's copy of that code.

The prompts are `precision.json` and `recall.json` in the code's `posh/scorers/prompts`; none of
them are shipped. Besides the wording, the code differs from the paper's pseudocode (A.1.3):

* an object without rivals is also called by each of its attributes, and one with rivals also by
  the text's other names for it;
* a part is also what another object has, holds or wears; the parts of parts are asked about
  together with the parts;
* of an object's identifiers, the first with the highest rounded score counts, and names the object
  in further questions;
* if nothing else distinguishes objects, one is called by a relation, with the identifier of the
  object at its other end;
* "our left" and "our right" are not objects to ask about or score; a knight's being "to our left"
  is a relation ("to") between the two.

What still differs: the code reads the five answers out of the 20 likeliest tokens, counting "10" as
1, where ours are the tokens 1 to 5. It also asks about relations to "us" ("faces us"); we do not.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from revise_captions.engines.protocol import Prompt, Template
from revise_captions.engines.templates import filled
from revise_captions.errors import UserError
from revise_captions.graphs.graph import Graph
from revise_captions.graphs.words import listed
from revise_captions.posh.identifiers import By, Identifier, surfaces

FILES = ("precision.json", "recall.json")
_KEYS = ("prefix", "verifiers", "rewrite", "instructions")
_HOLDING = listed(
    "have has had having hold holds holding contain contains contained containing wear wears wore "
    "wearing"
)
Names = Mapping[int, str]


@dataclass(frozen=True, slots=True)
class ReleasedQuestions:
    """The authors' questions.

    Attributes:
        precision: Their texts about a generation's components, as in `precision.json`.
        recall: Those about a reference's.
    """

    precision: Mapping[str, Any]
    recall: Mapping[str, Any]

    version = "the authors'"

    @classmethod
    def read(cls, folder: Path) -> ReleasedQuestions:
        """Reads the user's copy. Raises `UserError` if the files are not the authors'."""
        found = []
        for name in FILES:
            path = folder / name
            try:
                texts = json.loads(path.read_text(encoding="utf-8"))
                whole = all(key in texts for key in _KEYS)
            except (OSError, ValueError, TypeError) as error:
                raise UserError(
                    f"cannot read the prompts in {path}: {error}",
                    hint="--prompts is the folder posh/scorers/prompts of the authors' code "
                    "(github.com/amith-ananthram/posh)",
                ) from None
            if not whole:
                raise UserError(
                    f"{path} has not all of {', '.join(_KEYS)}", hint="is it the authors' file?"
                )
            found.append(texts)
        return cls(*found)

    def entity(self, target: str, source: str, identifier: str, *, precision: bool) -> Prompt:
        """Is an object mentioned?"""
        return self._asked("entity", target, source, precision, {"entity_identifier": identifier})

    def attribute(
        self, target: str, source: str, identifier: str, value: str, *, precision: bool
    ) -> Prompt:
        """Is an object described this way? "To our left" is a relation to our left."""
        if side := _beside_us(value):
            ends = (identifier, side)
            name = value.removesuffix(side).rstrip()
            return self.relation(target, source, ends, name, precision=precision)
        values = {"entity_identifier": identifier, "attribute": value}
        return self._asked("attribute", target, source, precision, values)

    def relation(
        self, target: str, source: str, identifiers: tuple[str, str], name: str, *, precision: bool
    ) -> Prompt:
        """Is the relation between two objects described this way?"""
        first, second = identifiers
        values = {"entity1_identifier": first, "entity2_identifier": second, "relation": name}
        return self._asked("relation", target, source, precision, values)

    def rewrite(self, identifier: str, *, of_relation: bool) -> Prompt:
        """Make a noun phrase of an identifier."""
        text = self.recall["rewrite"]["relation" if of_relation else "attribute"]
        return Prompt(filled(text, {"entity_identifier": identifier}))

    def _asked(
        self, kind: str, target: str, source: str, precision: bool, values: Mapping[str, str]
    ) -> Prompt:
        texts = self.precision if precision else self.recall
        texts_of = {"target_text": target, "source_text": source, "text": target}
        head = filled(texts["prefix"] + "\n\n", texts_of)
        question = filled(texts["verifiers"][kind], values)
        return Prompt(
            (*head, *question, Template("\n\n" + texts["instructions"])), shared=len(head)
        )

    def level(self, graph: Graph, index: int) -> int:
        """0 for a whole, 1 for a part."""
        return 1 if _wholes(graph, index) else 0

    def better(self, new: float, known: float) -> bool:
        """Whether an identifier's score replaces an earlier one's."""
        return round(new) > round(known)

    def candidates(
        self, graph: Graph, index: int, names: Names, absent: Sequence[int]
    ) -> list[Identifier]:
        """Identifiers of an object: by name, by quality, by other names, by relation.

        Args:
            graph: Whose object it is.
            index: Its index.
            names: Identifiers of the objects found so far.
            absent: Objects that were asked about and not found.
        """
        item = graph.objects[index]
        same = [i for i, o in enumerate(graph.objects) if o.lemma == item.lemma and not o.denied]
        found: list[tuple[int, Identifier]] = []
        owners = [whole for whole in sorted(_wholes(graph, index)) if whole in names]
        forms = [("{}", same)] * (not owners or len(same) == 1)
        forms += [
            (f"{{}} of {names[whole]}", [i for i in same if whole in _wholes(graph, i)])
            for whole in owners
        ]
        for form, rivals in forms:
            others = [i for i in rivals if i != index]
            own = list(_told(graph, index, form, others))
            found += own or list(_by_relation(graph, index, form, others, names, absent))
        found.sort(key=lambda one: one[0])
        unique = {one.text: one for _, one in reversed(found)}
        return list(unique.values())[::-1] or [Identifier(forms[0][0].format(item.name), By.NAME)]


def _beside_us(value: str) -> str:
    """ "Our left" for "standing to our left"; "" if an attribute names no side of ours."""
    return next((side for side in ("our left", "our right") if value.endswith(f" {side}")), "")


def _wholes(graph: Graph, index: int) -> set[int]:
    """The objects that an object is part of, or that have it."""
    part_of = graph.objects[index].part_of
    having = {
        edge.subject
        for edge in graph.relations
        if edge.target == index and edge.subject != index and edge.name in _HOLDING
    }
    return having | ({part_of} if part_of is not None else set())


def _told(
    graph: Graph, index: int, form: str, others: Sequence[int]
) -> Iterator[tuple[int, Identifier]]:
    """Identifiers by name if it is unique, and by attributes and other names that no rival has."""
    name = graph.objects[index].name
    if not others:
        yield 0, Identifier(form.format(name), By.NAME)
    theirs = {said.value for i in others for said in graph.attributes_of(i)}
    for said in graph.attributes_of(index):
        if said.value not in theirs and not _beside_us(said.value):
            yield 1, Identifier(f"{said.value} {form.format(name)}", By.ATTRIBUTE)
    called = {other.text for i in others for other in surfaces(graph, i)}
    for other in surfaces(graph, index):
        if other.text not in called:
            yield 2, Identifier(form.format(other.text), By.NAME)


def _by_relation(
    graph: Graph,
    index: int,
    form: str,
    others: Sequence[int],
    names: Names,
    absent: Sequence[int],
) -> Iterator[tuple[int, Identifier]]:
    """Identifiers by relations that no rival has, those with it as the subject first."""
    told = {(e.name, e.target) for i in others for e in graph.relations_of(i) if e.subject == i}
    heard = {(e.name, e.subject) for i in others for e in graph.relations_of(i) if e.target == i}
    name = graph.objects[index].name
    for edge in graph.relations_of(index):
        subject = edge.subject == index
        other = edge.target if subject else edge.subject
        if (edge.name, other) in (told if subject else heard) or other in absent:
            continue
        first = next((said.value for said in graph.attributes_of(other)), "")
        far = names.get(other) or f"{first} {graph.objects[other].name}".strip()
        if subject:
            yield 3, Identifier(f"{name} {edge.name} {far}", By.RELATION)
        else:
            said = f'{form.format(name)} with relation "{far} {edge.name} {name}"'
            yield 4, Identifier(said, By.RELATION)
