"""The critic of quoted text: what a sentence quotes against what is drawn in its image."""

from __future__ import annotations

import gc
import re
import weakref

import numpy as np
import pytest
from numpy.typing import NDArray
from pages import ROOT
from PIL import Image, ImageDraw, ImageFont

from revise_captions.charts.ocr import TextLine
from revise_captions.critic.options import CriticOptions
from revise_captions.critic.panel import PanelCritic
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.critic.scripted import ScriptedCritic
from revise_captions.critic.text import critic as text_critic
from revise_captions.critic.text.alignment import align, fold
from revise_captions.critic.text.checks import (
    READ_BOUNDS,
    UNREAD_BOUNDS,
    ImageText,
    QuoteOutcome,
    check,
)
from revise_captions.critic.text.critic import TextCritic
from revise_captions.critic.text.load import load
from revise_captions.critic.text.quotes import quotes_in
from revise_captions.critic.text.spotting import LETTERS, letter_odds, letter_scores, traces
from revise_captions.errors import UserError
from revise_captions.pipelines.draft import new_draft, revision_of
from revise_captions.pipelines.job import rounds
from revise_captions.pipelines.output.schema import from_json, to_json
from revise_captions.records import Label, Unscored, Verdict, Why, label_of
from revise_captions.reviser.fixes import FixReviser
from revise_captions.reviser.panel import PanelReviser
from revise_captions.text.sentences import split
from tests.support.growth import is_linear

RIGHT, WRONG = 'A board reads "NO PARKING".', 'A board reads "NO BARKING".'


def board(*lines: str) -> Image.Image:
    image = Image.new("RGB", (640, 90 * len(lines) + 60), "white")
    font = ImageFont.load_default(56)
    for k, line in enumerate(lines):
        ImageDraw.Draw(image).text((40, 30 + 90 * k), line, fill="black", font=font)
    return image


@pytest.fixture(scope="module")
def sign() -> Image.Image:
    return board("NO PARKING", "AT ANY TIME")


# --- What is quoted -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sentence", "quoted"),
    [
        ('A sign reads "OPEN" and «Fermé».', ["OPEN", "Fermé"]),
        ("A sign says ‘Don’t walk’ or 'Walk'.", ["Don’t walk", "Walk"]),
        ("The “first,” as it is „genannt“.", ["first", "genannt"]),
        ("A box labelled FRAGILE GLASS stands there.", ["FRAGILE GLASS"]),
        ("A poster titled Winter Games 2010 hangs there.", ["Winter Games 2010"]),
        ("A car with the license plate AB 123 C.", ["AB 123 C"]),
        ("A man in jersey number 23 and one with number 7 on his back.", ["23", "7"]),
        ("The girls' dog and the boys' cat, 6' away; it's 12\" long.", []),
        ('The sign does not say "OPEN".', []),
        ("She says that he reads a lot of mail.", []),
        ('It quotes "—".', []),
    ],
)
def test_quotes(sentence: str, quoted: list[str]):
    found = quotes_in(sentence)
    assert [one.text for one in found] == quoted
    assert [one.span.of(sentence) for one in found] == quoted


@pytest.mark.parametrize(
    ("sentence", "stated"),
    [
        ('A sign reads "OPEN".', [True]), ('"OPEN" is written on the door.', [True]),
        ('A red sign with "STOP", "ALL WAY" and "NOW" on it.', [True, True, True]),
        ("A box labelled FRAGILE GLASS stands there.", [True]),
        ('A sign that says "stop" in French.', [False]), ('A man says "hello" to us.', [False]),
        ('A painting titled "Sunrise" hangs there.', [False]), ('He gives a "thumbs up".', [False]),
        ('A "no smoking" sign.', [False]), ('The so-called "old town" has signs.', [False]),
    ],
)  # fmt: skip
def test_whether_a_sentence_states_that_a_quote_is_written_there(sentence, stated):
    assert [one.stated for one in quotes_in(sentence)] == stated


@pytest.mark.parametrize("part", ["“", "`", ' "a', "“a” ", "not “a” ", "says A ", "plate A A "])
def test_quotations_without_end_take_no_square_of_their_length(part):
    assert all(quote.text for quote in quotes_in(part * 5_000))
    assert is_linear(lambda size: quotes_in(part * size), 500, 4_000)


