"""What a revision did to a caption's claims: preservation and edit scope, without a model.

Both compare the scene graphs of the caption before and after, claim by claim:

* **preservation**: the fraction of the claims in unflagged sentences that the revised caption still
  makes. Unflagged sentences are copied verbatim, but a claim can be lost all the same: "It is
  white" refers to something else once the dog's sentence is gone.
* **edit scope**: the fraction of the added and removed claims that a rationale names. A claim that
  disappeared with a flagged sentence, although no rationale objects to it, is outside the scope.

Two claims are equal if their lemmas are. A rewrite that renames an object (dog to cat) keeps what
is said of it elsewhere, unless an unflagged sentence uses the old name.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from revise_captions.graphs import words
from revise_captions.graphs.grading.components import Part
from revise_captions.graphs.graph import Graph
from revise_captions.graphs.triples import lemmas
from revise_captions.pipelines.draft import Draft, compose, flagged, settled
from revise_captions.records import Revision, Span
from revise_captions.text.content_words import content, new_content

#: Relations that say the same where a thing has, wears or carries another.
_HAVING = frozenset(("have", "with", "in", "of", "wear"))


@dataclass(frozen=True, slots=True)
class Slot:
    """A sentence before and after (None: gone), with the rationale against it."""

    before: Span
    after: Span | None
    flagged: bool
    rationale: str = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A caption, its revision, and how their sentences correspond."""

    before: str
    after: str
    slots: tuple[Slot, ...]


def change_of(revision: Revision) -> Change | None:
    """None if the stored sentences do not produce the revised caption: it was edited."""
    sentences = [settled(sentence) for sentence in revision.sentences]
    composed, after = compose(revision.caption, sentences)
    if composed != revision.revised_caption:
        return None
    threshold = revision.threshold
    now = set(flagged(Draft(None, revision.caption, tuple(sentences), threshold=threshold)))
    slots = []
    for k, (sentence, span) in enumerate(zip(sentences, after, strict=True)):
        p = sentence.verdict.p_factual
        wrong = (p is not None and p < threshold) or k in now
        touched = bool(sentence.attempts) or sentence.dropped
        said = "" if sentence.rationale is None else sentence.rationale.text
        slots.append(Slot(sentence.span, span, wrong or touched, said))
    return Change(revision.caption, composed, tuple(slots))


@dataclass(frozen=True, slots=True)
class Claim:
    """A component of a scene graph, negated ones included.

    Attributes:
        name: Lemma of the object, or of the subject.
        said: Lemma of the attribute or relation.
        target: Lemma of the relation's target.
        slot: The sentence that makes the claim, or -1.
        free: Whether an unflagged sentence makes it.
        things: The objects that it is about, by their names in this text.
    """

    part: Part
    name: str
    said: str
    target: str
    denied: bool
    phrase: str
    span: Span
    slot: int
    free: bool
    things: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[Part, str, str, str, bool]:
        """Equal for equal claims."""
        return self.part, self.name, self.said, self.target, self.denied


@dataclass(frozen=True, slots=True)
class TextCheck:
    """`kept` of `free` claims that nobody flagged are still made, `lost` are not; `named` of
    `changed` claims are named by a rationale; `removed` and `added` are the ones that are not.
    """

    free: int
    lost: tuple[Claim, ...]
    changed: int
    removed: tuple[Claim, ...]
    added: tuple[Claim, ...]

    @property
    def kept(self) -> int:
        return self.free - len(self.lost)

    @property
    def named(self) -> int:
        return self.changed - len(self.removed) - len(self.added)


def check(change: Change, before: Graph, after: Graph, said: Mapping[str, Graph]) -> TextCheck:
    """Compares the claims of both captions.

    Args:
        before: Scene graph of the caption, with negations.
        after: That of the revised caption.
        said: Those of the rationales, by text.
    """
    renamed = _renamed(change, before, after)
    old = _claims(before, [slot.before for slot in change.slots], change, renamed)
    new = _claims(after, [slot.after for slot in change.slots], change, {})
    gone, come = _unmatched(old, new), _unmatched(new, old)
    named = _Named(change, gone, come, said)
    return TextCheck(
        free=sum(claim.free for claim in old),
        lost=tuple(claim for claim in gone if claim.free),
        changed=len(gone) + len(come),
        removed=tuple(claim for claim in gone if claim not in named.gone),
        added=tuple(claim for claim in come if claim not in named.come),
    )


