"""A new domain nearer than cupboards: a show in the open, drawn as the picture-book world is.

Settings and colours are those that the bundled critic knows. The things in them, their states, the
phrasings and the errors (what comes before what, what stands at an end of the row) it never saw. A
caption is a list of `cupboard.DomainClaim`s put into words, each exactly true or false.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from scripts.research.new_domains.far_domain import NUMBERS, DomainClaim, DomainSentence, spaced
from scripts.research.new_domains.far_domain import DomainThing as Exhibit

COLORS = ("red", "orange", "yellow", "green", "blue", "purple", "pink")
SETTINGS = ("meadow", "beach", "street")
SIDES = ("left", "right")
STATES = {
    "tent": ("zipped up", "wide open"),
    "windmill": ("complete", "missing a sail"),
    "snowman": ("dressed in a scarf", "without a scarf"),
    "rocket": ("smoking", "silent"),
    "mailbox": ("flagged", "without a flag"),
    "barrel": ("upright", "lying on its side"),
    "robot": ("saluting", "at ease"),
    "wagon": ("loaded with stones", "unloaded"),
}
KINDS = tuple(STATES)
ASPECTS = ("setting", "colour", "presence", "state", "order", "end", "count")


@dataclass(frozen=True, slots=True)
class Yard:
    """`exhibits`: from left to right, no kind twice. `style` seeds how it is drawn."""

    setting: str
    exhibits: tuple[Exhibit, ...]
    style: int

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(exhibit.kind for exhibit in self.exhibits)


def sample(seed: int) -> Yard:
    """A yard that follows from its seed alone."""
    rng = random.Random(f"yard.{seed}")
    kinds = rng.sample(KINDS, rng.randint(2, 5))
    exhibits = [Exhibit(k, rng.choice(COLORS), rng.choice(STATES[k])) for k in kinds]
    return Yard(rng.choice(SETTINGS), tuple(exhibits), rng.randrange(10**6))


def truth_of(yard: Yard, claim: DomainClaim) -> str:
    """What would be true in place of `claim.said`; of an order "before" or "after"."""
    if claim.aspect == "setting":
        return yard.setting
    if claim.aspect == "count":
        return NUMBERS[len(yard.exhibits)]
    if claim.aspect == "presence":
        return "there" if claim.subject in yard.kinds else "absent"
    if claim.aspect == "end":
        return yard.kinds[0 if claim.subject == "left" else -1]
    place = yard.kinds.index(claim.subject)
    if claim.aspect == "order":
        return claim.said if place < yard.kinds.index(claim.said) else claim.subject
    exhibit = yard.exhibits[place]
    return exhibit.color if claim.aspect == "colour" else exhibit.state


def is_true(yard: Yard, claim: DomainClaim) -> bool:
    return truth_of(yard, claim) == ("there" if claim.aspect == "presence" else claim.said)


def values(yard: Yard, claim: DomainClaim) -> tuple[str, ...]:
    """What could be said in a claim's place, true or false."""
    options: dict[str, Sequence[str]] = {
        "setting": SETTINGS,
        "colour": COLORS,
        "state": STATES.get(claim.subject, ()),
        "count": NUMBERS[2:6],
        "end": yard.kinds,
    }
    return tuple(options[claim.aspect])


def true_claims(yard: Yard, rng: random.Random) -> list[DomainClaim]:
    """Everything that a caption of this yard could say, all true, in random order."""
    found = [
        DomainClaim("setting", "", yard.setting),
        DomainClaim("count", "", NUMBERS[len(yard.exhibits)]),
    ]
    found += [
        DomainClaim("end", side, truth_of(yard, DomainClaim("end", side, ""))) for side in SIDES
    ]
    for place, exhibit in enumerate(yard.exhibits):
        found.append(DomainClaim("presence", exhibit.kind, ""))
        found.append(DomainClaim("colour", exhibit.kind, exhibit.color))
        found.append(DomainClaim("state", exhibit.kind, exhibit.state))
        found += [DomainClaim("order", exhibit.kind, k) for k in yard.kinds[place + 1 : place + 2]]
    rng.shuffle(found)
    return found


