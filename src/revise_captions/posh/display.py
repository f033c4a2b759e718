"""Mistakes and omissions marked in the text, for the terminal and as an HTML page.

Every character gets the lowest grade of the components over it: below `PRESENT` it is shown as
wrong (a mistake in the generation, an omission in the reference), up to `WEAK` as weak. Texts are
untrusted: they are escaped, and invisible characters are written out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from itertools import groupby

from revise_captions.outside_text import plain
from revise_captions.posh.judge import PRESENT
from revise_captions.posh.scoring import Graded, Score

WEAK = 3.0
_STYLES = {"wrong": "\x1b[1;31m", "weak": "\x1b[33m"}


def pieces(graded: Graded) -> Iterator[tuple[str, str]]:
    """The text in runs of one state: `wrong`, `weak` or ""."""
    text = graded.graph.text
    states = [""] * len(text)
    for part, grade in zip(graded.parts, graded.grades, strict=True):
        state = state_of(grade.score)
        for i in range(part.span.start, min(part.span.end, len(text))):
            if state == "wrong" or (state == "weak" and not states[i]):
                states[i] = state
    for state, run in groupby(range(len(text)), key=lambda i: states[i]):
        yield state, "".join(text[i] for i in run)


def state_of(score: float | None) -> str:
    if score is None or score >= WEAK:
        return ""
    return "wrong" if score < PRESENT else "weak"


def for_terminal(score: Score, *, color: bool) -> str:
    """Both texts; without color, `[wrong]` and `{weak}`."""
    lines = [f"{name:<11}{_number(value)}" for name, value in _values(score)]
    for title, graded in _texts(score):
        shown = "".join(_terminal(state, plain(text), color) for state, text in pieces(graded))
        lines += ["", title, shown]
    return "\n".join(lines)


def _terminal(state: str, text: str, color: bool) -> str:
    if not state:
        return text
    if color:
        return f"{_STYLES[state]}{text}\x1b[0m"
    return f"[{text}]" if state == "wrong" else f"{{{text}}}"


def _values(score: Score) -> list[tuple[str, float | None]]:
    return [
        ("mistakes", score.mistakes.score),
        ("omissions", score.omissions.score),
        ("overall", score.overall),
    ]


def _texts(score: Score) -> Iterator[tuple[str, Graded]]:
    yield "generation", score.generation
    for number, graded in enumerate(score.references, 1):
        yield "reference" if len(score.references) == 1 else f"reference {number}", graded


def _number(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.3f}"


def for_html(scores: Iterable[tuple[str, Score]], signature: str) -> Iterator[str]:
    """A page of pairs, in pieces to write one after the other. The strings are their names."""
    yield _HEAD
    for name, score in scores:
        yield f'<article><h2 dir="auto">{escape(plain(name))}</h2>\n<dl>'
        for label, value in _values(score):
            yield f"<div><dt>{label}</dt><dd>{_number(value)}</dd></div>"
        yield "</dl>\n"
        for title, graded in _texts(score):
            shown = "".join(_html(state, text) for state, text in pieces(graded))
            yield f'<h3>{title}</h3>\n<p dir="auto">{shown}</p>\n{_table(graded)}'
        yield "</article>\n"
    yield f"<footer><code>{escape(plain(signature))}</code></footer>\n</main></body></html>\n"


def _html(state: str, text: str) -> str:
    shown = escape(plain(text))
    if not state:
        return shown
    meaning = "not in the other text" if state == "wrong" else "hardly in the other text"
    return f'<mark class="{state}" title="{meaning}">{shown}</mark>'


def _table(graded: Graded) -> str:
    rows: Sequence[str] = [
        f"<tr><td>{part.part}</td><td>{escape(plain(part.phrase(graded.graph)))}</td>"
        f'<td class="{state_of(grade.score)}">{_grade(grade.score, grade.unscored)}</td></tr>'
        for part, grade in zip(graded.parts, graded.grades, strict=True)
    ]
    return (
        f"<details><summary>{len(rows)} components</summary><table><thead><tr><th>kind</th>"
        f"<th>component</th><th>grade, 1–5</th></tr></thead><tbody>{''.join(rows)}</tbody>"
        "</table></details>\n"
    )


def _grade(score: float | None, unscored: str) -> str:
    return escape(plain(unscored)) if score is None else f"{score:.2f}"


_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>POSH scores</title>
<style>
body { font: 16px/1.55 system-ui, sans-serif; margin: 0 auto; max-width: 46rem; padding: 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; overflow-wrap: anywhere } h3 { font-size: .95rem }
article { border-top: 1px solid #8886; padding: .5rem 0 1rem }
dl { display: flex; flex-wrap: wrap; gap: 1.5rem; margin: 0 } dd { margin: 0; font-weight: 600 }
p { overflow-wrap: anywhere; white-space: pre-wrap }
mark { color: inherit; border-radius: .2em; padding: 0 .1em }
mark.wrong { background: #d3373744; text-decoration: underline 2px #c22 }
mark.weak { background: #d9a40044; text-decoration: underline dotted 2px #b80 }
table { border-collapse: collapse; font-size: .9rem } td, th { padding: .15rem .6rem .15rem 0;
text-align: left; overflow-wrap: anywhere } td.wrong { color: #c22 } code { font-size: .75rem;
overflow-wrap: anywhere } details { margin: .3rem 0 }
@media (prefers-color-scheme: dark) { td.wrong { color: #f77 } }
</style></head><body><main>
<h1>POSH: mistakes and omissions</h1>
<p><mark class="wrong">Solid</mark>: in the generation a mistake, in the reference an omission.
<mark class="weak">Dotted</mark>: the other text only hints at it.</p>
"""
