"""A second, smaller world to try fine-tuning on: cupboards, which the bundled critic never saw.

Two boards, on each two to four kitchen things in a row. None of the things, states, places, error
types and phrasings occurs in the picture-book world, and that world knows nothing of this one. A
caption is a list of `DomainClaim`s put into words; a claim is true or false of a `Cupboard` by
`truth_of`, so every label is exact.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

COLORS = ("red", "yellow", "green", "blue", "purple", "pink", "white", "black")
WALLS = ("grey", "cream", "turquoise", "lilac")
BOARDS = ("upper", "lower")
ORDINALS = ("first", "second", "third", "fourth")
NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight")
#: Each kind's states. At most one thing of a kind stands in a cupboard.
STATES = {
    "cup": ("plain", "dotted"),
    "teapot": ("plain", "dotted"),
    "book": ("upright", "lying flat"),
    "candle": ("burning", "blown out"),
    "clock": ("set to three", "set to six", "set to nine"),
    "vase": ("empty", "full of tulips"),
    "bowl": ("empty", "full of cherries"),
    "box": ("shut", "wide open"),
}
KINDS = tuple(STATES)
ASPECTS = ("wall", "colour", "presence", "board", "ordinal", "state", "count", "neighbour")


@dataclass(frozen=True, slots=True)
class DomainThing:
    kind: str
    color: str
    state: str


@dataclass(frozen=True, slots=True)
class Cupboard:
    """`boards`: the things on the upper and on the lower board, from left to right."""

    wall: str
    boards: tuple[tuple[DomainThing, ...], tuple[DomainThing, ...]]
    style: int

    def place(self, kind: str) -> tuple[int, int]:
        """Board and place on it of the thing of a kind. Raises KeyError where there is none."""
        for b, board in enumerate(self.boards):
            for k, thing in enumerate(board):
                if thing.kind == kind:
                    return b, k
        raise KeyError(kind)

    @property
    def things(self) -> tuple[DomainThing, ...]:
        return (*self.boards[0], *self.boards[1])


@dataclass(frozen=True, slots=True)
class DomainClaim:
    """`aspect` of `subject` is `said`. `subject`: a kind, "upper second", a board, or ""."""

    aspect: str
    subject: str
    said: str


def sample(seed: int) -> Cupboard:
    """A cupboard that follows from its seed alone."""
    rng = random.Random(f"cupboard.{seed}")
    kinds = rng.sample(KINDS, rng.randint(4, 7))
    things = [DomainThing(k, rng.choice(COLORS), rng.choice(STATES[k])) for k in kinds]
    cut = rng.randint(max(2, len(things) - 4), min(4, len(things) - 2))
    return Cupboard(
        rng.choice(WALLS), (tuple(things[:cut]), tuple(things[cut:])), rng.randrange(10**6)
    )


def truth_of(cupboard: Cupboard, claim: DomainClaim) -> str:
    """What would be true in place of `claim.said`; for presence "there" or "absent".

    Where several answers are true (neighbours), the one that was said if it is among them.
    """
    subject = claim.subject
    if claim.aspect == "wall":
        return cupboard.wall
    if claim.aspect == "count":
        if not subject:
            return NUMBERS[len(cupboard.things)]
        return NUMBERS[len(cupboard.boards[BOARDS.index(subject)])]
    if claim.aspect == "presence":
        return "there" if any(t.kind == subject for t in cupboard.things) else "absent"
    if claim.aspect == "ordinal":
        board, ordinal = subject.split()
        return cupboard.boards[BOARDS.index(board)][ORDINALS.index(ordinal)].kind
    b, k = cupboard.place(subject)
    thing = cupboard.boards[b][k]
    if claim.aspect == "board":
        return BOARDS[b]
    if claim.aspect == "neighbour":
        row = cupboard.boards[b]
        beside = [row[i].kind for i in (k - 1, k + 1) if 0 <= i < len(row)]
        return claim.said if claim.said in beside else beside[0]
    return thing.color if claim.aspect == "colour" else thing.state


def is_true(cupboard: Cupboard, claim: DomainClaim) -> bool:
    return truth_of(cupboard, claim) == claim.said


def values(cupboard: Cupboard, claim: DomainClaim) -> tuple[str, ...]:
    """What could be said in a claim's place, true or false."""
    options: dict[str, Sequence[str]] = {
        "wall": WALLS,
        "colour": COLORS,
        "board": BOARDS,
        "state": STATES.get(claim.subject, ()),
        "count": NUMBERS[2:5] if claim.subject else NUMBERS[3:9],
        "ordinal": KINDS,
        "neighbour": [k for k in KINDS if k != claim.subject],
    }
    return tuple(options[claim.aspect])