def test_the_readme_has_the_figures_of_the_page():
    page = (ROOT / "docs/measurements/text.md").read_text(encoding="utf-8")
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    (row,) = (line for line in readme.splitlines() if "`--critic text`" in line)
    for name in ("refuted quotes that are wrong", "wrong quotes that are found, of lines"):
        found = re.search(rf"\| {name}.*? (\d+ of \d+):", page)
        assert found is not None
        assert found[1] in row


# --- Alignment ------------------------------------------------------------------------------------

LINES = ("Sports Centre", "Car Parks", "NOENTRY", "43", "FOSTER'S", "MÜNCHEN", "cero", "emisiones")


@pytest.mark.parametrize(
    ("quote", "cost"),
    [
        ("sports centre", 0), ("Car Parks Sports Centre", 0), ("cero emisiones", 0),
        ("Emisiones, cero!", 0), ("NO ENTRY", 0), ("entry", 0), ("Foster", 0), ("Munchen", 0),
        ("Spurts Centre", 1), ("43", 0), ("4", 1), ("48", 1), ("Park", 1), ("Car Centre", 3),
        ("Sports", 0), ("Sport", 1),
    ],
)  # fmt: skip
def test_alignment_over_lines_in_any_order(quote: str, cost: int):
    assert align(quote, LINES).cost == cost


def test_folding_keeps_places():
    folded = fold("“Ça  va, Ω-2”")
    assert [("“Ça  va, Ω-2”"[k]).lower() for k in folded.origin] == list("çavaω2")
    assert [folded.letters[a:b] for a, b in folded.words] == ["ca", "va", "ω", "2"]


# --- Checks ---------------------------------------------------------------------------------------


def odds(text: str, sure: float = 0.999) -> NDArray[np.float32]:
    """Of a text that is read letter by letter, with a blank behind each; the rest is shared."""
    known = [f" {LETTERS}".find(letter) for letter in fold(text).letters]  # others: the last
    found = np.full((2 * len(known), len(LETTERS) + 2), (1 - sure) / (len(LETTERS) + 1))
    found[range(0, len(found), 2), known] = found[1::2, 0] = sure
    return np.log(found).astype(np.float32)


def seen(
    *lines: str | tuple[str, float],
    unread: tuple[str, ...] = (),
    margin=20.0,
    faint=(),
    scores=None,
):
    """Lines below each other; the OCR prefers what it read by `margin`."""
    pairs = [(one, 0.99) if isinstance(one, str) else one for one in lines]

    def line(k: int, text: str, score: float) -> TextLine:
        return TextLine(text, (0, 30 * k, 14 * len(text), 30 * k + 25), score, 0.0, 25.0, ())

    read = [line(k, *pair) for k, pair in enumerate(pairs)]
    doubtful = [line(k + len(pairs), text, 0.2) for k, text in enumerate(unread)]
    letters = [odds(text, score) for text, score in (*pairs, *((x, 0.3) for x in unread))]
    return ImageText(
        read,
        doubtful,
        lambda: [*letters, *(odds(text, 0.6) for text in faint)],
        lambda _, texts: [0.0, *[-margin] * (len(texts) - 1)],
        scores or (lambda _: ()),
    )


SIGNS = seen("Sports Centre", "NO PARKING AT ANY TIME", "OPEN", "43", "cero", "emisiones")
CARDS = seen("temp: 20.0 C", "GREETINGS", "from", "TRISTAN DA CUNHA")


@pytest.mark.parametrize(
    ("quote", "fixed"),
    [
        ("Sports Zentrum", "Sports Centre"), ("OPEM", "OPEN"), ("OPE", "OPEN"), ("48", "43"),
        ("NO SMOKING AT ANY TIME", "NO PARKING AT ANY TIME"), ("cero silver", "cero emisiones"),
        ("AT SOME TIME Spurts Centre", "AT ANY TIME Sports Centre"),
        ("central 20.0 C", "temp: 20.0 C"), ("TRISTAN from CUNHA", "TRISTAN DA CUNHA"),
    ],
)  # fmt: skip
def test_words_that_differ_are_replaced_by_what_is_read(quote: str, fixed: str):
    found = check(quote, CARDS if fixed in ("temp: 20.0 C", "TRISTAN DA CUNHA") else SIGNS)
    assert found.outcome is QuoteOutcome.REFUTED
    assert all(one.clear for one in found.differences)
    for one in reversed(found.differences):
        quote = quote[: one.span.start] + one.right + quote[one.span.end :]
    assert quote == fixed


