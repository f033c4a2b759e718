"""The ten checks of ContextRef (section 5.1): each makes descriptions worse, so scores should fall.

A check is a pure function of items, seed and continuations: for each item the changed input, or
None where there is nothing to change. Every item has its own random choices, made from seed, check
and id, so they do not depend on what else is in the data; only the shuffles draw from all items.

The paper replaced names and errors with GPT-4; here, rules do, from lists of words in English.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

from revise_captions.metrics.protocol import MetricInput
from revise_captions.pipelines.stress.frankenstein import Frankenstein
from revise_captions.pipelines.stress.items import StressItem
from revise_captions.pipelines.stress.replacements import with_errors, with_other_names

#: True statements about something else; ours, as the paper's ten are not printed but for one.
IRRELEVANT = (
    "Elephants are the largest animals that live on land.",
    "Water boils at a lower temperature on high mountains.",
    "The piano has eighty-eight keys.",
    "Most of the Earth's fresh water is frozen.",
    "Chess is played on a board of sixty-four squares.",
    "The Moon takes about a month to travel around the Earth.",
    "Honey is made by bees from the nectar of flowers.",
    "Iron is heavier than aluminum.",
    "The alphabet that English uses has twenty-six letters.",
    "Bamboo is among the fastest-growing plants.",
)
_TRIES = 20  # random choices, before all are looked at
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Continuations:
    """What a language model writes, by description.

    Attributes:
        long: A sentence that follows the description.
        short: The description's second half, written anew after the first.
        model: Which model, for the signature.
    """

    long: Mapping[str, str]
    short: Mapping[str, str]
    model: str


Change = Callable[[Sequence[StressItem], int, Continuations | None], list[MetricInput | None]]


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: As in the paper.
        change: Makes the changed inputs.
        expected: Which way the score should go, and why.
        unfit: What a metric that fails must not be used for.
    """

    name: str
    change: Change
    expected: str
    unfit: str


def _random(seed: int, check: str, item: StressItem) -> random.Random:
    return random.Random(f"{seed}:{check}:{item.id}")


def _each(check: str, change: Callable[[StressItem, random.Random], MetricInput | None]) -> Change:
    """A check that looks at one item at a time."""

    def whole(
        items: Sequence[StressItem], seed: int, written: Continuations | None
    ) -> list[MetricInput | None]:
        return [change(item, _random(seed, check, item)) for item in items]

    return whole


def _texts(check: str, change: Callable[[str, random.Random], str]) -> Change:
    """A check that changes the description alone; the same text is no change."""

    def one(item: StressItem, rng: random.Random) -> MetricInput | None:
        text = change(item.given.text, rng)
        return replace(item.given, text=text) if text.strip() not in ("", item.given.text) else None

    return _each(check, one)


def shuffled_descriptions(
    items: Sequence[StressItem], seed: int, written: Continuations | None = None
) -> list[MetricInput | None]:
    """Each gets the description of another image."""
    pairs = list(dict.fromkeys((o.given.text, o.image) for o in items))
    found: list[MetricInput | None] = []
    for item in items:
        # the image's own description may stand with another image, too
        unlike = partial(_is_other, item)
        text, _ = _drawn(pairs, unlike, _random(seed, "shuffled descriptions", item)) or ("", "")
        found.append(replace(item.given, text=text) if text else None)
    return found


def _is_other(item: StressItem, pair: tuple[str, str]) -> bool:
    return pair[0] != item.given.text and pair[1] != item.image


def shuffled_contexts(
    items: Sequence[StressItem], seed: int, written: Continuations | None = None
) -> list[MetricInput | None]:
    """Each gets another context."""
    contexts = list(dict.fromkeys(o.given.context for o in items if o.given.context.strip()))
    found: list[MetricInput | None] = []
    for item in items:
        own = item.given.context
        rng = _random(seed, "shuffled contexts", item)
        other = _drawn(contexts, own.__ne__, rng) if own.strip() else None
        found.append(replace(item.given, context=other) if other else None)
    return found


def _drawn(values: Sequence[T], fits: Callable[[T], bool], rng: random.Random) -> T | None:
    """One of the values that fit, each as likely; None if none does. Most do."""
    for _ in range(_TRIES):
        if values and fits(value := rng.choice(values)):
            return value
    kept = [value for value in values if fits(value)]
    return rng.choice(kept) if kept else None


