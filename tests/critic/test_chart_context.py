"""What a caption's structure says of its sentences."""

from __future__ import annotations

import pytest

from revise_captions.charts import Chart, ChartMark, ChartSeries
from revise_captions.critic.charts.context import contexts_of, told, within
from revise_captions.critic.charts.rationale import rationale_of
from revise_captions.records import Fix, Rationale, Span
from revise_captions.text.markdown import sentence_spans

GROUPS = {"Oppose": {"Men": 46.0, "Women": 55}, "Favor": {"Men": 38.0, "Women": 24}}
CHART = Chart(
    "bar",
    "Views",
    series=tuple(
        ChartSeries(name, "", tuple(ChartMark(c, v) for c, v in values.items()))
        for name, values in GROUPS.items()
    ),
)
CAPTION = """## Views by group

The bars show two views. Many agree.

**Women**
- Oppose: 55%
- **Men:** 46% oppose it.

| Group | Oppose | Favor |
|---|---|---|
| Men | 46% | 38% |

1. Women favor it less.
"""


def test_sentences_are_told_with_their_labels_headings_and_columns():
    spans = sentence_spans(CAPTION)
    contexts = contexts_of(CAPTION, spans)
    said = [told(s.of(CAPTION), c, [CHART])[0] for s, c in zip(spans, contexts, strict=True)]
    assert said == [
        "The bars show two views.",
        "Many agree.",
        "Women: Oppose: 55%.",
        "Men: 46% oppose it.",
        "Men: Oppose 46%, Favor 38%.",
        "Women favor it less.",
    ]


def test_a_plain_caption_is_told_as_it_stands():
    text = "Men are at 46. Women are at 55."
    contexts = contexts_of(text, sentence_spans(text))
    assert [told("Men are at 46.", one, [CHART]) for one in contexts] == [("Men are at 46.", 0)] * 2


def fix(start: int, end: int, right: str) -> Rationale:
    return Rationale("", (Fix(Span(start, end), right),))


@pytest.mark.parametrize(
    ("found", "before", "expected"),
    [
        (fix(5, 8, "55%"), 5, [(Span(0, 3), "55%", True)]),
        (fix(0, 3, "Men"), 5, []),  # of the label
        (fix(0, 20, ""), 5, []),  # what has a label stays
        (fix(0, 8, ""), 0, [(Span(0, 8), "", True)]),
    ],
)
def test_fixes_are_of_the_sentence_without_its_context(found, before, expected):
    fixes = within(found, "46% oppose it.", before).fixes
    assert [(one.span, one.right, one.certain) for one in fixes] == expected


def test_nothing_is_certain_where_a_part_would_change_outside():
    both = Rationale("", (*fix(0, 3, "Men").fixes, *fix(5, 8, "55%").fixes))
    (left,) = within(both, "46% oppose it.", 5).fixes
    assert not left.certain


def test_rows_of_tables_are_judged_and_never_changed():
    (span,) = sentence_spans("| A | Oppose | Favor |\n|---|---|---|\n| Men | 55% | 38% |\n")
    text = "| A | Oppose | Favor |\n|---|---|---|\n| Men | 55% | 38% |\n"
    (context,) = contexts_of(text, [span])
    said, before = told(span.of(text), context, [CHART])
    found = rationale_of(said, [CHART], ["Views"], (), 0.01)
    assert "not 55%" in found.text
    assert within(found, span.of(text), before).fixes == ()