def _unmatched(claims: Sequence[Claim], others: Iterable[Claim]) -> list[Claim]:
    """The claims without an equal one among the others, matched one to one, unflagged first."""
    left = Counter(claim.key for claim in others)
    missing = set()
    for i in sorted(range(len(claims)), key=lambda i: not claims[i].free):
        left[claims[i].key] -= 1
        if left[claims[i].key] < 0:
            missing.add(i)
    return [claim for i, claim in enumerate(claims) if i in missing]


# --- Claims -------------------------------------------------------------------------------------


def _claims(
    graph: Graph, places: Sequence[Span | None], change: Change, renamed: Mapping[int, str]
) -> list[Claim]:
    """All claims of a graph. `renamed`: new names of objects, used in claims about them."""
    where = _Places(places)
    own = [lemmas(item.lemma) for item in graph.objects]
    names = [renamed.get(i, name) for i, name in enumerate(own)]
    free = [not slot.flagged for slot in change.slots]
    made = []
    for i, item in enumerate(graph.objects):
        homes = [where.of(span) for span in _naming(graph, i)]
        free_home = next((k for k in homes if k >= 0 and free[k]), None)
        home = where.of(item.span) if free_home is None else free_home
        phrase = f"no {item.name}" if item.denied else item.name
        made.append(
            Claim(Part.OBJECT, own[i], "", "", item.denied, phrase, item.span, home,
                  free_home is not None)
        )  # fmt: skip
    for said in graph.attributes:
        home = where.of(said.span)
        phrase = f"{'not ' * said.denied}{said.value} {graph.objects[said.object].name}"
        made.append(
            Claim(Part.ATTRIBUTE, names[said.object], lemmas(said.value), "", said.denied, phrase,
                  said.span, home, home >= 0 and free[home], (own[said.object],))
        )  # fmt: skip
    for edge in graph.relations:
        home = where.of(edge.span)
        ends = graph.objects[edge.subject].name, graph.objects[edge.target].name
        phrase = f"{ends[0]} {'not ' * edge.denied}{edge.name} {ends[1]}"
        made.append(
            Claim(Part.RELATION, names[edge.subject], relation_key(edge.name), names[edge.target],
                  edge.denied, phrase, edge.span, home, home >= 0 and free[home],
                  (own[edge.subject], own[edge.target]))
        )  # fmt: skip
    return made


class _Places:
    """Which sentence a place in the text belongs to."""

    def __init__(self, spans: Sequence[Span | None]) -> None:
        standing = [(span.start, span.end, k) for k, span in enumerate(spans) if span is not None]
        self.starts = [start for start, _, _ in standing]
        self.standing = standing

    def of(self, span: Span) -> int:
        at = bisect_right(self.starts, span.start) - 1
        if at < 0 or span.start >= self.standing[at][1]:
            return -1
        return self.standing[at][2]


def _naming(graph: Graph, index: int) -> list[Span]:
    """The mentions that name an object: not "it", not "the other one"."""
    item = graph.objects[index]
    head = lemmas(item.lemma).rpartition(" ")[2]
    own = [span for span in item.mentions if _head(span.of(graph.text)) == head]
    return own or [item.span]


def _head(text: str) -> str:
    return lemmas(text).rpartition(" ")[2]


def relation_key(name: str) -> str:
    """ "to left of" and "on the left of" are one, so are having, wearing and "with"."""
    said = " ".join(sorted(content(name)))
    return "have" if name in _HAVING or said in ("wear", "have") else said or name


def _renamed(change: Change, before: Graph, after: Graph) -> dict[int, str]:
    """Objects that only flagged sentences name, and what stands in their place: another thing that
    the rewritten sentence names. What the rationale mentions goes with what it mentions, in order.
    """
    where = _Places([slot.before for slot in change.slots])
    old = _by_slot(before, where)
    new = _by_slot(after, _Places([slot.after for slot in change.slots]))
    free = {k for k, slot in enumerate(change.slots) if not slot.flagged}
    found: dict[int, str] = {}
    for k, slot in enumerate(change.slots):
        if not slot.flagged or slot.after is None:
            continue
        ours = {i: lemmas(before.objects[i].lemma) for i in old[k]}
        theirs = [lemmas(after.objects[j].lemma) for j in new[k]]
        gone = [i for i in old[k] if ours[i] not in theirs]
        gone = [i for i in gone if not free & {where.of(span) for span in _naming(before, i)}]
        mentioned = [i for i in gone if _in(ours[i], slot.rationale)]
        others = [i for i in gone if i not in mentioned]
        come = [name for name in theirs if name not in ours.values()]
        for name in sorted(come, key=lambda name: not _in(name, slot.rationale)):
            fitting = mentioned + others if _in(name, slot.rationale) else others
            if fitting:
                found[fitting[0]] = name
                mentioned = [i for i in mentioned if i != fitting[0]]
                others = [i for i in others if i != fitting[0]]
    return found


