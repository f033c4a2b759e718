"""What the pages show of the boards is lines that were printed."""

from __future__ import annotations

import re

from pages import PAGES

from scripts.research.bundled_models import showcase

BOARD = """responses without a wrong sentence

rank  captioner
   1  a

correct sentences, overall

rank  captioner
   1  b

kinds of errors: flagged sentences per hundred judged

captioner  object
b             1.0

24 images; intervals
rater: critic x
"""
FIGURES = """picture-book: 336 captions

sentence: pooled over sentences
  macro-F1                                 floor: one class    0.444
  ROC-AUC                                  critic              0.914
  ROC-AUC                                  floor:length        0.513
                                           first − this  0.401
  macro-F1, best threshold                 critic              0.855
                                           first − this  0.333
  ROC-AUC [someone]                        critic              0.9

system: 14 captioners
  pearson                                  critic              0.984
  spearman                                 critic              0.981

agreement: sentences, wrong or not
  Krippendorff's α (nominal)               people              0.621

agreement: sentences, four labels
  Krippendorff's α (nominal)               people              0.570
"""


def test_one_table_and_the_kinds_of_errors_are_shown():
    shown = showcase.shown_board(BOARD)
    assert shown == BOARD[BOARD.index("correct sentences") :].strip("\n")


def test_figures_are_chosen_by_name_with_their_tests():
    shown = showcase.shown_figures(FIGURES)
    assert set(shown.split("\n")) <= set(FIGURES.split("\n"))
    assert [line.split()[0] for line in shown.split("\n") if line] == [
        "sentence:", "macro-F1", "ROC-AUC", "ROC-AUC", "first", "system:", "spearman",
        "agreement:", "Krippendorff's",
    ]  # fmt: skip


def test_the_pages_show_the_commands_that_are_run():
    commands = [f"python {showcase.GENERATE}", f"captions rate {showcase.RATE}"]
    for name, page in (("rate", "leaderboards"), ("metric", "metrics")):
        text = re.sub(r"\s*\\\n\s*", " ", PAGES[f"docs/measurements/{page}.md"])
        assert f"<!-- {name} -->" in text
        assert [command for command in commands if command not in text] == []
        commands.append(f"captions evaluate-metric {showcase.EVALUATE}")
