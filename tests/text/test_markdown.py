"""What only gives a caption its form is no sentence; everything else is, as without Markdown."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from revise_captions.pipelines.draft import compose
from revise_captions.records import Sentence, Span, Verdict
from revise_captions.text.markdown import sentence_spans
from revise_captions.text.sentences import split

PAGE = """\
## Overview

**Overview:** The chart shows sales. It rose.

1. **Revenue**: It rose to 5.
2. Costs fell.
   They fell far.

| Year | Value |
|:-----|------:|
| 2010 | 5.2 |

- Red bar
  - A bar is 3. It is high.
* * *
**Summary**
**All is well.** The end.
> It is said.
"""


def shown(text: str) -> list[str]:
    return [span.of(text) for span in sentence_spans(text)]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_headings_labels_marks_and_tables_heads_are_no_sentences(end):
    assert shown(PAGE.replace("\n", end)) == [
        *("The chart shows sales.", "It rose.", "It rose to 5.", "Costs fell.", "They fell far."),
        *("2010 | 5.2", "Red bar", "A bar is 3.", "It is high."),
        *("**All is well.**", "The end.", "It is said."),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "A dog. It sits.",
        "**Two dogs**",
        "    Four spaces are no code. They are not.",
        "<b>Bold</b> is the dog. <!-- Not this. -->",
        "[1]: it is no reference.",
    ],
)
def test_what_is_no_markdown_is_split_as_ever(text):
    assert sentence_spans(text) == split(text)


@pytest.mark.parametrize("mark", ["- ", "12. ", "## ", "> * ", "• ", "– "])
def test_a_mark_is_no_part_of_a_sentence_where_nothing_else_is_left_either(mark):
    assert shown(f"{mark}bad one") == ["bad one"]


@given(st.text(st.sampled_from("Aa. \n\r\t#*_-+>|:1)\x00•é"), max_size=80))
def test_spans_are_in_order_apart_and_stripped(text):
    end = 0
    for span in sentence_spans(text):
        assert end <= span.start < span.end <= len(text)
        assert span.of(text) == span.of(text).strip()
        end = span.end


@pytest.mark.timeout(60)
@pytest.mark.parametrize("part", ["- ", "> ", "|", "**", "#", "1. ", "\n- a", "\n|-|"])
def test_nested_and_unfinished_structure_takes_no_square_of_its_length(part):
    assert all(0 <= span.start < span.end for span in sentence_spans(part * 20_000))


@pytest.mark.timeout(60)
@pytest.mark.parametrize("gap", ["\n", "\n ", "- ", "\n1. "])
def test_what_stands_around_a_removed_sentence_takes_no_square_of_its_length(gap):
    text = f"A.{gap * 100_000}B. C."
    spans = (Span(0, 2), Span(len(text) - 5, len(text) - 3), Span(len(text) - 2, len(text)))
    gone = [Sentence(s, Verdict(0.1), Verdict(0.1), dropped=s.start > 0) for s in spans]
    present, places = compose(text, gone)
    assert (present[:2], places) == ("A.", (spans[0], None, None))


@pytest.mark.parametrize(
    ("gone", "text", "left"),
    [
        ("It rose.", "**Note:** It rose. It fell.", "**Note:** It fell."),
        ("It fell.", "**Note:** It rose. It fell.", "**Note:** It rose."),
        ("It rose.", "# Sales\n\nIt rose. It fell.", "# Sales\n\nIt fell."),
        ("A bar.", "Bars:\n- A bar.\n- No bar.\n", "Bars:\n- No bar.\n"),
        ("A bar.", "- A bar.\n- No bar.\n", "- No bar.\n"),
        ("No bar.", "1. A bar.\n2. No bar.", "1. A bar."),
        ("A bar.", "Bars:\n- A bar. It is red.\n- B.", "Bars:\n- It is red.\n- B."),
        ("No bar.", "- A bar.\n- No bar.\n- B.", "- A bar.\n- B."),
        ("One.", "One.\nTwo.", "Two."),
        ("It rose.", "A.\n**Note:** It rose. It fell.", "A.\n**Note:** It fell."),
        ("1 | 2", "|a|b|\n|-|-|\n| 1 | 2 |\n| 3 | 4 |", "|a|b|\n|-|-|\n| |\n| 3 | 4 |"),
    ],
)  # fmt: skip
def test_what_is_removed_takes_its_item_and_no_other_structure(gone, text, left):
    spans = sentence_spans(text)
    kept = tuple(Sentence(s, Verdict(0.1), Verdict(0.1), dropped=s.of(text) == gone) for s in spans)
    present, places = compose(text, kept)
    assert present == left
    stays = [span.of(text) for span in spans if span.of(text) != gone]
    assert [place.of(present) for place in places if place is not None] == stays
