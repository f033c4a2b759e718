"""Captions with exact truth: true paragraphs with inserted errors, all labeled by the oracle.

The label of every sentence is the oracle's verdict on the final text, in its final context; a
caption whose text and claims disagree is never returned.
"""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from revise_captions.picturebook.captioners import ERROR_TYPES
from revise_captions.picturebook.language.edits import Edit
from revise_captions.picturebook.language.errors import corrupt_form
from revise_captions.picturebook.language.paragraphs import write_paragraph
from revise_captions.picturebook.language.rationales import explain
from revise_captions.picturebook.language.realize import (
    Unsayable,
    noun_phrase,
    realize,
)
from revise_captions.picturebook.language.writer import TrueSentence
from revise_captions.picturebook.oracle.truth import (
    Truth,
    check_clauses,
    failures_of,
    judge,
    read,
    split_sentences,
)
from revise_captions.picturebook.semantics.claims import NP, SceneClaim, SentenceForm
from revise_captions.picturebook.semantics.discourse import State, resolve
from revise_captions.picturebook.semantics.facts import refer
from revise_captions.picturebook.semantics.lexicon import PEOPLE
from revise_captions.picturebook.world.scene import Scene
from revise_captions.records import Span

#: How often to keep a sentence that an earlier error made false.
MISLED_KEPT = 0.35
EQUAL_WEIGHTS: Mapping[str, float] = dict.fromkeys(ERROR_TYPES, 1.0)


@dataclass(frozen=True, slots=True)
class CaptionSentence:
    """A sentence of a caption.

    Attributes:
        span: Place in the caption, `[start, end)` in code points.
        truth: By the oracle.
        assessable: Whether it makes a claim about the picture.
        needs_context: Whether it can only be understood after the text before it.
        error_type: "" for true sentences.
        rationales: What is wrong, in several wordings; only if `truth` is FALSE.
        rewrite: The true sentence in its place; "" if only deletion helps.
    """

    span: Span
    truth: Truth
    assessable: bool
    needs_context: bool
    error_type: str = ""
    rationales: tuple[str, ...] = ()
    rewrite: str = ""


@dataclass(frozen=True, slots=True)
class Caption:
    """A caption and its sentences."""

    text: str
    sentences: tuple[CaptionSentence, ...]


@dataclass(frozen=True, slots=True)
class WrongSentence:
    """A false sentence, with its rationales and the true sentence it should be."""

    text: str
    form: SentenceForm
    error_type: str
    needs_context: bool
    rationales: tuple[str, ...]
    rewrite: str


def corrupt(
    scene: Scene,
    context: str,
    sentence: TrueSentence,
    rng: random.Random,
    error_type: str | None = None,
    weights: Mapping[str, float] = EQUAL_WEIGHTS,
) -> WrongSentence | None:
    """A sentence with one error of the given type (else of a type drawn by `weights`), FALSE in
    its context. None if the sentence has no place for such an error.
    """
    state = State()
    for part in split_sentences(context):
        state = read(scene, state, part)[1]
    types = [error_type] if error_type else _drawn(weights, rng)
    return _corrupt(scene, state, sentence, rng, types)


def _drawn(weights: Mapping[str, float], rng: random.Random) -> list[str]:
    """Error types of any weight in random order, heavier ones likelier to come first."""
    drawn = [name for name, weight in weights.items() if weight > 0]
    return sorted(drawn, key=lambda t: -(rng.random() ** (1 / max(weights[t], 1e-9))))


def _corrupt(
    scene: Scene, state: State, sentence: TrueSentence, rng: random.Random, types: list[str]
) -> WrongSentence | None:
    if sentence.form is None:
        return None
    for error_type in types:
        edit = corrupt_form(scene, state, sentence.form, rng, error_type)
        if edit is None:
            continue
        wrong = _worded(scene, state, sentence.text, edit, rng)
        if wrong is not None:
            return wrong
    return None


def _worded(
    scene: Scene, state: State, true_text: str, edit: Edit, rng: random.Random
) -> WrongSentence | None:
    """The wrong sentence in words, if the oracle judges it FALSE and it can be explained."""
    try:
        text = realize(edit.form)
    except Unsayable:
        return None
    truth, after = read(scene, state, text)
    if truth is not Truth.FALSE:
        return None
    found = explain(scene, state, after, edit.form, edit, true_text, text, rng)
    if not found:
        return None
    alone = judge(scene, State(), edit.form.clauses)[0]
    return WrongSentence(
        text, edit.form, edit.error_type, alone is not Truth.FALSE, found, true_text
    )