@pytest.mark.parametrize(
    ("quote", "image"),
    [
        ("Sanger Danger", seen("Sanger", "Sequencing")),  # or it is the other word
        ("NO HELP", seen("NO PARKING", "HELP US")),  # or it is the other sign
        ("31. MAY 1876", seen("31.10.1876")),  # which marks go with a word is not known
        ("SALE 70000", seen("SALE 10000")),  # or there are more zeros
    ],
)
def test_a_fix_that_may_be_another_one_is_left_to_a_person(quote: str, image: ImageText):
    found = check(quote, image)
    assert found.outcome is QuoteOutcome.REFUTED
    assert not any(one.clear for one in found.differences)


@pytest.mark.parametrize(
    ("scores", "outcome", "clear"),
    [
        ((0.99,) * 4 + (0.3,) * 4, QuoteOutcome.REFUTED, [True]),
        ((0.97,) * 4 + (1.0,) * 4, QuoteOutcome.REFUTED, [False]),
        ((0.8,) * 4 + (1.0,) * 4, QuoteOutcome.UNREADABLE, []),
        ((), QuoteOutcome.REFUTED, [False]),  # the line's own, 0.95
    ],
)
def test_what_counts_is_how_surely_the_word_was_read(scores, outcome, clear: list[bool]):
    found = check("OPEM NOW", seen(("OPEN NOW", 0.95), scores=lambda _: scores))
    assert (found.outcome, [one.clear for one in found.differences]) == (outcome, clear)


def test_letters_have_scores_of_their_own():
    crop = np.asarray(board("No Parking").convert("RGB"))[20:110, 20:420, ::-1]
    found = letter_scores(crop, "No Parking")
    assert len(found) == len("No Parking")
    assert min(found) > 0.5
    assert letter_scores(crop, "No Barking") == ()


@pytest.mark.parametrize("quote", ["NO BIG PARKING", "NO PARKING ANY TIME", "Sports Centre AT ANY"])
def test_another_number_of_words_is_left_to_a_person(quote: str):
    found = check(quote, SIGNS)
    assert not any(one.clear for one in found.differences)


@pytest.mark.parametrize(
    ("quote", "image"),
    [
        ("OPENED", SIGNS),  # the line may go on behind something
        ("4", SIGNS),
        ("C107", seen("C108", "C109", "R107")),  # one of many alike
        ("OPEM", seen("OPEN", margin=3.0)),
        ("OPEM", seen(("OPEN", 0.8))),
        ("Grüße", seen("Gruse")),  # accents are misread with confidence
        ("GRAND HOTEL", seen("OPEN", unread=("GRAND HOTEL",))),
        ("GRAND HOTEL", seen("OPEN", faint=("GRAMD H0TEI",))),
        ("GRAND HOTEL", seen("OPEN", "КАФЕ")),  # it may be a translation
        ("GRAND HÔTEL", seen("OPEN")),
        ("OPEN HOTEL", seen("OPEN", faint=("H0TEI",))),
        ("GRAND HOTEL", seen(("OPEN", 0.9))),
        ("GRAND HOTEL", seen()),
        ("EMT", seen("emisiones")),
        ("300", seen("600ml")),
        ("1000000", seen("10000")),  # zeros are miscounted with confidence
    ],
)
def test_what_is_not_sure_is_not_decided(quote: str, image: ImageText):
    assert check(quote, image).outcome is QuoteOutcome.UNREADABLE


@pytest.mark.parametrize(
    ("quote", "outcome"),
    [
        ("NO PAKING", QuoteOutcome.REFUTED),  # OCRs mistake letters, and hardly add any
        ("NO BARKING", QuoteOutcome.UNREADABLE),
        ("NO PPARKING", QuoteOutcome.UNREADABLE),
        ("NO PARKIN", QuoteOutcome.UNREADABLE),  # the last one may be half hidden
    ],
)
def test_letters_that_a_quote_lacks_need_less(quote: str, outcome: QuoteOutcome):
    assert check(quote, seen("NO PARKING", margin=7.0)).outcome is outcome


