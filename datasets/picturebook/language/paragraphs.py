"""True paragraphs about a scene, sentence by sentence, each aware of what was said before."""

from __future__ import annotations

import random
from collections.abc import Callable

from revise_captions.picturebook.language.elaborations import (
    attribute,
    clothes,
    follow_up,
    group,
    pair,
    relation,
    the_other,
)
from revise_captions.picturebook.language.introductions import (
    action,
    counted,
    exists,
    listed,
    negation,
    opening,
    sign,
    surroundings,
)
from revise_captions.picturebook.language.realize import realize
from revise_captions.picturebook.language.writer import (
    TrueSentence,
    Writer,
    clause_sayable,
)
from revise_captions.picturebook.oracle.nonvisual import write_nothing
from revise_captions.picturebook.oracle.truth import Truth, judge
from revise_captions.picturebook.semantics.claims import (
    Constraint,
    Has,
    Holds,
    SceneClaim,
    SentenceForm,
    Stands,
    main_slot,
)
from revise_captions.picturebook.semantics.discourse import State, by_id, resolve
from revise_captions.picturebook.semantics.facts import free
from revise_captions.picturebook.world.scene import INVERSE, Scene

TRIES = 80
#: How often a sentence that is not the last makes no claim.
NOTHING_SHARE = 0.03
Maker = Callable[[Writer, float], SentenceForm | None]


def write_paragraph(
    scene: Scene, rng: random.Random, *, sentences: int, richness: float | None = None
) -> list[TrueSentence]:
    """`sentences` true sentences about `scene` (fewer if nothing is left to say).

    `richness` in [0, 1]: how much a noun phrase says about what it introduces.
    """
    writer = Writer(scene, rng)
    writer.noun = rng.choice(("picture", "picture", "image", "image", "scene", "illustration"))
    rich = rng.uniform(0.4, 1.0) if richness is None else richness
    made: list[TrueSentence] = []
    silent = {i for i in range(1, sentences - 1) if rng.random() < NOTHING_SHARE}
    if sentences >= 3 and rng.random() < 0.3:
        silent.add(sentences - 1)
    tries = 0
    while len(made) < sentences and tries < TRIES:
        tries += 1
        if not made and rng.random() < 0.85:
            form = opening(writer, rich)
        elif len(made) in silent:
            form = None
        else:
            form = _next(writer, rich)
            if form is None:
                continue
        sentence = _accept(writer, form)
        if sentence is not None:
            made.append(sentence)
    return made


def _accept(writer: Writer, form: SentenceForm | None) -> TrueSentence | None:
    """Adds a sentence to the paragraph; None if it says nothing new or nothing true."""
    if form is None:
        text = write_nothing(writer.rng)
        if text in writer.texts:
            return None
        writer.texts.add(text)
        writer.state = writer.state.next()
        return TrueSentence(text, None, False)
    text = realize(form)
    if text in writer.texts:
        return None
    truth, after = judge(writer.scene, writer.state, form.clauses)
    if truth is not Truth.TRUE or not _sayable(writer, form):
        return None
    spoken = after.mentions[len(writer.state.mentions) :]
    subjects = [mention.ids for mention in spoken if mention.subject]
    said = _said(writer, form, subjects)
    if said <= writer.told or _repeats(writer, form, subjects):
        return None
    alone = judge(writer.scene, State(), form.clauses)[0]
    for mention in spoken:
        if mention.plural or len(mention.ids) == 1:
            writer.introduced.update(mention.ids)
    writer.state = after
    writer.texts.add(text)
    writer.told |= said
    return TrueSentence(text, form, alone is not Truth.TRUE)


def _said(writer: Writer, form: SentenceForm, subjects: list[tuple[int, ...]]) -> set[object]:
    """What a sentence says, as keys to detect repetition."""
    told: set[object] = set()
    remaining = iter(subjects)
    for clause in form.clauses:
        if isinstance(clause, SceneClaim) or clause.subject.det == "no":
            told.add(clause)
            continue
        ids = next(remaining)
        told.add((ids, "there"))
        for constraint in (*clause.subject.constraints, *clause.preds):
            told.add((ids, _plain(writer.scene, ids, constraint, writer.state)))
            if isinstance(constraint, Stands) and constraint.relation in INVERSE:
                others = resolve(constraint.other, writer.scene, writer.state).ids
                told.add((others, (INVERSE[constraint.relation], ids)))
    return told


def _repeats(writer: Writer, form: SentenceForm, subjects: list[tuple[int, ...]]) -> bool:
    """Whether a predicate says what was said before, or what its own subject says."""
    remaining = iter(subjects)
    for clause in form.clauses:
        if isinstance(clause, SceneClaim) or clause.subject.det == "no":
            continue
        ids = next(remaining)
        own = {_plain(writer.scene, ids, c, writer.state) for c in clause.subject.constraints}
        for pred in clause.preds:
            key = _plain(writer.scene, ids, pred, writer.state)
            resting = isinstance(pred, Has) and pred.slot in ("rest", "pose")
            if key in own or ((ids, key) in writer.told and not resting):
                return True
    return False


def _plain(scene: Scene, ids: tuple[int, ...], constraint: Constraint, state: State) -> object:
    """A constraint as a key: the same for all ways to say the same about the same things."""
    if isinstance(constraint, Has) and constraint.slot == "" and ids:
        kind = by_id(scene, ids)[0].kind
        return Has(main_slot(kind), constraint.value)
    if isinstance(constraint, Holds):
        return Holds(constraint.item)
    if isinstance(constraint, Stands):
        return (constraint.relation, resolve(constraint.other, scene, state).ids)
    return constraint


def _sayable(writer: Writer, form: SentenceForm) -> bool:
    """Whether no claim of the sentence uses a held-out combination."""
    if free(writer.scene):
        return True
    return all(
        isinstance(clause, SceneClaim) or clause_sayable(writer.scene, writer.state, clause)
        for clause in form.clauses
    )


def _next(writer: Writer, rich: float) -> SentenceForm | None:
    makers, weights = zip(*MAKERS, strict=True)
    return writer.rng.choices(makers, weights)[0](writer, rich)  # type: ignore[no-any-return]


MAKERS: tuple[tuple[Maker, float], ...] = (
    (exists, 5.0),
    (action, 4.0),
    (counted, 3.0),
    (listed, 1.5),
    (follow_up, 10.0),
    (attribute, 2.6),
    (clothes, 2.2),
    (relation, 3.2),
    (group, 7.0),
    (the_other, 6.0),
    (sign, 2.2),
    (surroundings, 1.2),
    (negation, 0.9),
    (pair, 0.8),
)
