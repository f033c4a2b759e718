"""Framed sentences: the same facts in many frames, for training.

A critic that knows “There is a dog.” may affirm “A dog is visible.” of any picture, and mistake a
denial for an affirmation. So present and absent things are affirmed and denied here in many frames,
joined to true sentences, and occasionally written in capitals. Whether a thing is there, and
whether the frame denies it, are drawn independently, so no frame gives its truth away. A truth is
the oracle's verdict on the text; for a frame that it cannot parse, on “There is a …”.
"""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace

from revise_captions.picturebook.language.auxiliary_sentences import (
    AuxiliarySentence,
    auxiliary_sentences,
)
from revise_captions.picturebook.language.captions import CaptionSentence
from revise_captions.picturebook.language.realize import Unsayable, noun_phrase
from revise_captions.picturebook.language.replacements import imagined
from revise_captions.picturebook.oracle.truth import Truth, oracle
from revise_captions.picturebook.semantics.claims import NP, Constraint, Has, Placed, Stands
from revise_captions.picturebook.semantics.facts import (
    SHARE,
    absent_kinds,
    features,
    landmarks,
    may_say,
    place_facts,
    refer,
    relation_form,
)
from revise_captions.picturebook.semantics.lexicon import (
    ANIMALS,
    NUMBERS,
    PEOPLE,
    PICTURE_WORDS,
    PLAIN_SHOW_VERBS,
    SHOW_VERBS,
)
from revise_captions.picturebook.world.scene import KINDS, WORDS, Scene, Thing