@pytest.mark.parametrize("quote", ["GRAND HOTEL", "OPEN HOTEL", "HOTEL OPEN"])
def test_words_that_are_nowhere_are_refuted_without_a_fix(quote: str):
    image = seen("OPEN", "43", unread=("AA",))
    found = check(quote, image)
    assert (found.outcome, found.differences) == (QuoteOutcome.REFUTED, ())
    assert check(quote, image, stated=False).outcome is QuoteOutcome.UNREADABLE


def test_a_quote_in_other_words_is_refuted_only_where_it_is_said_to_be_written():
    said, page = (
        "Democracy is the best form of government",
        seen("Democratic leaners who", "future"),
    )
    assert check(said, page, stated=False).outcome is QuoteOutcome.UNREADABLE
    assert check(said, page).outcome is QuoteOutcome.REFUTED
    assert check("Democratic leamers who", page, stated=False).outcome is QuoteOutcome.REFUTED


@pytest.mark.parametrize(
    ("word", "least", "most"),
    [
        ("parking", -0.01, 0.0),  # in capitals, in the middle of a line, over a space
        ("king", -0.01, 0.0),
        ("barking", -2.0, -0.5),  # a letter that is read as another, surely
        ("hotel", -9.0, -4.0),
    ],
)
def test_evidence_of_words_in_letters(word: str, least: float, most: float):
    found, _ = traces(fold(word).letters, [odds("NO PAR KING"), odds("43")])
    assert least <= found <= most


def test_letters_are_spotted_in_a_drawn_line():
    found = [letter_odds(np.asarray(board("No Parking").convert("RGB"))[20:110, 20:420, ::-1])]
    (is_there, above), (is_not, level) = (
        traces(fold(x).letters, found) for x in ("PARKING", "STATION")
    )
    assert is_there > -0.3 > -3.0 > is_not
    assert above > READ_BOUNDS[1] > UNREAD_BOUNDS[1] > level


def lamps(text: str) -> Image.Image:
    """A matrix of lamps, of which those of the letters are lit, and a printed sign under it."""
    cells = Image.new("L", (70, 30), 0)
    ImageDraw.Draw(cells).text((6, 4), text, fill=255, font=ImageFont.load_default(18))
    image = Image.new("RGB", (1120, 620), (30, 20, 25))
    draw = ImageDraw.Draw(image)
    for y, row in enumerate(np.asarray(cells)):
        for x, lit in enumerate(row):
            color = (255, 90, 60) if lit > 100 else (75, 60, 65)
            draw.ellipse((16 * x + 4, 16 * y + 4, 16 * x + 11, 16 * y + 11), fill=color)
    draw.rectangle((0, 490, 1120, 620), fill="white")
    draw.text((300, 520), "TICKET OFFICE", fill="black", font=ImageFont.load_default(60))
    return image


def test_a_word_of_lamps_that_is_overlooked_at_first_is_not_refuted():
    image, critic = lamps("Hello"), TextCritic()
    assert all("ello" not in line.text.lower() for part in critic.read(image) for line in part)
    (_, hello), (_, other) = critic.checked(image, 'A board reads "Hello". A sign reads "Museum".')
    assert hello.outcome is QuoteOutcome.UNREADABLE
    assert other.outcome is QuoteOutcome.REFUTED


# --- The critic, on drawn boards ------------------------------------------------------------------


def judged(critic, image: Image.Image, caption: str) -> list[Verdict]:
    return critic.judge([JudgeRequest(image, caption, tuple(split(caption)))])[0]


def test_verdicts_on_a_drawn_board(sign: Image.Image):
    caption = f'{RIGHT} {WRONG} It is white. A “C107” is on it. It says "GRAND HOTEL".'
    right, wrong, silent, code, invented = judged(TextCritic(), sign, caption)
    assert right == Verdict(None, Unscored.TEXT_BORNE_OUT, by="text")
    assert silent == Verdict(None, Unscored.NO_QUOTE)
    assert code == Verdict(None, Unscored.UNREADABLE_TEXT, by="text")
    assert label_of(wrong, TextCritic().threshold) is label_of(invented, 0.5) is Label.NONFACTUAL


