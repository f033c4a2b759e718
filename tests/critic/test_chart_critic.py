"""The critic of charts, on readings made by hand and on a chart that is drawn and read."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest
from PIL import Image

from revise_captions.chart_world.drawing import draw_table
from revise_captions.chart_world.tables import Table, TableColumn
from revise_captions.charts import Chart, ChartMark, ChartSeries
from revise_captions.charts.claims.edits import with_fixes
from revise_captions.charts.ocr import TextLine
from revise_captions.critic.charts import critic as chart_critic
from revise_captions.critic.charts.critic import ChartCritic, ChartReading
from revise_captions.critic.charts.evidence import NAMES, gather
from revise_captions.critic.charts.places import (
    NumberPlace,
    places_of,
    support,
    words_and_years,
)
from revise_captions.critic.charts.rationale import UNLIKELY, rationale_of
from revise_captions.critic.charts.weights import read_weights
from revise_captions.critic.charts.words import content_stems
from revise_captions.critic.load import load_critic
from revise_captions.critic.protocol import ExplainRequest, JudgeRequest
from revise_captions.engines.batches import observed_by
from revise_captions.records import Unscored
from revise_captions.reviser.load import load_reviser
from revise_captions.text.sentences import split

VALUES = {"2010": 423.0, "2011": 400.0, "2012": 254.0, "2013": 380.0, "2014": 300.0}
MARKS = tuple(ChartMark(year, value) for year, value in VALUES.items())
YEARS = Chart("bar", "Cases in Norway", series=(ChartSeries("", "", MARKS),))
CAPTION = (
    "In 2012, there were 202 cases. In 2010, there were 423 cases. Cases rose from 2010 to 2014."
)
TRUE = "In 2012, there were 254 cases. In 2010, there were 423 cases. Cases fell from 2010 to 2014."


@pytest.fixture
def critic(monkeypatch):
    reading = ChartReading((YEARS,), ("Cases in Norway",))
    monkeypatch.setattr(chart_critic, "read_image", lambda image: reading)
    return ChartCritic()


def request(caption: str, **more) -> JudgeRequest:
    return JudgeRequest(Image.new("RGB", (8, 8)), caption, tuple(split(caption)), **more)


def test_what_the_chart_refutes_is_flagged(critic):
    wrong, right = critic.judge([request(CAPTION), request(TRUE)])
    below = [verdict.p_factual < critic.threshold for verdict in wrong]
    assert below == [True, False, True]
    assert all(verdict.p_factual >= critic.threshold for verdict in right)


def test_images_are_read_once_each_and_their_number_is_reported(monkeypatch):
    """As with `--critic charts`, where no gate has read them before."""
    read: list[int] = []
    shown: list[tuple[str, int, int]] = []

    def reading(image: Image.Image) -> ChartReading:
        read.append(id(image))
        return ChartReading((YEARS,), ("Cases in Norway",))

    monkeypatch.setattr(chart_critic, "read_image", reading)
    critic, first, second = ChartCritic(), request(TRUE), request(CAPTION)
    observer = SimpleNamespace(progress=lambda doing, done, of: shown.append((doing, done, of)))
    with observed_by(observer):
        critic.judge([first, second, first])
        critic.judge([second])
    assert sorted(read) == sorted((id(first.image), id(second.image)))
    assert shown == [("reading charts", done, 2) for done in range(3)]


def test_what_is_unlikely_goes_by_what_the_whole_caption_says(critic):
    """The explanation weighs the sentence as the verdict did, in its caption."""
    doubtful = "In some of the years Norway had 92 cases."
    good, bad = request(f"{TRUE} {doubtful}"), request(f"{CAPTION} {doubtful}")

    def fix(one: JudgeRequest):
        (why,) = critic.explain(
            [ExplainRequest(one.image, one.text, one.spans, len(one.spans) - 1)]
        )
        return [(fix.kind, fix.certain) for fix in why.fixes]

    odds = [critic.judge([one])[0][-1].p_factual for one in (good, bad)]
    assert odds[1] < 0.35 < odds[0]
    assert fix(bad) == [(UNLIKELY, True)]
    assert fix(good) == []


def test_a_language_model_flags_but_does_not_remove(critic):
    said = f"{TRUE} In some of the years Norway had 92 cases."
    asked = request(said)
    told = ExplainRequest(asked.image, said, asked.spans, len(asked.spans) - 1)
    denies = SimpleNamespace(
        name="denies", log_odds=lambda captions: [[-5.0] * len(one.sentences) for one in captions]
    )
    with_it = ChartCritic(language=denies)
    assert critic.judge([asked])[0][-1].p_factual > 0.35
    assert with_it.judge([asked])[0][-1].p_factual < 0.15
    assert with_it.explain([told]) == critic.explain([told])
    claims = critic.settings["critic"].removeprefix("charts@")
    assert with_it.settings["critic"].endswith(f"+{claims}")


def test_the_rationale_says_what_the_chart_shows(critic):
    asked = request(CAPTION)
    claims = [ExplainRequest(asked.image, CAPTION, asked.spans, k) for k in (0, 2)]
    value, trend = critic.explain(claims)
    assert value.text == "2012 is at 254, not 202."
    assert trend.text == "It fell from 423 in 2010 to 300 in 2014."
    assert [(fix.span, fix.right, fix.kind) for fix in value.fixes] == [((20, 23), "254", "value")]
    assert [fix.right for fix in trend.fixes] == ["fell"]


def test_the_rewrite_ends_factual(critic):
    asked = request(CAPTION)
    claims = [ExplainRequest(asked.image, CAPTION, asked.spans, k) for k in (0, 2)]
    rewrites = [
        with_fixes(asked.spans[k].of(CAPTION), told.fixes)
        for k, told in zip((0, 2), critic.explain(claims), strict=True)
    ]
    assert rewrites == ["In 2012, there were 254 cases.", "Cases fell from 2010 to 2014."]
    (verdicts,) = critic.judge([request(TRUE)])
    assert verdicts[0].p_factual >= critic.threshold


def test_a_statement_in_the_place_of_a_sentence_is_judged_there(critic):
    instead = ((0, "In 2012, there were 254 cases."),)
    (verdicts,) = critic.judge([request(CAPTION, instead=instead)])
    (as_is,) = critic.judge([request(CAPTION)])
    assert verdicts[0].p_factual > as_is[0].p_factual


@pytest.mark.parametrize("unread", [(), (Chart("unknown", unread=("logarithmic axis",)),)])
def test_a_chart_that_cannot_be_read_is_unscored(monkeypatch, unread):
    monkeypatch.setattr(chart_critic, "read_image", lambda image: ChartReading(unread, ()))
    (verdicts,) = ChartCritic().judge([request(CAPTION)])
    assert [verdict.unscored for verdict in verdicts] == [Unscored.UNREADABLE_CHART] * 3
    assert str(verdicts[0].unscored) == "chart could not be read"


@pytest.mark.parametrize(
    ("sentence", "rationale"),
    [
        ("In 2012, cases cases cases were 254.", "The sentence makes no sense."),
        ("Parliament passed a law on fisheries.", "The chart does not say this."),
        ("The data describe health and wealth nationwide.", ""),
        ("Johnson & Johnson makes good plasters.", "The chart does not say this."),
        (
            "The chart shows that the fall was caused by the efforts of ministers.",
            "The chart does not say this.",
        ),
        (
            "The graph depicts the share of workers who prefer trains.",
            "The chart is about “Cases in Norway”, not the share of workers who prefer trains.",
        ),
        ("Cases in Peru fell.", "The chart is about Norway, not Peru."),
        ("The rate fluctuates.", ""),
        ("The chart compares nine years.", "There are five years, not nine."),
        ("2014 had 5.", "2014 is at 300, not 5."),
        ("Cases peaked in 2012.", "2010 is the highest, at 423; 2012 is at 254."),
        (
            "The most cases were in 1984.",
            "2010 is the highest, at 423; the chart does not show 1984.",
        ),
        (
            "Cases in Norway rose from 423 in 2010 to 900 in 2014.",
            "2014 is at 300, not 900. It fell from 423 in 2010 to 300 in 2014.",
        ),
        ("2010 is 9 cases higher than 2014.", "2010 is at 423 and 2014 at 300: the difference is "
         "123, not 9."),
    ],
)  # fmt: skip
def test_rationales(sentence, rationale):
    assert rationale_of(sentence, (YEARS,), ("Cases in Norway", *VALUES)).text == rationale


def test_a_number_that_stands_beside_what_is_named_is_not_put_right():
    """Of two readings of an image, the sentence's is the one that print bears out."""
    sentence, lines = "In 2012, there were 202 cases.", ("Cases in Norway", "2012", "202")

    def said(text: str, chart: Chart, *places: NumberPlace) -> str:
        return rationale_of(text, (chart,), lines, places).text

    beside = NumberPlace(202.0, frozenset(("2012", "cases")))
    assert said(sentence, YEARS) == "2012 is at 254, not 202."
    assert said(sentence, YEARS, beside) == ""
    elsewhere = NumberPlace(202.0, frozenset(("2013", "cases")))
    assert said(sentence, YEARS, elsewhere) == "2012 is at 254, not 202."
    two = Chart("bar", series=(ChartSeries("No", "", MARKS), ChartSeries("Yes", "", MARKS)))
    assert said("In 2012, there were 202 cases of No.", two, beside) == ""