#: `{a}`: "a dog"; `{n}`, `{ns}`: the noun, singular and plural, with what is said of it.
AFFIRMING = (
    "there is {a}", "there is {a} in the {picture}", "{a} is visible", "{a} is present",
    "{a} is in the {picture}", "{a} is visible in the {picture}", "{a} can be seen",
    "{a} can be seen in the {picture}", "{a} appears in the {picture}", "{a} appears",
    "the {picture} {shows} {a}", "this {picture} {shows} {a}", "you can see {a}", "we can see {a}",
    "one can see {a}", "we see {a}", "you see {a}", "{a} exists in the {picture}",
    "{a} is present in the {picture}", "{a} is there", "the {picture} contains {a}",
    "the {picture} includes {a}", "there is {a} somewhere in the {picture}",
    "in the {picture}, there is {a}", "in the {picture} we see {a}", "there is also {a}",
    "this is a {picture} of {a}", "{a} is shown", "somewhere in the {picture} there is {a}",
    "at least one {n} is visible", "there is at least one {n}", "{a} is part of the {picture}",
    "i can see {a}", "{a} can be spotted", "{a} can be found in the {picture}",
    "the {picture} features {a}", "the {picture} also {shows} {a}", "a {picture} with {a}",
    "among other things, there is {a}", "what we see includes {a}", "{a} is depicted",
    "the {picture} has {a}", "here there is {a}", "here is {a}", "notice {a}", "it {shows} {a}",
    "clearly, there is {a}", "{a} is found here", "what is visible is {a}",
    "note that there is {a}", "look, there is {a}", "look at {a}", "you will find {a}",
    "if you look for {a}, you find it", "there is even {a}", "even {a} is visible",
    "{a} is not absent", "{a} is not missing", "there is something like {a}",
    "with {a} in it, the {picture} is not empty", "among the things is {a}",
)  # fmt: skip
DENYING = (
    "there is no {n}", "there are no {ns}", "there is no {n} in the {picture}", "there is not {a}",
    "there isn't {a}", "there is not {a} in the {picture}", "the {picture} does not {show} {a}",
    "this {picture} does not {show} {a}", "the {picture} doesn't {show} {a}",
    "the {picture} {shows} no {n}", "no {n} is visible", "no {n} can be seen",
    "no {ns} are visible", "no {n} is present", "no {n} is in the {picture}",
    "no {n} appears in the {picture}", "no {ns} can be seen", "{a} is not visible",
    "{a} is not present", "{a} cannot be seen", "{a} does not appear in the {picture}",
    "{a} is not in the {picture}", "you cannot see {a}", "we cannot see {a}", "we do not see {a}",
    "you do not see {a}", "you can see no {n}", "we see no {n}", "the {picture} contains no {n}",
    "the {picture} includes no {n}", "the {picture} does not contain {a}",
    "the {picture} does not include {a}", "in the {picture}, there is no {n}", "{a} is not there",
    "no {n} is there", "{a} can't be seen", "{a} isn't visible", "we don't see {a}",
    "{a} is missing", "{a} is absent", "{a} is nowhere to be seen", "the {picture} lacks {a}",
    "the {picture} is without {a}", "there aren't any {ns}", "there are not any {ns}",
    "there isn't any {n}", "not a single {n} is visible", "no {n} is shown", "{a} is not shown",
    "i see no {n}", "i do not see {a}", "nobody can see {a}", "there is no sign of {a}",
    "a {picture} without {a}", "no {n} is to be found", "{a} is not depicted",
    "nowhere is {a} visible", "nowhere in the {picture} is {a}", "nowhere is there {a}",
    "nowhere do we see {a}", "nowhere does {a} appear", "the {picture} has no {n}",
    "here there is no {n}", "in this {picture} there is no {n}", "it {shows} no {n}",
    "it does not {show} {a}", "never do we see {a}", "neither {a} nor anything like it is visible",
    "clearly, there is no {n}", "no {n} is found here", "{a} is not found here", "no {n} here",
    "not one {n} is visible", "we look for {a} in vain", "one does not see {a}", "{a} is not seen",
    "there are zero {ns}", "the {picture} is free of {ns}", "note that there is no {n}",
    "not even one {n} can be seen", "there is not even one {n}", "there is nothing like {a}",
    "nothing like {a} is visible", "look, there is no {n}", "you will not find {a}",
    "if you look for {a}, you find none", "the {picture} is without any {n}",
)  # fmt: skip
DENIALS = (
    "it is not true that {s}", "it is not true that {s}", "it is not the case that {s}",
    "it is false that {s}", "it is untrue that {s}", "it's not true that {s}",
)  # fmt: skip
AFFIRMATIONS = ("it is true that {s}", "it is the case that {s}")
#: Other nouns for a kind, and nouns for several.
SYNONYMS = {"boat": "sailboat", "dog": "puppy", "cat": "kitten", "house": "cottage"}
GROUPS: dict[str, tuple[str, ...]] = {
    "animal": ANIMALS, "pet": ("dog", "cat"), "child": PEOPLE, "kid": PEOPLE, "person": PEOPLE,
    "vehicle": ("car", "boat"), "plant": ("tree", "flower"),
}  # fmt: skip
#: How often each is drawn: what is there, a fact denied, several clauses joined.
WEIGHTS = {"existence": 5.0, "denial": 2.0, "joined": 4.0}
#: Shares of sentences in upper case (short ones), in title case and in lower case, and of number
#: words that are written as digits.
UPPER, TITLE, LOWER, DIGITS = 0.07, 0.03, 0.03, 0.25
LONGEST_UPPER = 70
_NUMBER = re.compile(rf"\b({'|'.join(word for word in NUMBERS if word != 'one')})\b")


def framed_sentences(
    scene: Scene, rng: random.Random, count: int, caption: Sequence[CaptionSentence], text: str
) -> list[AuxiliarySentence]:
    """Draws at most `count` framed sentences, which follow from `rng`.

    Args:
        scene: What is true.
        rng: Decides everything else.
        count: How many, if there is enough to say.
        caption: The sentences of a caption of the scene: some are denied right after it.
        text: The caption.
    """
    made: list[AuxiliarySentence] = []
    for _ in range(3 * count):
        if len(made) == count:
            break
        kind = rng.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        one = {"existence": _existence, "joined": _joined}.get(kind, _denial)(scene, rng)
        if kind == "denial" and rng.random() < 0.5:
            one = _denied_after(scene, rng, caption, text)
        if one is not None:
            if not one.after and len(caption) > 1 and kind != "denial" and rng.random() < 0.4:
                one = replace(one, after=rng.randrange(1, len(caption)))
            made.append(_spelled(one, rng))
    return made


def _checked(scene: Scene, text: str, rewrite: str) -> AuxiliarySentence | None:
    """A sentence labeled by the oracle; None if it cannot judge it, or its rewrite."""
    text, rewrite = _sentence(text), _sentence(rewrite)
    truth = oracle(scene, "", text)
    if truth is Truth.TRUE:
        return AuxiliarySentence(text, True)
    if truth is not Truth.FALSE or oracle(scene, "", rewrite) is not Truth.TRUE:
        return None
    return AuxiliarySentence(text, False, rewrite)