def _shuffled_words(text: str, rng: random.Random) -> str:
    words = text.split()
    order = list(words)
    for _ in range(_TRIES):
        rng.shuffle(order)
        if order != words:
            return " ".join(order)
    return text


def _frankenstein(item: StressItem, rng: random.Random) -> MetricInput | None:
    if item.given.image is None:
        return None
    # one picture for all descriptions of an image, so that features are computed once
    return replace(item.given, image=Frankenstein(item.given.image, rng.getrandbits(32)))


def frankenstein_images(
    items: Sequence[StressItem], seed: int, written: Continuations | None = None
) -> list[MetricInput | None]:
    """An object is pasted into each image, the same way for all its descriptions."""
    name = "Frankenstein images"
    by_image = [replace(item, id=item.image) for item in items]
    return [_frankenstein(item, _random(seed, name, item)) for item in by_image]


def _with_sentence(text: str, rng: random.Random) -> str:
    return f"{_ended(text)} {rng.choice(IRRELEVANT)}"


def _repeated(text: str, rng: random.Random) -> str:
    return f"{_ended(text)} {text.strip()}"


def _ended(text: str) -> str:
    """The description as a sentence, which another one can follow."""
    text = text.strip()
    return text if text[-1:] in ".!?…\"”'’)" else f"{text}."


def continued_long(
    items: Sequence[StressItem], seed: int, written: Continuations | None
) -> list[MetricInput | None]:
    """A language model adds a sentence."""
    return _continued(
        items,
        written.long if written else {},
        # the model may have ended the description first
        lambda text, more: f"{_ended(text)} {more.lstrip('.,;:!? ')}",
    )


def continued_short(
    items: Sequence[StressItem], seed: int, written: Continuations | None
) -> list[MetricInput | None]:
    """A language model writes the second half anew."""
    return _continued(
        items, written.short if written else {}, lambda t, more: f"{first_half(t)} {more}"
    )


def _continued(
    items: Sequence[StressItem], written: Mapping[str, str], join: Callable[[str, str], str]
) -> list[MetricInput | None]:
    found: list[MetricInput | None] = []
    for item in items:
        more = written.get(item.given.text, "").strip()
        text = join(item.given.text, more) if more else item.given.text
        found.append(replace(item.given, text=text) if text != item.given.text else None)
    return found


def first_half(text: str) -> str:
    """The first half of the words."""
    words = text.split()
    return " ".join(words[: max(1, len(words) // 2)])


_NO_REWARD = "reward a captioner or choose among its outputs"
CHECKS: tuple[Check, ...] = (
    Check(
        "shuffled descriptions",
        shuffled_descriptions,
        "lower: the description is another image's",
        "tell whether a description belongs to its image",
    ),
    Check(
        "shuffled contexts",
        shuffled_contexts,
        "lower: the description was written for another article",
        "judge whether a description suits the page around it",
    ),
    Check(
        "shuffled words",
        _texts("shuffled words", _shuffled_words),
        "lower: the description is no language any more",
        "judge whether a description is well-formed",
    ),
    Check(
        "proper name replacement",
        _texts("proper name replacement", with_other_names),
        "lower: names and dates are wrong",
        "check names and dates",
    ),
    Check(
        "frequent alignment errors",
        _texts("frequent alignment errors", with_errors),
        "lower: colors, clothes, ages or counts are wrong",
        "find wrong colors, clothes, ages and counts",
    ),
    Check(
        "Frankenstein images",
        frankenstein_images,
        "lower: the image shows something big that the description leaves out",
        "notice that a description leaves out something big",
    ),
    Check(
        "short continuation",
        continued_short,
        "lower: a language model guessed the second half",
        f"{_NO_REWARD}: likely text without a look at the image keeps its score",
    ),
    Check(
        "long continuation",
        continued_long,
        "lower: a language model added a sentence without a look at the image",
        f"{_NO_REWARD}: a guessed further sentence costs nothing",
    ),
    Check(
        "irrelevant final sentence",
        _texts("irrelevant final sentence", _with_sentence),
        "lower: the last sentence is about something else",
        f"{_NO_REWARD}: padding with irrelevant sentences costs nothing",
    ),
    Check(
        "exact repetition",
        _texts("exact repetition", _repeated),
        "lower: everything is said twice",
        f"{_NO_REWARD}: saying everything twice costs nothing",
    ),
)