def corrupt(yard: Yard, claim: DomainClaim, rng: random.Random) -> DomainClaim:
    """The claim with one error in it, false of the yard."""
    if claim.aspect == "presence":
        return replace(claim, subject=rng.choice([k for k in KINDS if k not in yard.kinds]))
    if claim.aspect == "order":
        return replace(claim, subject=claim.said, said=claim.subject)
    options = [replace(claim, said=value) for value in values(yard, claim)]
    return rng.choice([option for option in options if not is_true(yard, option)])


_WORDINGS: dict[str, tuple[str, ...]] = {
    "setting": (
        "The organisers picked a {said} for all this.",
        "For once the {said} serves as an exhibition ground.",
    ),
    "colour": (
        "Somebody has painted the {subject} {said}.",
        "For the {subject} they settled on {said}.",
    ),
    "presence": (
        "Visitors get to admire a {subject}.",
        "This year's show features a {subject}.",
    ),
    "state": (
        "At the moment the {subject} happens to be {said}.",
        "One finds the {subject} {said}.",
    ),
    "order": (
        "Strolling from left to right, one meets the {subject} before the {said}.",
        "The {subject} precedes the {said} in the line-up, read from the left.",
    ),
    "end": (
        "A {said} closes the row at its {subject} end.",
        "Nothing stands further {subject} than the {said}.",
    ),
    "count": (
        "The catalogue would list {said} exhibits.",
        "All in all {said} exhibits have been lined up.",
    ),
}
_EXPLAINED: dict[str, tuple[str, ...]] = {
    "setting": ("The setting is a {true}, not a {said}.", "All this is on a {true}."),
    "colour": ("The {subject} is {true}, not {said}.", "The {subject} is painted {true}."),
    "presence": ("There is no {subject} in the show.", "The show has no {subject}."),
    "state": ("The {subject} is {true}, not {said}.", "The {subject} is in fact {true}."),
    "order": (
        "The {said} comes before the {subject}, not after it.",
        "From the left, the {said} comes before the {subject}.",
    ),
    "end": (
        "At the {subject} end is the {true}, not the {said}.",
        "The {true} stands at the {subject} end of the row.",
    ),
    "count": ("There are {true} exhibits, not {said}.", "One counts {true} exhibits."),
}
IDLE = (
    "Admission must have been free.",
    "The jury will have a hard time of it.",
    "Everybody seems to have gone for lunch.",
)


def _filled(template: str, claim: DomainClaim, true: str) -> str:
    return template.format(said=claim.said, subject=claim.subject, true=true)


def rationales(yard: Yard, claim: DomainClaim) -> tuple[str, ...]:
    """What is wrong with a false claim, in several ways."""
    true = truth_of(yard, claim)
    return tuple(_filled(template, claim, true) for template in _EXPLAINED[claim.aspect])


def rationale_is_right(yard: Yard, claim: DomainClaim, text: str) -> bool:
    """Whether a text says what is there instead of a false claim, of the right thing, and no more.

    It must name the subject and the true value, and no value but that and the one that was said.
    """
    words = spaced(text)
    if claim.aspect == "presence":
        return f" no {claim.subject} " in words
    if claim.aspect == "order":
        return f" {claim.said} comes before the {claim.subject} " in words
    if claim.subject and f" {claim.subject} " not in words:
        return False
    named = {value for value in values(yard, claim) if f" {value} " in words}
    return named - {claim.said} == {truth_of(yard, claim)}


def caption(yard: Yard, seed: int, wrong_share: float = 0.45) -> tuple[DomainSentence, ...]:
    """Four to eight sentences about a yard, about `wrong_share` of them false."""
    rng = random.Random(f"yard.caption.{seed}")
    made: list[DomainSentence] = []
    for claim in true_claims(yard, rng)[: rng.randint(4, 8)]:
        wording = rng.choice(_WORDINGS[claim.aspect])
        true = _filled(wording, claim, "")
        if rng.random() >= wrong_share:
            made.append(DomainSentence(true, claim, True))
            continue
        wrong = corrupt(yard, claim, rng)
        rewrite = "" if claim.aspect == "presence" else true
        made.append(
            DomainSentence(
                _filled(wording, wrong, ""), wrong, False, rationales(yard, wrong), rewrite
            )
        )
    if rng.random() < 0.2:
        made.insert(rng.randrange(len(made) + 1), DomainSentence(rng.choice(IDLE), None, True))
    return tuple(made)
