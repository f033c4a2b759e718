"""Statements about a scene that show what a critic affirms or denies without looking.

Each has a family, the sentence, its truth, and how much of a caption precedes it. A truth is the
oracle's, but for words that the critic was never taught: of those nothing is there.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass

from revise_captions.picturebook.language.auxiliary_sentences import auxiliary_sentences
from revise_captions.picturebook.language.realize import article
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.picturebook.semantics.lexicon import FOREIGN
from revise_captions.picturebook.world.scene import KINDS, Scene
from scripts.research.bundled_models.held_out import Item

#: Frames as in training, and frames that no training sentence has.
AFFIRMED = (
    "There is {a}.", "{A} is visible.", "{A} can be seen.", "The image shows {a}.",
    "You can see {a}.",
)  # fmt: skip
AFFIRMED_ANEW = (
    "The picture has {a} in it.", "Here we can see {a}.", "Among the things here is {a}.",
    "Right here you can find {a}.", "It is {a} that we see here.",
)  # fmt: skip
DENIED = (
    "There is no {n}.", "The image does not show {a}.", "No {n} can be seen.",
    "{A} is not visible.", "You cannot see {a}.",
)  # fmt: skip
DENIED_ANEW = (
    "The picture has no {n} in it.", "Nowhere can {a} be seen.", "There is no {n} here.",
    "None of the things here is {a}.", "In no part of the image is there {a}.",
)  # fmt: skip
NEVER_TAUGHT = ("dragon", "zebra", "submarine", "elephant", "piano", "rocket", *FOREIGN)
#: Clauses of a joined sentence.
CLAUSES = 5


@dataclass(frozen=True, slots=True)
class SceneProbe:
    """`after`: how many sentences of the caption precede it."""

    family: str
    sentence: str
    factual: bool
    after: int = 0


def probes_of(item: Item, number: int) -> Iterator[SceneProbe]:
    """All probes of a picture; they follow from its number."""
    rng = random.Random(f"probes.{item.scene.split}.{number}")
    yield from _existence(item.scene)
    yield from _denied(item.scene, rng)
    yield from _untrue(item)
    yield from _joined(item.scene, rng)
    for word in rng.sample(NEVER_TAUGHT, 4):
        yield SceneProbe("never taught", _framed(rng.choice(AFFIRMED), word), False)
    yield from _in_capitals(item)


def _framed(frame: str, noun: str) -> str:
    a = f"{article(noun)} {noun}"
    return frame.format(a=a, A=a[0].upper() + a[1:], n=noun)


def _existence(scene: Scene) -> Iterator[SceneProbe]:
    """Every kind, there or not, in every affirming frame."""
    here = {thing.kind for thing in scene.things}
    for kind in KINDS:
        for family, frames in (("existence", AFFIRMED), ("existence, new frame", AFFIRMED_ANEW)):
            for frame in frames:
                yield SceneProbe(family, _framed(frame, kind), kind in here)


def _denied(scene: Scene, rng: random.Random) -> Iterator[SceneProbe]:
    """As many kinds that are there as are not, in every denying frame."""
    here = sorted({thing.kind for thing in scene.things})
    gone = sorted(set(KINDS) - set(here))
    count = min(4, len(here))
    for kind in (*rng.sample(here, count), *rng.sample(gone, count)):
        for family, frames in (("negation", DENIED), ("negation, new frame", DENIED_ANEW)):
            for frame in frames:
                yield SceneProbe(family, _framed(frame, kind), kind not in here)


def _untrue(item: Item) -> Iterator[SceneProbe]:
    """“*S*. It is not true that *s*.”, by the oracle's verdict in that context."""
    for after, sentence in enumerate(item.sentences[:-1][:6], 1):
        if not sentence.assessable:
            continue
        text = sentence.span.of(item.text)
        before = item.text[: sentence.span.end]
        denial = f"It is not true that {text[0].lower()}{text[1:]}"
        truth = oracle(item.scene, before, denial)
        if truth in (Truth.TRUE, Truth.FALSE):
            yield SceneProbe("negation", denial, truth is Truth.TRUE, after)


def _joined(scene: Scene, rng: random.Random) -> Iterator[SceneProbe]:
    """Five clauses, of which one is wrong, and the same sentence made right."""
    drawn = auxiliary_sentences(scene, rng, CLAUSES)
    wrong = [i for i, one in enumerate(drawn) if not one.factual]
    if len(drawn) < CLAUSES or not wrong:
        return
    chosen = rng.choice(wrong)
    right = [one.text if one.factual else one.rewrite for one in drawn]
    for factual in (True, False):
        some = [drawn[i].text if i == chosen and not factual else t for i, t in enumerate(right)]
        first, *others = [text.rstrip(".") for text in some]
        clauses = [first, *(other[0].lower() + other[1:] for other in others)]
        text = f"{', '.join(clauses[:-1])}, and {clauses[-1]}."
        if oracle(scene, "", text) is (Truth.TRUE if factual else Truth.FALSE):
            yield SceneProbe("joined", text, factual)


def _in_capitals(item: Item) -> Iterator[SceneProbe]:
    """Sentences of the caption that need no context, all in capitals."""
    for sentence in item.sentences:
        text = sentence.span.of(item.text)
        alone = oracle(item.scene, "", text)
        if sentence.assessable and alone in (Truth.TRUE, Truth.FALSE):
            yield SceneProbe("capitals", text.upper(), alone is Truth.TRUE)
