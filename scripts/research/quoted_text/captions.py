"""Captions that quote what is written in a photograph, rightly and wrongly, by rule."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from revise_captions.critic.text.alignment import fold
from revise_captions.critic.text.quotes import quotes_in

RIGHT, LETTER, WORD, SIGN, INVENTED = "right", "one letter", "one word", "another sign", "invented"
#: Texts of small photographs, posters and diagrams, typed off by eye for tuning.
TYPED = Path(__file__).with_name("typed.jsonl")
#: How a text that the image's own description leaves out is quoted.
_FRAMES = (
    "In the picture there is lettering that reads “{}”.",
    'One can see the words "{}".',
    "A part of it is labelled '{}'.",
    'Somewhere it says "{}" in clear letters.',
)
_WORDS = re.findall(
    r"\w+",
    "OPEN CLOSED EXIT ENTRANCE STATION HOTEL MARKET GARDEN BRIDGE CITY RIVER COFFEE BAKERY LIBRARY"
    " MUSEUM SCHOOL STREET NORTH SOUTH EAST WEST SUMMER WINTER TICKETS PLEASE WELCOME FRESH ORANGE"
    " SILVER GOLDEN ROYAL CENTRAL EXPRESS POWER SIGNAL MASTER PUBLIC PRIVATE DANGER CAUTION"
    " VICTORIA HARBOUR CASTLE PALACE DOCTOR PHARMACY BICYCLE KITCHEN LEATHER MACHINE VOLTAGE",
)


@dataclass(frozen=True, slots=True)
class QuotingCaption:
    """A sentence that quotes a text.

    Attributes:
        image: File name.
        text: The sentence.
        said: What it quotes in one place.
        right: What stands there in the image.
        kind: How `said` was made of `right`; `RIGHT` where it is the same.
    """

    image: str
    text: str
    said: str
    right: str
    kind: str


@dataclass(frozen=True, slots=True)
class SignedImage:
    """An image with its texts, and a sentence that quotes some; `held_out` ones, about half of the
    photographs of scenes by a hash of their names, are reported and never tuned on."""

    name: str
    path: Path
    texts: tuple[str, ...]
    describe: str
    held_out: bool


def read_images(folder: Path) -> list[SignedImage]:
    """The images of a folder with `scene_text.jsonl`; of another one, those in `TYPED`."""
    known = folder / "scene_text.jsonl"
    own = known.is_file()
    rows = (known if own else TYPED).read_text(encoding="utf-8").splitlines()
    return [
        SignedImage(
            row["image"],
            (folder / "images" if own else folder) / row["image"],
            tuple(row["text"]),
            row["describe"],
            own and sha256(row["image"].encode()).digest()[-1] % 2 == 0,
        )
        for row in map(json.loads, rows)
    ]


def captions_of(image: SignedImage) -> list[QuotingCaption]:
    """Sentences that quote each text of an image rightly, and in up to four ways wrongly."""
    draw = random.Random(image.name)
    found = []
    for text, right in _right(image):
        ways = {
            RIGHT: right,
            LETTER: one_letter(right, draw),
            WORD: one_word(right, _WORDS, draw) if " " in right else "",
            SIGN: one_word(right, _others(image, right), draw) if " " in right else "",
            INVENTED: " ".join(draw.sample(_WORDS, min(3, 1 + right.count(" ")))),
        }
        for kind, said in ways.items():
            if said and (kind == RIGHT or not _stands(said, image)):
                found.append(
                    QuotingCaption(image.name, text.replace(right, said), said, right, kind)
                )
    return found


def _right(image: SignedImage) -> Iterator[tuple[str, str]]:
    """Sentences, each with a text that it quotes."""
    known = set()
    for quote in quotes_in(image.describe):
        known.add(fold(quote.text).letters)
        yield image.describe, quote.text
    for number, text in enumerate(dict.fromkeys(image.texts)):
        letters = fold(text).letters
        if len(letters) >= 2 and letters not in known:
            known.add(letters)
            yield _FRAMES[number % len(_FRAMES)].format(text), text


def _others(image: SignedImage, right: str) -> list[str]:
    """Words of the image's other texts."""
    own = fold(right).letters
    words = [word for text in image.texts for word in text.split()]
    return [word for word in words if len(word) > 2 and fold(word).letters not in own]


def one_letter(text: str, draw: random.Random) -> str:
    """The text with a letter or digit changed, left out or added, which the eye tells apart."""
    places = [k for k, letter in enumerate(text) if letter.isalnum()]
    for _ in range(20):
        k = draw.choice(places)
        pool = "0123456789" if text[k].isdigit() else "ABCDEFGHIJKLMNOPRSTUVWXYZ"
        new = draw.choice(pool)
        new = new.lower() if text[k].islower() else new
        changed = draw.choice((text[:k] + new + text[k + 1 :], text[:k] + text[k + 1 :],
                               text[:k] + new + text[k:]))  # fmt: skip
        if fold(changed).letters not in (fold(text).letters, ""):
            return changed
    return ""


def one_word(text: str, words: Sequence[str], draw: random.Random) -> str:
    """The text with one of its words replaced; "" where there is no word for it."""
    own = text.split()
    k = draw.choice([k for k, word in enumerate(own) if fold(word).letters])
    pool = [word for word in words if fold(word).letters != fold(own[k]).letters]
    if not pool:
        return ""
    new = draw.choice(pool)
    cased = new.lower() if own[k].islower() else new.title() if own[k].istitle() else new
    return " ".join([*own[:k], cased, *own[k + 1 :]])


def _stands(said: str, image: SignedImage) -> bool:
    """Whether a text stands in the image after all, in any of its texts or all of them in order."""
    letters = fold(said).letters
    return any(letters in fold(text).letters for text in (*image.texts, "".join(image.texts)))