def _by_slot(graph: Graph, where: _Places) -> dict[int, list[int]]:
    """The objects of a graph by the sentences that call them by their names."""
    found: dict[int, list[int]] = defaultdict(list)
    for i in range(len(graph.objects)):
        for k in dict.fromkeys(where.of(span) for span in _naming(graph, i)):
            found[k].append(i)
    return found


# --- What a rationale names ---------------------------------------------------------------------


class _Named:
    """The changed claims that lie within what the rationales say, `gone` and `come`: those

    1. that the rationale of their sentence says: noun, value or relation is among its words (what
       the rationale says is there has no reason to go); or it speaks of that thing's color or
       number, or of the relation of those two things;
    2. that went, and one that is named came in their place: another color of the dog, a cat for
       the dog;
    3. that went with an object that went and is named.
    """

    def __init__(
        self,
        change: Change,
        gone: Sequence[Claim],
        come: Sequence[Claim],
        said: Mapping[str, Graph],
    ) -> None:
        self.rationales = [slot.rationale if slot.flagged else "" for slot in change.slots]
        self.there = {
            text: _there(said[text]) if text in said else frozenset() for text in self.rationales
        }
        self.gone = {claim for claim in gone if self._says(claim, going=True)}
        self.come = {claim for claim in come if self._says(claim, going=False)}
        self._exchange(gone, come)
        went = {claim.name for claim in self.gone if claim.part is Part.OBJECT}
        self.gone |= {claim for claim in gone if went.intersection(claim.things)}

    def _says(self, claim: Claim, *, going: bool) -> bool:
        rationale = self.rationales[claim.slot] if claim.slot >= 0 else ""
        if not rationale:
            return False
        speaks_of_it = _in(claim.name, rationale)
        if claim.part is Part.OBJECT:
            there = going and not claim.denied and _last(claim.name) in self.there[rationale]
            return speaks_of_it and not there
        if claim.part is Part.ATTRIBUTE:
            kind = kind_of_value(claim.said)
            alike = kind and any(kind_of_value(key) == kind for key in content(rationale))
            return not new_content(claim.said, rationale) or bool(alike and going and speaks_of_it)
        if speaks_of_it and _in(claim.target, rationale):
            return True
        if claim.said == "have" or not content(claim.said):
            return _in(claim.target, rationale)
        return not new_content(claim.said, rationale)

    def _exchange(self, gone: Sequence[Claim], come: Sequence[Claim]) -> None:
        """Each named claim that came names one that went from its place in the same sentence."""
        places = Counter(_place(claim) for claim in come if claim in self.come)
        places.subtract(_place(claim) for claim in self.gone)
        for claim in gone:
            if claim not in self.gone and places[_place(claim)] > 0:
                places[_place(claim)] -= 1
                self.gone.add(claim)


def _there(graph: Graph) -> frozenset[str]:
    """The nouns of the things that a rationale says are there."""
    return frozenset(_last(lemmas(item.lemma)) for item in graph.objects if not item.denied)


def _last(name: str) -> str:
    return name.rpartition(" ")[2]


def _in(name: str, rationale: str) -> bool:
    """Whether a text has the noun of a name, in any form."""
    return not new_content(_last(name), rationale)


def _place(claim: Claim) -> object:
    """Claims with the same place in the same sentence can stand for each other."""
    if claim.part is Part.OBJECT:
        return claim.slot, claim.part
    if claim.part is Part.ATTRIBUTE:
        return claim.slot, claim.part, claim.name, kind_of_value(claim.said)
    return claim.slot, claim.part, claim.name


def kind_of_value(value: str) -> str:
    """ "colour", "count" or "": what can be exchanged for what."""
    parts = value.split()
    if words.COLORS.intersection(parts):
        return "colour"
    return "count" if parts and all(part.isdigit() for part in parts) else ""