def true_claims(cupboard: Cupboard, rng: random.Random) -> list[DomainClaim]:
    """Everything that a caption of this cupboard could say, all true, in random order."""
    found = [
        DomainClaim("wall", "", cupboard.wall),
        DomainClaim("count", "", NUMBERS[len(cupboard.things)]),
    ]
    for name, board in zip(BOARDS, cupboard.boards, strict=True):
        found.append(DomainClaim("count", name, NUMBERS[len(board)]))
        for ordinal, thing in zip(ORDINALS, board, strict=False):
            found.append(DomainClaim("ordinal", f"{name} {ordinal}", thing.kind))
            found.append(DomainClaim("board", thing.kind, name))
            found.append(DomainClaim("colour", thing.kind, thing.color))
            found.append(DomainClaim("state", thing.kind, thing.state))
            found.append(DomainClaim("presence", thing.kind, "there"))
        for one, other in pairwise(board):
            found.append(DomainClaim("neighbour", one.kind, other.kind))
    rng.shuffle(found)
    return found


def corrupt(cupboard: Cupboard, claim: DomainClaim, rng: random.Random) -> DomainClaim:
    """The claim with one error in it, false of the cupboard."""
    if claim.aspect == "presence":
        here = {thing.kind for thing in cupboard.things}
        return replace(claim, subject=rng.choice([k for k in KINDS if k not in here]))
    options = [replace(claim, said=value) for value in values(cupboard, claim)]
    return rng.choice([option for option in options if not is_true(cupboard, option)])


_WORDINGS: dict[str, tuple[str, ...]] = {
    "wall": (
        "Behind the cupboard one makes out a {said} wall.",
        "The cupboard hangs on a wall painted {said}.",
    ),
    "colour": (
        "Whoever owns the {subject} picked it in {said}.",
        "As for the {subject}, its colour is {said}.",
        "{Said} is the colour of the {subject}.",
    ),
    "presence": (
        "Somebody has put a {subject} into the cupboard.",
        "Among the crockery there stands a {subject}.",
    ),
    "board": (
        "The {subject} has its home on the {said} board.",
        "On the {said} board rests the {subject}.",
    ),
    "ordinal": (
        "Counted from the left, the {ordinal} item of the {board} board is a {said}.",
        "A {said} comes {ordinal} on the {board} board, reading from the left.",
    ),
    "state": (
        "Looking closer, the {subject} turns out to be {said}.",
        "The {subject} has been left {said}.",
    ),
    "count": (
        "Adding up, one gets {said} items {where}.",
        "The number of items {where} is {said}.",
    ),
    "neighbour": (
        "The {subject} shares a side with the {said}.",
        "Immediately beside the {subject} waits the {said}.",
    ),
}
_EXPLAINED: dict[str, tuple[str, ...]] = {
    "wall": ("The wall is {true}, not {said}.", "The paint on the wall is {true}."),
    "colour": (
        "The {subject} is {true}, not {said}.",
        "The colour of the {subject} is {true} instead of {said}.",
    ),
    "presence": ("There is no {subject} in the cupboard.", "The cupboard holds no {subject}."),
    "board": (
        "The {subject} is on the {true} board, not on the {said} one.",
        "The {subject} rests on the {true} board.",
    ),
    "ordinal": (
        "The {ordinal} item of the {board} board is a {true}, not a {said}.",
        "At the {ordinal} place of the {board} board there is a {true}.",
    ),
    "state": ("The {subject} is {true}, not {said}.", "The {subject} is in fact {true}."),
    "count": ("There are {true} items {where}, not {said}.", "One counts {true} items {where}."),
    "neighbour": (
        "Beside the {subject} is the {true}, not the {said}.",
        "The {true} stands beside the {subject}, and the {said} does not.",
    ),
}
IDLE = (
    "One would like to sit down for tea here.",
    "It all breathes the calm of a Sunday afternoon.",
    "Grandmother would have been pleased.",
)