def caption(
    scene: Scene,
    rng: random.Random,
    *,
    error_rate: float,
    error_weights: Mapping[str, float] = EQUAL_WEIGHTS,
    sentences: int = 7,
    richness: float | None = None,
) -> Caption:
    """Writes a caption with about a given share of wrong sentences.

    Args:
        scene: What is true.
        rng: Determines everything else.
        error_rate: Share of sentences to make wrong, in [0, 1].
        error_weights: Relative frequency by error type.
        sentences: How many sentences to aim for.
        richness: How much a noun phrase says about what it introduces, in [0, 1]; None draws it.

    Returns:
        The caption with its labels, by the oracle. Sentences are joined by a space, now and then by
        a newline.
    """
    paragraph = write_paragraph(scene, rng, sentences=sentences, richness=richness)
    visual = sum(sentence.assessable for sentence in paragraph)
    rate = min(0.97, error_rate * len(paragraph) / max(visual, 1))
    gap = rng.random()
    text, made, state = "", [], State()
    for sentence in paragraph:
        labeled = _next_labeled(scene, state, sentence, rng, rate, error_weights)
        if labeled is None:
            continue
        words, label, state = labeled
        space = "" if not text else "\n" if gap < 0.05 and rng.random() < 0.3 else " "
        start = len(text) + len(space)
        text += space + words
        made.append(replace(label, span=Span(start, len(text))))
    return Caption(text, tuple(made))


def _next_labeled(
    scene: Scene,
    state: State,
    sentence: TrueSentence,
    rng: random.Random,
    rate: float,
    weights: Mapping[str, float],
) -> tuple[str, CaptionSentence, State] | None:
    """One sentence of the final caption: wrong or not, and labeled in its current context.

    None if an earlier error removed what the sentence refers to.
    """
    nowhere = Span(0, 0)
    if sentence.form is None:
        return sentence.text, CaptionSentence(nowhere, Truth.NOTHING, False, False), state.next()
    truth, after = read(scene, state, sentence.text)
    if truth is Truth.TRUE and rng.random() < rate:
        wrong = _corrupt(scene, state, sentence, rng, _drawn(weights, rng))
        if wrong is not None:
            after = read(scene, state, wrong.text)[1]
            return wrong.text, _label(wrong), after
    if truth is Truth.TRUE:
        alone = judge(scene, State(), sentence.form.clauses)[0]
        label = CaptionSentence(nowhere, Truth.TRUE, True, alone is not Truth.TRUE)
        return sentence.text, label, after
    if truth is Truth.FALSE and rng.random() < MISLED_KEPT:
        follow = _misled(scene, state, after, sentence, rng)
        if follow is not None:
            return sentence.text, _label(follow), after
    return None


def _label(wrong: WrongSentence) -> CaptionSentence:
    return CaptionSentence(
        Span(0, 0), Truth.FALSE, True, wrong.needs_context, wrong.error_type, wrong.rationales,
        wrong.rewrite,
    )  # fmt: skip


def _misled(
    scene: Scene, state: State, after: State, sentence: TrueSentence, rng: random.Random
) -> WrongSentence | None:
    """A sentence that an earlier error made false: what it refers to is not there.

    "There is a dog. It is white." where there is a white cat: the rewrite names the cat.
    """
    form = sentence.form
    if form is None or len(form.clauses) != 1 or isinstance(form.clauses[0], SceneClaim):
        return None
    clause = form.clauses[0]
    found = resolve(clause.subject, scene, state)
    if found.ids or not clause.preds or clause.subject.det not in ("it", "he", "she"):
        return None
    if not found.kinds:
        return None
    for thing in scene.things:
        np = refer(scene, thing, rng)
        if np is None or (thing.kind in PEOPLE) == (clause.subject.det == "it"):
            continue
        right = replace(form, clauses=(replace(clause, subject=np),))
        if judge(scene, state, right.clauses)[0] is Truth.TRUE:
            no = noun_phrase(NP("no", found.kinds[:1]))
            return _named_again(scene, state, after, form, no, realize(right))
    return None


def _named_again(
    scene: Scene, state: State, after: State, form: SentenceForm, no: str, rewrite: str
) -> WrongSentence | None:
    """The misled sentence with its rationales, if the oracle agrees. `no`: "no dog"."""
    if read(scene, state, rewrite)[0] is not Truth.TRUE:
        return None
    true = rewrite[0].lower() + rewrite[1:-1]
    texts = (
        f"There is {no} in the picture; {true}.",
        f"There is {no}, but {true}.",
        f"There is {no} in the picture. {rewrite}",
    )
    failing = failures_of(scene, state, form.clauses)
    kept = tuple(text for text in texts if check_clauses(scene, failing, after, text))
    return WrongSentence(realize(form), form, "context", True, kept, rewrite) if kept else None
