"""Mistakes and omissions marked in the text, for the terminal and for a page (`posh.page`).

Every character gets the lowest grade of the components over it: below `PRESENT` it is shown as
wrong (a mistake in the generation, an omission in the reference), up to `WEAK` as weak. Texts are
untrusted: they are escaped, and invisible characters are written out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

from revise_captions.graphs.grading.judge import PRESENT
from revise_captions.outside_text import plain
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
    for title, graded in texts(score):
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


def texts(score: Score) -> Iterator[tuple[str, Graded]]:
    """The texts of a pair with their titles."""
    yield "generation", score.generation
    for number, graded in enumerate(score.references, 1):
        yield "reference" if len(score.references) == 1 else f"reference {number}", graded


def view_of(name: str, score: Score) -> dict[str, Any]:
    """What the page shows of a pair, ready for JSON."""
    return {
        "name": name,
        "overall": score.overall,
        "scores": _values(score),
        "texts": [_text(title, graded) for title, graded in texts(score)],
    }


def _text(title: str, graded: Graded) -> dict[str, Any]:
    """A text in runs of one state, and its components: kind, phrase, state, grade or reason."""
    components = [
        {
            "kind": str(part.part),
            "phrase": part.phrase(graded.graph),
            "state": state_of(grade.score),
            "grade": grade.score,
            "unscored": grade.unscored,
        }
        for part, grade in zip(graded.parts, graded.grades, strict=True)
    ]
    return {"title": title, "pieces": list(pieces(graded)), "components": components}


def _number(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.3f}"
