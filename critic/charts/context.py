"""What the structure of a caption says of its sentences: labels, headings, and heads of tables.

Today's models write captions as Markdown: “**Wind:** 40 % in 2012”, a list of values below a
heading that names their group, tables. What a sentence claims, it then claims with these words,
which stand outside of it and are never changed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from revise_captions.charts import Chart
from revise_captions.charts.claims.sentence import all_labels
from revise_captions.records import Fix, Rationale, Span

_LABEL = re.compile(r"^[^\w]*(?:\d{1,3}[.)] )?[^\w]*(?P<label>\w.*?)\W*:\W*$")
_HEADING = re.compile(
    r"^\s*(?:#{1,6}\s+(?P<marked>.+?)#*|(?:\*\*|__)(?P<bold>[^*\n]+?)(?:\*\*|__):?)\s*$"
)
_ITEM = re.compile(r"^\s*(?:[-*+•–>|]|\d{1,3}[.)])\s*")
_ENDS = re.compile(r"[.!?:;…][\"')\]”’*]*\s*$")
_RULE = re.compile(r"[|:\-\s]+")


@dataclass(frozen=True, slots=True)
class SentenceContext:
    """What stands around a sentence.

    Attributes:
        label: What is put before it in its line: "Wind"; "" where nothing is.
        heading: The heading that it stands under; "" for none.
        columns: The heads of the columns, where it is a row of a table.
        is_item: Whether it ends a line of a list or table, where no full stop is due.
    """

    label: str = ""
    heading: str = ""
    columns: tuple[str, ...] = ()
    is_item: bool = False


def contexts_of(text: str, spans: Sequence[Span]) -> list[SentenceContext]:
    """The context of each sentence of a caption."""
    found: list[SentenceContext] = []
    heading, before = "", 0
    for span in spans:
        gap = text[before : span.start]
        *above, same = gap.split("\n") if "\n" in gap or not before else ["", gap]
        for line in above:
            if title := _HEADING.match(line):
                heading = (title["marked"] or title["bold"]).strip("*_: ")
        label = _LABEL.match(same)
        line = text[text.rfind("\n", 0, span.start) + 1 : span.start]
        last = text[span.end : span.end + 3].strip(" *_|")[:1] in ("", "\n")
        is_item = last and bool(_ITEM.match(line) or label)
        columns = _columns(text, span) if line.lstrip().startswith("|") else ()
        found.append(SentenceContext(label["label"] if label else "", heading, columns, is_item))
        before = span.end
    return found


def _columns(text: str, row: Span) -> tuple[str, ...]:
    """The heads of the table that a row stands in."""
    lines = text[: row.start].split("\n")[:-1]
    head: str = ""
    for line in reversed(lines):
        if "|" not in line:
            break
        head = line if not _RULE.fullmatch(line) else head
    return tuple(_cells(head))


def _cells(row: str) -> list[str]:
    return [cell.strip(" *_") for cell in row.strip().strip("|").split("|")]


def told(sentence: str, context: SentenceContext, charts: Sequence[Chart]) -> tuple[str, int]:
    """A sentence as it would be said without its structure, and how long what is before it is; a
    row of a table is told with the heads of its columns, and then nothing in it can be mended."""
    if context.columns and "|" in sentence:
        name, *cells = _cells(sentence)
        heads = context.columns[1:] if len(context.columns) == len(cells) + 1 else [""] * len(cells)
        values = (f"{head} {cell}".strip() for head, cell in zip(heads, cells, strict=True))
        return f"{name}: {', '.join(values)}.", ROW
    before = f"{context.label}: " if context.label else ""
    if not before and _adds(context.heading, sentence, charts):
        before = f"{context.heading}: "
    stop = "." if context.is_item and not _ENDS.search(sentence) else ""
    return f"{before}{sentence}{stop}", len(before)


def _adds(heading: str, sentence: str, charts: Sequence[Chart]) -> bool:
    """Whether a heading is one name of the chart, and the sentence has none of that kind."""
    names = [one for one in all_labels(heading, charts) if one.literal]
    if len(names) != 1 or names[0].name.isdigit():
        return False
    said = all_labels(sentence, charts)
    return not any(one.series is names[0].series and not one.name.isdigit() for one in said)


#: What is put before a row: all of it.
ROW = 10**6


def within(found: Rationale, sentence: str, before: int) -> Rationale:
    """A rationale of a sentence as it is `told`, for the sentence itself: what would have to change
    outside of it is left out, and then nothing of it is certain. What has a label stays."""
    inside = [fix for fix in found.fixes if fix.span.start >= before]
    whole = len(inside) == len(found.fixes)
    return replace(found, fixes=tuple(_moved(fix, sentence, before, whole) for fix in inside))


def _moved(fix: Fix, sentence: str, before: int, whole: bool) -> Fix:
    span = Span(fix.span.start - before, min(len(sentence), fix.span.end - before))
    basis = fix.basis if whole else "part of it stands outside of the sentence"
    return replace(fix, span=span, certain=fix.certain and whole, basis=basis)