def _existence(scene: Scene, rng: random.Random) -> AuxiliarySentence | None:
    """Something present or absent, in a frame that affirms or denies it.

    The rewrite is the same frame with a present thing in place of an absent one, or vice versa.
    """
    there, gone = _noun_phrase(scene, rng, True), _noun_phrase(scene, rng, False)
    if there is None or gone is None:
        return None
    denied = rng.random() < 0.5
    frame = rng.choice(DENYING if denied else AFFIRMING)
    if rng.random() < 0.12:
        frame, denied = rng.choice(DENIALS).format(s=frame), not denied
    words = {
        "picture": rng.choice(PICTURE_WORDS), "show": rng.choice(PLAIN_SHOW_VERBS),
        "shows": rng.choice(SHOW_VERBS),
    }  # fmt: skip
    both = []
    for np in (there, gone):
        try:
            phrases = {
                "a": noun_phrase(np), "n": noun_phrase(replace(np, det="no"))[3:],
                "ns": noun_phrase(replace(np, det="no", count=0))[3:],
            }  # fmt: skip
        except Unsayable:
            return None
        both.append(frame.format(**words, **phrases))
        plain = oracle(scene, "", f"There is {phrases['a']}.")
        if plain is not (Truth.TRUE if np is there else Truth.FALSE):
            return None
    right, wrong = reversed(both) if denied else both
    for text, truth in ((right, Truth.TRUE), (wrong, Truth.FALSE)):
        if oracle(scene, "", _sentence(text)) not in (truth, Truth.UNPARSED):
            return None
    if rng.random() < 0.5:
        return AuxiliarySentence(_sentence(right), True)
    return AuxiliarySentence(_sentence(wrong), False, _sentence(right))


def _noun_phrase(scene: Scene, rng: random.Random, there: bool) -> NP | None:
    """ "a dog", "a small red car", "a tree next to the house", "an animal", there or not."""
    here = {t.kind for t in scene.things}
    roll = rng.random()
    if roll < 0.12:
        nouns = [n for n, kinds in GROUPS.items() if bool(here & set(kinds)) == there]
        noun = rng.choice(nouns) if nouns else ""
        return NP("a", GROUPS[noun], noun=noun) if noun else None
    thing = imagined(scene, _absent(scene, rng), rng)
    if there or roll < 0.35:
        thing = rng.choices(scene.things, [1 - SHARE[t.kind] for t in scene.things])[0]
    if not there and roll < 0.35:
        return _changed(scene, thing, rng)
    synonym = SYNONYMS.get(thing.kind, "") if rng.random() < 0.25 else ""
    return NP("a", (thing.kind,), _told(scene, thing, rng, there), noun=synonym)


def _absent(scene: Scene, rng: random.Random) -> str:
    """A kind that is not there, mostly one that could be."""
    here = {t.kind for t in scene.things}
    likely = absent_kinds(scene)
    kinds = likely if likely and rng.random() < 0.7 else [k for k in KINDS if k not in here]
    return rng.choices(kinds, [SHARE[k] for k in kinds])[0]


def _told(scene: Scene, thing: Thing, rng: random.Random, there: bool) -> tuple[Constraint, ...]:
    """What is said about a thing: mostly nothing, sometimes how it looks or where it is."""
    roll = rng.random()
    if roll < 0.6 or thing.kind in ("sun", "moon"):
        return ()
    if roll < 0.85:
        return tuple(features(scene, thing, rng, 0.7))
    if roll < 0.92 or not there:
        places = place_facts(thing) if there else [Placed(rng.choice(("left", "right")))]
        return tuple(rng.sample(places, min(1, len(places))))
    for relation, other in landmarks(scene, thing, rng)[:3]:
        np = refer(scene, other, rng, plain=True)
        if np is not None:
            return (Stands(relation, np, relation_form(relation, rng)),)
    return ()


