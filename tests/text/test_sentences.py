"""`split` against hand-made expectations, a property, and its claim of linear time."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from revise_captions.text.sentences import split
from tests.support.growth import is_linear

DATA = Path(__file__).parents[2].parent / "shared" / "data" / "lvlm_captions"

# `¦` stands where one sentence ends and the next begins; it is no part of the text.
MARKED = (
    # plain
    "A dog runs on the beach.¦ It is brown.",
    "A dog",
    "A dog runs.¦ A cat sits",
    "  A dog runs.  ¦  A cat sits.  ",
    "Is it a dog?¦ Yes!¦ It runs.",
    "What a view!!!¦ The sea is calm.",
    "Really?!¦ It seems so.",
    "there is a cat.¦ there is a dog.",
    "The sky is blue; the sea is green.",
    # abbreviations
    "Mr. Smith and Dr. Jones stand by Mrs. Lee.¦ They smile.",
    "A statue of St. Francis stands near Mt. Fuji.",
    "The store on Main St. is closed.¦ The door is red.",
    "The store is on Main St.¦ The door is red.",
    "Toys, balls, etc. lie on the floor.¦ A cat sits.",
    "Toys, balls, etc.¦ Next to them sits a cat.",
    "A truck of Acme Inc. is parked outside.",
    "The logo belongs to Acme Inc.¦ The truck is white.",
    "A dog vs. a cat in a poster, e.g. a cartoon, i.e. a drawing.",
    "The wall is approx. 12 ft. tall and 6 in. thick.¦ It is grey.",
    "The flag of the U.S. flies over the house.¦ It is large.",
    "They fly the flag of the U.S.¦ The house is white.",
    "The U.S. Capitol is visible.¦ Trees surround it.",
    "The jersey shows No. 10 in white.¦ The shorts are blue.",
    "Are there dogs?¦ No.¦ There are cats.",
    "The calendar is open at Sept. 5, beside a pen.",
    "The Ph.D. student holds a book.",
    # initials, times, dates
    "A portrait of J. R. R. Tolkien hangs on the wall.¦ It is framed.",
    "A photo of George W. Bush is on the desk.",
    "The clock reads 5 p.m.¦ The street is empty.",
    "At 5 p.m. the street is empty.",
    "At 10:30 a.m. on Monday the shop opens.",
    "This is option B.¦ It is the last.",
    "The photo was taken in 2019.¦ A man waves.",
    "The sun shines.¦ She sits in the shade of a tree in the sun.¦ Many people walk.",
    # numbers, addresses, file names
    "The mug costs $3.50.¦ It holds 0.5 l.",
    "Version 2.0.1 is shown on screen.¦ It is new.",
    "Visit www.example.com.¦ The banner says so.",
    "See https://example.com/a.b?c=D.E for details.¦ The banner is blue.",
    "Write to jane.doe@example.com!¦ The card is white.",
    "The file cat.jpg shows a cat.¦ Node.js is printed on the shirt.",
    # ellipses
    "The road goes on... and on.¦ Nobody is there.",
    "The road goes on...¦ Nobody is there.",
    "The road goes on…¦ Nobody is there.",
    "The banner says … nothing.",
    "Well . . . it is a cat.¦ A big one.",
    # quotations and sign text
    'A sign reads "STOP. NO ENTRY." in red letters.¦ It is old.',
    'A sign reads "STOP."¦ The door is shut.',
    "A sign that reads STOP. NO ENTRY.¦ A man walks by.",
    "The sign says CLOSED. KEEP OUT. NO DOGS. in white paint.",
    "A red sign reads STOP.¦ A man walks by.",
    '"STOP. NO ENTRY" is painted on the wall.¦ It is white.',
    "The text reads “Hello! Welcome.” above the door.¦ It is blue.",
    "The poster asks 'Who? What?' in bold.¦ It is torn.",
    "Le panneau dit « Stop. Danger. » en rouge.¦ Il est vieux.",
    'A banner reads "HAPPY\nBIRTHDAY" in gold.¦ Balloons float.',
    '"Wait!" says the speech bubble.¦ A boy runs.',
    'The shirt says "I ♥ NY".¦ It is white.',
    "A Yahoo! logo is on the wall.¦ It is purple.",
    'The TV is 55" wide.¦ The stand is 20" wide.',
    "The dogs' bowls are empty.¦ The cats' bowls are full.",
    'The walls are bare.¦"EXIT" is lit in green.',
    # brackets
    "A man (his name tag says Bob. He smiles.) waves.¦ He is tall.",
    "A man waves.¦ (He is tall.)¦ A dog sits.",
    "The house [built c. 1900. Now a museum] is red.¦ It is big.",
    "A smile :) is drawn on it.¦ It is yellow.",
    "The tower is tall.[1]¦ It is made of iron.[2]",
    # emoji
    "A dog runs on the beach. 🐶¦ It is happy. 😀😀¦ The sky is blue.",
    "A lovely day 😀¦ The sun shines.",
    "A ❤️ is drawn on the wall.",
    # missing space
    "The wall is red.¦The door is blue.¦ A cat sits.",
    "What a day!¦Everyone smiles.",
    # lists, headings, line breaks
    "The image shows:¦\n- a dog.¦\n- a cat¦\n- two birds",
    "The image shows:¦\n• A dog¦\n• A cat",
    "• A dog ¦• A cat ¦• Two birds",
    "A sign reads COFFEE • TEA • CAKE in white.¦ It is lit.",
    "A dog runs.<br>¦A cat sits.</p>¦<p>It is late.",
    "A dog runs. ¦• A cat sits.",
    "P.S. I like the Drs. Lee on the poster.",
    "1. A dog runs.¦\n2. A cat sits.¦\n3. A bird sings.",
    "1) A dog¦\n2) A cat",
    "a. A dog runs.¦\nb. A cat sits.",
    "**Foreground:** A dog runs.¦ It is brown.¦\n\n**Background:** Trees.",
    "## Scene¦\nA dog runs.¦ It is brown.",
    "**1. Setting.**¦ The room is dark.",
    'The walls are bare.¦"#1" is painted on the door.',
    "牌子上写着“停。”。¦门是红色的。",
    "The mug (see p. 5, Fig. A) is red.¦ It is new.",
    "The time is 3:45 P.M. on the clock.¦ The room is dark.",
    "A dog on a beach¦\n\nA cat on a sofa",
    "A dog runs along the\nbeach and a cat\nsits on the sofa.¦ It is late.",
    "A man stands next to\nJohn Smith.¦\nBoth smile.",
    "A dog runs.¦\r\nA cat sits.",
    "A dog runs.¦\n\n---¦\n\nA cat sits.",
    "It is calm.¦\n\n![](http://a.b/c.jpg)",
    "Toys, balls, etc.¦\n\nthe cat sits",
    "Toys, balls, etc.\nlie next to Mr.\nSmith.¦\n- A cat",
    "...¦\n\nA dog runs.",
    "A lovely day 😀¦\n\nthe sun shines",
    "Is it day?¦\nAnswer: Yes, it is.",
    "*A dog runs.*¦ **A cat sits.**¦ It is late.",
    # other scripts
    "一只狗在海滩上奔跑。¦它是棕色的。¦天空很蓝！",
    "牌子上写着“停。禁止入内。”，很旧。¦门是红色的。",
    "犬が走っている。¦「止まれ。」と書かれた看板がある。¦空は青い。",
    "개가 달린다.¦ 하늘은 파랗다.",
    "एक कुत्ता दौड़ रहा है।¦ आसमान नीला है।",
    "هل هذا كلب؟¦ نعم، إنه كلب.¦ السماء زرقاء.",
    "یہ ایک کتا ہے۔¦ آسمان نیلا ہے۔",
    "Собака бежит по пляжу.¦ Небо голубое.",
    "Είναι σκύλος;¦ Ναι, τρέχει.",
    "¿Es un perro?¦ ¡Sí!¦ Corre por la playa.",
    "Շունը վազում է։¦ Երկինքը կապույտ է։",
    # nothing to split
    "...",
    "!!!",
    "😀",
)
CASES = [
    (marked.replace("¦", ""), [piece.strip() for piece in marked.split("¦")]) for marked in MARKED
]


@pytest.mark.parametrize(("text", "expected"), CASES, ids=range(len(CASES)))
def test_hard_case(text: str, expected: list[str]) -> None:
    assert [span.of(text) for span in split(text)] == expected


def test_there_are_enough_hard_cases() -> None:
    assert len({text for text, _ in CASES}) == len(CASES) >= 60


@pytest.mark.parametrize("text", ["", " ", "\n\n", "\u3000\u2028\x85\t"])
def test_white_space_has_no_sentence(text: str) -> None:
    assert split(text) == ()


def check(text: str) -> None:
    """Spans ordered, stripped, inside; gaps white space only; replaced by themselves, no change."""
    end, rebuilt = 0, ""
    for span in split(text):
        assert end <= span.start < span.end <= len(text)
        assert span.of(text) == span.of(text).strip()
        gap = text[end : span.start]
        assert gap == "" or gap.isspace()
        rebuilt += gap + span.of(text)
        end = span.end
    assert text[end:] == "" or text[end:].isspace()
    assert rebuilt + text[end:] == text


ALPHABET = (
    list("aAbBiIxXzZ019") * 2
    + list('.....,,!?;:…\'""()[]{}*_#-–—/\\@&<>|~') * 2
    + list("      \n\n\r\t\u00a0\u2003\u3000\u2028\x85\x0b\u200b")
    + list("。！？」「『』।؟۔։“”‘’«»¿¡日本語अल كλдαé́")
    + ["😀", "❤️", "👩‍🚀", "\u202e", "\x00", "\U0010ffff"]
    + [" The ", " A ", "e.g.", "Dr. ", "U.S. ", " reads STOP. NO", "\n- ", "\n1. ", "http://a.b "]
)


def test_ten_thousand_random_strings() -> None:
    rng = random.Random(20240)
    for _ in range(10_000):
        text = "".join(rng.choices(ALPHABET, k=rng.randrange(60)))
        check(text)
        if rng.random() < 0.1:  # any code point that can be encoded
            points = (rng.randrange(0x110000) for _ in range(20))
            check("".join(chr(p) for p in points if not 0xD800 <= p < 0xE000))


def captions() -> Iterator[str]:
    decoder = json.JSONDecoder()
    for path in sorted(DATA.glob("*.json")):
        rest, at = path.read_text(encoding="utf-8"), 0
        while at < len(rest.rstrip()):
            at += len(rest[at : at + 100]) - len(rest[at : at + 100].lstrip())
            item, at = decoder.raw_decode(rest, at)
            yield item["text"]


@pytest.mark.skipif(not DATA.is_dir(), reason="the caption collection lvlm_captions is not here")
def test_every_caption() -> None:
    texts = list(captions())
    assert len(texts) == 6000
    for text in texts:
        check(text)


ADVERSARIAL = {
    "dots": ".", "spaced dots": ". ", "double quotes": '"', "quote pairs": '"a." ',
    "single quotes": "' ", "newlines": "\n", "returns": "\r\n", "no punctuation": "a",
    "words": "word ", "opening": "(", "closing": ")", "brackets": "()", "nested quotes": "“”",
    "digits": "1.", "initials": "A. ", "stops": "A. The ", "spaces": " ", "emoji": "😀",
    "emoji and space": "😀 ", "stars": "*", "bullets": " • ", "lines": "a\n", "ideographs": "字",
    "ideographic stops": "。", "sign": "reads STOP. NO ", "hashes": "#", "footnotes": ".[1]",
    "dotted": "a.", "colons": ". :", "dashes": "\n- ", "open and stop": "(. ", "tabs": "\t.",
    "tags": "<br>.", "open tags": ".<b", "line stars": "\n**",
    "apostrophes": "'a", "dots and quotes": '."', "breaks": "\n \n", "symbols": "( ) ",
}  # fmt: skip


@pytest.mark.parametrize("unit", ADVERSARIAL.values(), ids=ADVERSARIAL.keys())
def test_many_characters_take_linear_time(unit: str) -> None:
    assert is_linear(lambda size: check((unit * size)[:size]), 10_000, 80_000)


@pytest.mark.parametrize("head", ["((((", '"', "'", "* ", "((("])
@pytest.mark.parametrize("unit", [". ", "). ", '." ', "( ", "!?", "…)"])
def test_mixed_adversarial_text(head: str, unit: str) -> None:
    def split_mixed(count: int) -> None:
        check(head * count + unit * 3 * count + "a" + unit * count)

    assert is_linear(split_mixed, 500, 4000)
