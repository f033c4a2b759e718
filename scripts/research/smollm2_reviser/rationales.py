"""What critics say of a fault, in many voices."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from scripts.research.frame.data import beside
from scripts.research.smollm2_reviser.faults import Fault, articled, capital, one_or_many

SAID = beside(__file__, "voices.toml")
#: What critics call a thing that the sentence calls by another name.
_SYNONYMS = {
    "man": "person guy male", "woman": "person lady female", "boy": "child kid",
    "girl": "child kid", "person": "individual", "people": "persons", "men": "people",
    "women": "people", "children": "kids", "dog": "animal", "cat": "animal", "horse": "animal",
    "cow": "animal", "car": "vehicle", "truck": "vehicle", "bus": "vehicle",
    "airplane": "plane aircraft", "plane": "aircraft airplane", "bicycle": "bike",
    "bike": "bicycle", "motorcycle": "motorbike", "couch": "sofa", "sofa": "couch", "shirt": "top",
    "jacket": "coat", "photo": "picture", "building": "structure", "house": "building",
    "bowl": "dish", "cup": "mug", "road": "street",
}  # fmt: skip
_SHORT = 5


def core(fault: Fault, rng: random.Random, unheard: bool = False) -> str:
    """What is wrong, without capital and full stop."""
    kind = fault.kind if fault.kind in SAID["heard"] else "quality"
    template: str = rng.choice(SAID["unheard" if unheard else "heard"][kind])
    if ("{thing}" in template and not fault.thing) or ("{frame" in template and not fault.frame):
        template = "{it} {is} {right}, not {wrong}" if fault.right else '"{wrong}" is wrong'
        if kind == "object":
            template = "{it} {is} {Right}, not {Wrong}"
    wrong, thing = fault.wrong.strip(), fault.thing
    if kind == "clause" and len(wrong.split()) > _SHORT and rng.random() < 0.4:
        wrong = " ".join(wrong.split()[:_SHORT]) + rng.choice((" …", "...", ""))
    if kind != "phrase" and thing in _SYNONYMS and rng.random() < 0.2:
        thing = rng.choice(_SYNONYMS[thing].split())
    right = one_or_many(fault.right, fault.many)
    singular = kind == "count" and fault.right == "one"
    text = template.format(
        thing=thing, right=fault.right, wrong=wrong, a_thing=one_or_many(thing, fault.many),
        Right=right, Wrong=one_or_many(wrong, fault.many), frame_right=fault.frame.format(right),
        right_thing=one_or_many(f"{fault.right} {thing}", fault.many),
        wrong_thing=one_or_many(f"{wrong} {thing}", fault.many),
        **{"is": "are" if fault.many else "is", "it": "they" if fault.many else "it",
           "do": "do" if fault.many else "does"},
    )  # fmt: skip
    if singular:
        text = text.replace("there are only one", "there is only one")
        text = text.replace("there are one", "there is one")
    return text


_STYLES = ("“{}”", "'{}'", "«{}»", "« {} »", "‘{}’", "`{}`", "{}")


def _quoted(text: str, rng: random.Random) -> str:
    """The text with its quotation marks in one of several styles."""
    style = rng.choice(_STYLES) if rng.random() < 0.3 else '"{}"'
    return re.sub(r'"([^"]+)"', lambda match: style.format(match[1]), text)


def rationale(
    faults: Sequence[Fault], others: Sequence[str], voice: str, rng: random.Random
) -> str:
    """One rationale for all faults.

    Args:
        faults: At least one.
        others: Things of the sentence that are right.
        voice: `plain`, `hedged`, `long` or `unheard`.
        rng: Its random choices.
    """
    said = [core(fault, rng, voice == "unheard") for fault in faults]
    rng.shuffle(said)
    if len(said) > 1 and rng.random() < 0.15:
        mark = rng.choice(("{}. {}.", "({}) {};", "- {1}."))
        return " ".join(mark.format(n, capital(one)) for n, one in enumerate(said, 1))
    text = said[0]
    for one in said[1:]:
        form = rng.choice(SAID["joins"])
        text = form.format(text, capital(one) if form == "{}. {}" else one)
    if voice == "hedged":
        text = (
            rng.choice(SAID["hedges"]) + text
            if rng.random() < 0.7
            else text + rng.choice(SAID["doubts"])
        )
    elif rng.random() < 0.4:
        text = rng.choice(SAID["intros"]) + text
    else:
        text = rng.choice(SAID["plain"]) + text
    text = ". ".join(capital(part) for part in text.split(". "))
    if voice == "long" and others:
        other = rng.choice(list(others))
        be = "are" if other.endswith("s") else "is"
        if rng.random() < 0.6:
            before = rng.choice(SAID["right"]).format(other=other, be=be)
            text = before + (text if before.endswith(". ") else text[:1].lower() + text[1:])
        if rng.random() < 0.7:
            text = text + "." + rng.choice(SAID["rest"]).format(other=other, be=be)
    text = text if text.endswith(".") or rng.random() < 0.12 else text + "."
    text = _quoted(articled(text), rng)
    return text if rng.random() > 0.06 else text[:1].lower() + text[1:]


def nothing_left(subject: str, many: bool, rng: random.Random) -> str:
    """A rationale after which no part of the sentence can stay."""
    if subject and rng.random() < 0.8:
        fault = Fault("phrase", 0, 0, "", subject, subject, many)
        text = core(fault, rng)
        return capital(articled(text)) + "."
    return str(rng.choice(SAID["nothing"]))