@pytest.mark.parametrize(
    ("sentence", "rationale"),
    [
        ("The most popular shop by revenue was in Sweden.", "The chart does not say this."),
        ("The payroll moves with peaks and troughs.", ""),
        ("21 percent say they worry about homework.", "The chart does not say this."),
        ("The company was founded in the 1950s.", "The chart does not say this."),
    ],
)
def test_what_is_removed_says_something_else_than_the_chart(sentence, rationale):
    assert rationale_of(sentence, (YEARS,), ("Cases in Norway", *VALUES)).text == rationale


def test_content_words_are_what_charts_in_general_lack():
    assert content_stems("The chart shows measles cases in Sweden.") == {"measl", "cases", "swede"}


def test_a_number_has_the_words_of_its_row_and_above_it():
    def line(text: str, left: int, top: int) -> TextLine:
        return TextLine(text, (left, top, left + 60, top + 20), 1.0, 0.0, 20.0, ())

    lines = [line("Favor", 200, 0), line("Oppose", 300, 0), line("Rural", 0, 40)]
    lines += [line("25", 200, 40), line("61", 300, 40), line("Urban", 0, 80), line("70%", 200, 80)]
    places = places_of(lines)
    assert [place.value for place in places] == [25, 61, 70]
    said = words_and_years("Rural people favor it")
    assert [support(value, said, places) for value in (25, 61, 70, 8)] == [1.0, 0.5, 0.5, None]