def _filled(template: str, claim: DomainClaim, true: str) -> str:
    board, _, ordinal = claim.subject.partition(" ")
    where = f"on the {claim.subject} board" if claim.subject in BOARDS else "altogether"
    return template.format(
        said=claim.said,
        Said=claim.said.capitalize(),
        subject=claim.subject,
        true=true,
        board=board,
        ordinal=ordinal,
        where=where,
    )


def worded(claim: DomainClaim, rng: random.Random) -> int:
    """Which wording a claim gets: an index, so that its true version can get the same one."""
    return rng.randrange(len(_WORDINGS[claim.aspect]))


def sentence(claim: DomainClaim, wording: int) -> str:
    return _filled(_WORDINGS[claim.aspect][wording], claim, claim.said)


def rationales(cupboard: Cupboard, claim: DomainClaim) -> tuple[str, ...]:
    """What is wrong with a false claim, in several ways."""
    true = truth_of(cupboard, claim)
    return tuple(_filled(template, claim, true) for template in _EXPLAINED[claim.aspect])


def spaced(text: str) -> str:
    """The words of a text, small, with one space before, between and behind."""
    return f" {' '.join(text.lower().replace('.', ' ').replace(',', ' ').split())} "


def rationale_is_right(cupboard: Cupboard, claim: DomainClaim, text: str) -> bool:
    """Whether a text says what is there instead of a false claim, of the right thing, and no more.

    It must name the subject and a true value, and no value but that and the one that was said.
    """
    words = spaced(text)
    if claim.aspect == "presence":
        return f" no {claim.subject} " in words
    subject = claim.subject.split() if claim.aspect == "ordinal" else [claim.subject]
    if not all(f" {word} " in words for word in subject if word):
        return False
    named = {value for value in values(cupboard, claim) if f" {value} " in words}
    if claim.aspect == "board":
        return named <= set(BOARDS) and f" the {truth_of(cupboard, claim)} board " in words
    others = named - {claim.said}
    true = [value for value in others if is_true(cupboard, replace(claim, said=value))]
    return bool(true) and len(others) == len(true)


@dataclass(frozen=True, slots=True)
class DomainSentence:
    """One sentence of a caption. `claim` None where it makes none; `rewrite` of a false one."""

    text: str
    claim: DomainClaim | None
    factual: bool
    rationales: tuple[str, ...] = ()
    rewrite: str = ""


def caption(cupboard: Cupboard, seed: int, wrong_share: float = 0.45) -> tuple[DomainSentence, ...]:
    """Four to eight sentences about a cupboard, about `wrong_share` of them false."""
    rng = random.Random(f"cupboard.caption.{seed}")
    made: list[DomainSentence] = []
    for claim in true_claims(cupboard, rng)[: rng.randint(4, 8)]:
        wording = worded(claim, rng)
        true = sentence(claim, wording)
        if rng.random() >= wrong_share:
            made.append(DomainSentence(true, claim, True))
            continue
        wrong = corrupt(cupboard, claim, rng)
        rewrite = "" if claim.aspect == "presence" else true
        told = rationales(cupboard, wrong)
        made.append(DomainSentence(sentence(wrong, wording), wrong, False, told, rewrite))
    if rng.random() < 0.2:
        made.insert(rng.randrange(len(made) + 1), DomainSentence(rng.choice(IDLE), None, True))
    return tuple(made)