def _changed(scene: Scene, thing: Thing, rng: random.Random) -> NP | None:
    """A thing that is there, with one color that is not."""
    told = features(scene, thing, rng, 1.0)
    at = [i for i, fact in enumerate(told) if isinstance(fact, Has)]
    if not at:
        return None
    index = rng.choice(at)
    fact = told[index]
    assert isinstance(fact, Has)
    slot = fact.slot or KINDS[thing.kind].main
    values = [v for v in KINDS[thing.kind].slots.get(slot, ()) if v not in ("none", fact.value)]
    values = [v for v in values if may_say(scene, thing.kind, slot, v)]
    if not values:
        return None
    told[index] = replace(fact, value=rng.choice(values))
    return NP("a", (thing.kind,), tuple(told))


def _denial(scene: Scene, rng: random.Random) -> AuxiliarySentence | None:
    """ "It is not true that the dog is white." """
    drawn = auxiliary_sentences(scene, rng, 1)
    wrong = [one for one in drawn if not one.factual]
    if not wrong:
        return None
    frame = rng.choice(AFFIRMATIONS if rng.random() < 0.2 else DENIALS)
    both = [frame.format(s=_clause(s)) for s in (wrong[0].rewrite, wrong[0].text)]
    if rng.random() < 0.5:
        both.reverse()
    return _checked(scene, *both)


def _denied_after(
    scene: Scene, rng: random.Random, caption: Sequence[CaptionSentence], text: str
) -> AuxiliarySentence | None:
    """A sentence of the caption denied (or affirmed) right after it."""
    at = [i for i, s in enumerate(caption[:-1]) if s.assessable]
    if not at:
        return None
    told = [
        i for i in at if caption[i].truth is (Truth.TRUE if rng.random() < 0.5 else Truth.FALSE)
    ]
    index = rng.choice(told or at)
    before = text[: caption[index].span.end]
    frame = rng.choice(AFFIRMATIONS if rng.random() < 0.2 else DENIALS)
    made = frame.format(s=_clause(caption[index].span.of(text)))
    made = f"{made[0].upper()}{made[1:]}."
    truth = oracle(scene, before, made)
    if truth not in (Truth.TRUE, Truth.FALSE):
        return None
    return AuxiliarySentence(made, truth is Truth.TRUE, after=index + 1)


def _joined(scene: Scene, rng: random.Random) -> AuxiliarySentence | None:
    """Two to five sentences as one, all true or all but one."""
    drawn = auxiliary_sentences(scene, rng, rng.choice((2, 3, 4, 5, 5)))
    if len(drawn) < 2:
        return None
    rights = [_clause(one.text if one.factual else one.rewrite) for one in drawn]
    wrongs = [i for i, one in enumerate(drawn) if not one.factual]
    clauses = list(rights)
    if wrongs and rng.random() < 0.55:
        index = rng.choice(wrongs)
        clauses[index] = _clause(drawn[index].text)
    last = rng.choice((" and ", ", and ", ", while ", "; ") if len(rights) == 2 else
                      (", and ", " and ", ", "))  # fmt: skip
    comma = rng.choice((", ", ", ", " and ", "; "))
    return _checked(scene, *(comma.join(some[:-1]) + last + some[-1] for some in (clauses, rights)))


def _sentence(clause: str) -> str:
    return f"{clause[0].upper()}{clause[1:]}."


def _clause(sentence: str) -> str:
    """A sentence as a part of another."""
    return sentence[0].lower() + sentence[1:].rstrip(".")


def _spelled(one: AuxiliarySentence, rng: random.Random) -> AuxiliarySentence:
    """The sentence unchanged or, occasionally, in capitals, lower case or with digits."""
    roll, digits = rng.random(), rng.random() < DIGITS
    signs = any(word in one.text + one.rewrite for word in WORDS)

    def spelled(text: str) -> str:
        if digits:
            text = _NUMBER.sub(lambda match: str(NUMBERS[match[0]]), text)
        if roll < UPPER and len(one.text) <= LONGEST_UPPER:
            return text.upper()
        if signs:  # a word on a sign is in capitals
            return text
        if UPPER <= roll < UPPER + TITLE:
            return text.title().replace("'S", "'s").replace("'T", "'t")
        if UPPER + TITLE <= roll < UPPER + TITLE + LOWER:
            return text.lower()
        return text

    return replace(one, text=spelled(one.text), rewrite=spelled(one.rewrite))
