"""Statements of the world of charts are true or false as they say, and drawn as they are."""

from __future__ import annotations

import json
import random
from collections import Counter

import pytest
from commands import outcome

from revise_captions.chart_world import generate
from revise_captions.chart_world.captions import ERRORS, sample_caption
from revise_captions.chart_world.drawing import draw_table
from revise_captions.chart_world.readings import exact_reading, noisy_reading
from revise_captions.chart_world.tables import Table, TableColumn, sample_table
from revise_captions.charts.claims import ClaimOutcome, check_sentence
from revise_captions.command_line.running import run_command


def run(arguments: list[str]) -> None:
    run_command(generate.main, "generate", arguments)


def captions(count: int, seed: int = 0):
    for number in range(count):
        rng = random.Random(f"{seed}.{number}")
        table = sample_table(rng)
        yield table, sample_caption(rng, table)


def refuted(sentence: str, table: Table) -> bool:
    found = check_sentence(sentence, [exact_reading(table)])
    return any(check.outcome is ClaimOutcome.FALSE for check in found)


def test_oracle_refutes_false_statements_and_hardly_any_true_one():
    """Of the types that numbers decide; the oracle knows neither context nor nonsense."""
    counts: Counter[tuple[bool, bool]] = Counter()
    for table, caption in captions(250):
        for one in caption.statements:
            if one.error in (None, "value", "trend", "magnitude"):
                counts[one.error is None, refuted(one.text, table)] += 1
    true, false = (sum(counts[kind, r] for r in (True, False)) for kind in (True, False))
    assert counts[True, True] < 0.03 * true
    assert counts[False, True] > 0.75 * false


def test_rewrites_are_borne_out():
    rewrites = [
        (one.rewrite, table)
        for table, caption in captions(200, seed=1)
        for one in caption.statements
        if one.error and one.rewrite
    ]
    assert len(rewrites) > 100
    assert sum(refuted(text, table) for text, table in rewrites) < 0.04 * len(rewrites)


def test_every_type_of_error_occurs_with_a_rationale():
    wrong = [s for _, caption in captions(300, seed=2) for s in caption.statements if s.error]
    assert {s.error for s in wrong} == {name for name, _ in ERRORS}
    assert all(s.rationale and s.text != s.rewrite for s in wrong)


def test_length_and_opening_do_not_tell_what_is_wrong():
    """Sentences with an error of value or label are as long as true ones, to a word or two."""
    words: dict[bool, list[int]] = {True: [], False: []}
    for _, caption in captions(400, seed=3):
        for one in caption.statements:
            if one.error in (None, "value", "label"):
                words[one.error is None].append(len(one.text.split()))
    mean = {truth: sum(counts) / len(counts) for truth, counts in words.items()}
    assert abs(mean[True] - mean[False]) < 2


TABLE = Table(
    "vertical bar", "Rents in Oslo", "", "the rent in Oslo", "Rent in euros", "Year", "euros", 0,
    ("2010", "2011", "2012"), (TableColumn("", (400.0, 500.0, 650.0)),), True, True,
)  # fmt: skip


@pytest.mark.parametrize("style", ["vega", "matplotlib", "infographic"])
def test_draws_in_every_style(style):
    image = draw_table(TABLE, random.Random(0), style)
    assert image.mode == "RGB"
    assert min(image.size) > 100
    assert len(image.getcolors(1 << 20)) > 3


def test_an_unknown_style_is_refused():
    with pytest.raises(ValueError, match="no style 'crayon'"):
        draw_table(TABLE, random.Random(0), "crayon")


def test_noise_moves_measured_values_by_little():
    chart = noisy_reading(TABLE, random.Random(4))
    values = [mark.value for mark in chart.series[0].marks if mark.value is not None]
    assert values
    assert all(min(abs(v - true) for true in (400, 500, 650)) < 1 for v in values)


def test_generates_rows_whose_spans_are_the_sentences(tmp_path, capsys):
    asked = [str(tmp_path), "--charts", "3", "--style", "infographic"]
    assert outcome(run, capsys, *asked)[0] == 0
    rows = [json.loads(line) for line in (tmp_path / "charts.jsonl").read_text().splitlines()]
    assert len(rows) == 3
    for row in rows:
        assert (tmp_path / row["image"]).is_file()
        assert row["table"].startswith("image,chart,kind")
        parts = [row["caption"][s["start"] : s["end"]] for s in row["sentences"]]
        assert " ".join(parts) == row["caption"]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "is not empty"),
        (("--charts", "0"), "0 is not in"),
        (("--style", "oil"), "'oil' is not"),
    ],
)
def test_a_folder_with_content_and_what_cannot_be_drawn_are_refused(
    options, said, tmp_path, capsys
):
    (tmp_path / "charts.jsonl").write_text("mine")
    status, _, error = outcome(run, capsys, str(tmp_path), *options)
    assert (status, said in error) == (2, True)
    assert (tmp_path / "charts.jsonl").read_text() == "mine"
