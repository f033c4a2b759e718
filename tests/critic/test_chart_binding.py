"""Which of two panels' marks a number is about, by the names that a sentence uses: read by hand."""

from __future__ import annotations

import time

import pytest

from revise_captions.charts import Chart, ChartMark, ChartSeries
from revise_captions.charts.claims.grid import marks_of
from revise_captions.critic.charts.binding import misnamed

ROWS = ("Republican", "Democrat", "Independent")


def panel(title: str, values: dict[str, tuple[float, ...]], printed: bool = True) -> Chart:
    return Chart("stacked bar", title, series=tuple(
        ChartSeries(name, "", tuple(map(ChartMark, ROWS, own, [printed] * len(own))))
        for name, own in values.items()
    ))  # fmt: skip


PANELS = (
    panel("Ratings of two services, in % of adults: Military",
          {"Somewhat warm": (7, 14, 13), "Very warm": (86, 69, 64)}),
    panel("Police", {"Somewhat warm": (12, 24, 22), "Very warm": (74, 33, 43)}),
)  # fmt: skip
FEELINGS = (panel("Contact", {"Not bothered": (73, 61, 54), "Bothered": (26, 38, 45)}),)


def off(sentence: str, charts: tuple[Chart, ...] = PANELS, before: str = "", lines=()) -> float:
    return misnamed(sentence, charts, marks_of(charts), lines, before)


@pytest.mark.parametrize(
    "sentence",
    [
        "Of Democrats, 33% rate the police very warm.",
        "Democrats rate the military very warm (69%) or somewhat warm (14%).",
        "Republicans and Democrats rate the military very warm, at 86% and 69%, respectively.",
        "For the police, 74% of Republicans but only 33% of Democrats are very warm.",
        "About 70% of Democrats rate the military very warm.",
        "More than 60% of independents rate the military very warm.",
        "Fewer than 33% of Republicans rate the military somewhat warm.",  # 33 are Democrats
        "It fell by 24 points for Republicans.",  # a difference
        "There are 512 Democrats.",  # nobody's value
        "No number is in it.",
        "",
    ],
)
def test_a_number_at_its_names(sentence):
    assert off(sentence) < 0.1


@pytest.mark.parametrize(
    "sentence",
    [
        "Of Democrats, 69% rate the police very warm.",  # of the other panel
        "Of Democrats, 24% rate the police very warm.",  # of the other series
        "Of Democrats, 74% rate the police very warm.",  # of the other party
        "For the police, 74% of Republicans are very warm, compared with 74% of Democrats.",
    ],
)
def test_a_number_at_other_names(sentence):
    assert off(sentence) > 0.35


def test_the_sentence_before_may_have_named_the_panel():
    said = "Of Democrats, 69% are very warm."
    assert off(said, before="This is about the police.") > off(said) + 0.1


def test_a_name_that_is_part_of_another_is_told_from_it():
    told = "Of Democrats, 38% were bothered, while 61% were not bothered."
    assert off(told, FEELINGS) < 0.1
    assert off("Of Democrats, 61% were bothered.", FEELINGS) > 0.35


def test_a_number_that_stands_there_more_often_than_was_read_may_be_anothers():
    said = "Of Democrats, 69% rate the police very warm."
    assert off(said, lines=("69",)) > 0.35
    assert off(said, lines=("69", "69%")) == 0.0


def test_a_number_of_a_name_is_no_value():
    ages = Chart("bar", "Use", series=(
        ChartSeries("", "", (ChartMark("65-69", 80.0), ChartMark("80+", 44.0))),
    ))  # fmt: skip
    assert off("It is 44% of those who are 80 or older.", (ages,)) == 0.0
    assert off("It is 80% of those who are 65-69.", (ages,)) == 0.0


def test_a_measured_value_may_be_off_by_twice_as_much():
    def found(printed: bool) -> float:
        chart = panel("Ratings", {"Very warm": (86, 70, 64)}, printed)
        return off("Republicans are very warm at 82%, Democrats at 66%.", (chart,))

    assert found(printed=False) < 0.1 < found(printed=True)


@pytest.mark.parametrize("text", ["5 of Democrats, ", "very warm and 33 to ", "while 69% but "])
def test_no_text_takes_long(text):
    started = time.perf_counter()
    off(text * 20_000)
    off(text * 100)
    assert time.perf_counter() - started < 5