def test_a_fix_has_its_place_in_sentence_and_image(sign: Image.Image):
    spans = tuple(split(WRONG))
    (told,) = TextCritic().explain([ExplainRequest(sign, WRONG, spans, 0)])
    (fix,) = told.fixes
    assert (fix.span.of(WRONG), fix.right, fix.certain) == ("BARKING", "PARKING", True)
    left, top, right, bottom = fix.evidence[0].box
    assert left < 60
    assert right > 250
    assert 20 < top < bottom < 120
    assert told.text == "The text in the image reads “PARKING”, not “BARKING”."


def test_a_threshold_that_is_asked_for_is_kept():
    assert load("", CriticOptions(threshold=0.25)).threshold == 0.25
    assert load("", CriticOptions()).threshold == 0.5


def test_images_are_read_only_where_something_is_quoted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(text_critic, "read_text", pytest.fail)
    assert judged(TextCritic(), board("OPEN"), "It is a sign.") == [
        Verdict(None, Unscored.NO_QUOTE)
    ]


def test_readings_go_with_their_images():
    critic, image = TextCritic(), board("OPEN")
    judged(critic, image, 'It says "GRAND HOTEL".')
    gone = weakref.ref(image)
    del image
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    ("argument", "options"), [("x", CriticOptions()), ("", CriticOptions(target_precision=0.9))]
)
def test_what_it_has_no_use_for_is_refused(argument: str, options: CriticOptions):
    with pytest.raises(UserError, match="the critic text"):
        load(argument, options)


# --- Beside the experts of images -----------------------------------------------------------------


def run(base: Verdict, sign: Image.Image, caption: str, threshold: float = 0.4):
    """A caption through a panel of a critic that always says `base`, and the one of text."""
    other = ScriptedCritic(default=base, threshold=threshold, settings={"critic": "other"})
    panel = PanelCritic({"other": other, "text": TextCritic()})
    reviser = PanelReviser({"other": FixReviser(), "text": FixReviser()})
    models = rounds.LoadedModels(panel, reviser, "s")
    draft = new_draft(sign, caption, split(caption))
    (done,) = rounds.run_stages([draft], models, rounds.RevisionSettings(rounds=1))
    return revision_of(done, "s")


def test_a_refuted_quote_decides_and_the_row_says_so(sign: Image.Image):
    done = run(Verdict(0.9), sign, f"{WRONG} It is white.")
    first, second = done.sentences
    assert done.revised_caption == f"{RIGHT} It is white."
    assert (done.expert, first.verdict.by, first.now.by, second.verdict.by) == (
        "other", "text", "", "")  # fmt: skip
    assert first.verdict.p_factual is not None
    assert first.verdict.p_factual < 0.4 * TextCritic().threshold
    assert first.now == second.verdict == Verdict(0.9)
    row = to_json(done)
    assert row["revision"]["sentences"][0]["by"] == "text"
    assert "by" not in row["revision"]["sentences"][1]
    assert from_json(done.caption, row) == done


def test_where_nobody_takes_the_image_only_the_quote_is_judged(sign: Image.Image):
    outside = Verdict(None, Unscored.OUTSIDE_DOMAIN)
    done = run(outside, sign, f"{WRONG} {RIGHT} It is white.")
    wrong, right, silent = done.sentences
    assert done.revised_caption == f"{RIGHT} {RIGHT} It is white."
    assert wrong.attempts[-1].why is Why.TEXT_BORNE_OUT
    assert wrong.now == right.verdict == Verdict(None, Unscored.TEXT_BORNE_OUT, by="text")
    assert silent.verdict == outside
    assert from_json(done.caption, to_json(done)) == done


def test_where_both_object_both_are_heard(sign: Image.Image):
    done = run(Verdict(0.2), sign, WRONG)
    (sentence,) = done.sentences
    assert (sentence.verdict.by, sentence.verdict.p_factual) == ("", 0.016)
    assert sentence.rationale is not None
    assert len(sentence.rationale.fixes) == 1
    assert done.revised_caption == WRONG  # the other critic still objects


def test_a_quote_that_is_right_leaves_the_verdict_as_it_is(sign: Image.Image):
    assert run(Verdict(0.3), sign, RIGHT).sentences[0].verdict == Verdict(0.3)
    assert run(Verdict(0.6), sign, RIGHT).sentences[0].verdict == Verdict(0.6)