def test_weights_name_evidence():
    weights = read_weights()
    assert set(weights.weights) <= set(NAMES)
    assert weights.weights["false value"] < -0.5 < 0 < weights.weights["true value"]
    assert weights.weights["at other names"] < -1


def test_a_caption_that_errs_is_believed_less(critic):
    said = "In 2010, there were 423 cases."
    among = [
        critic.judge([request(f"In 2012, there were {number} cases. {said}")])[0][1].p_factual
        for number in (202, 254)
    ]
    assert among[0] < among[1]


@pytest.mark.parametrize(
    ("sentence", "name"),
    [
        ("In 2012, there were 7,777 cases.", "unprinted numbers"),
        ("In 1987, there were cases.", "unprinted years"),
        ("Sweden had the highest number of cases.", "undecided extreme"),
        ("Cases fell from 300 to 423.", "false trend"),  # they did, but that is no fall
    ],
)
def test_evidence_against_a_sentence(sentence, name):
    lines = [f"{year} {value:g}" for year, value in VALUES.items()]
    evidence = gather([sentence, TRUE.partition(".")[0] + "."], [YEARS], lines)
    at = NAMES.index(name)
    assert [one.values[at] for one in evidence] == [1.0, 0.0]
    assert read_weights().weights[name] < 0


@pytest.mark.parametrize(
    ("sentence", "share"),
    [
        ("The weather was pleasant.", 0.3),  # nothing is decided: the usual share
        ("In 2012, there were 254 cases.", 0.0),
        ("In 2012, there were 202 cases.", 1.0),
        ("It fell from 423 in 2010 to 202 in 2012.", 1 / 3),
        ("In 2012, there were 202 cases, some 130 in 2013, some 140.", 1.0),  # two undecided
    ],
)
def test_the_share_of_claims_that_are_refuted(sentence, share):
    (evidence,) = gather([sentence], [YEARS], [])
    assert evidence.values[NAMES.index("refuted share")] == pytest.approx(share)


@pytest.mark.parametrize(("printed", "expected"), [(True, 3.0), (False, 0.0)])
def test_numbers_are_missed_only_where_values_are_printed(printed, expected):
    marks = tuple(ChartMark(year, value, printed=printed) for year, value in VALUES.items())
    chart = Chart("bar", "", series=(ChartSeries("", "", marks),))
    sentence = "There were 7,771, 7,772, 7,773 and 7,774 cases."
    (evidence,) = gather([sentence], [chart], ["423 cases"])
    assert evidence.values[NAMES.index("unprinted numbers")] == expected


def test_words_for_the_subject_that_the_image_lacks_count_against_a_sentence():
    # OCR joins words; "notably", "showcases" and "trajectory" could be said of any chart
    lines = ["Registeredcases in Norway"]
    said = (
        "Registered cases in Norway fell.",
        "Notably, the chart showcases a trajectory.",
        "Hospital beds in Sweden fell.",
    )
    found = gather(said, [YEARS], lines)
    assert [one.values[NAMES.index("absent words")] for one in found] == [0.0, 0.0, 0.6]
    assert read_weights().weights["absent words"] < 0


def test_reads_and_judges_a_drawn_chart():
    table = Table(
        "horizontal bar", "Rents in Oslo by group", "", "the rent", "Rent", "Group", "", 0,
        ("Men", "Women", "Urban", "Rural"), (TableColumn("", (40.0, 61.0, 70.0, 25.0)),), False,
        True,
    )  # fmt: skip
    image = draw_table(table, random.Random(0), "infographic")
    caption = "Women stand at 61. Rural stands at 52."
    critic = load_critic("charts")
    asked = JudgeRequest(image, caption, tuple(split(caption)))
    ((right, wrong),) = critic.judge([asked])
    assert right.p_factual >= critic.threshold > wrong.p_factual
    (told,) = critic.explain([ExplainRequest(image, caption, asked.spans, 1)])
    assert told.text == "Rural is at 25, not 52."
    assert with_fixes("Rural stands at 52.", told.fixes) == "Rural stands at 25."


def test_the_reviser_is_found_by_name():
    assert load_reviser("fixes").settings == {"reviser": "fixes-1"}
