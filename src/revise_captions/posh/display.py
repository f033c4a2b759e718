"""Mistakes and omissions marked in the text, for the terminal and for a page (`posh.page`).

Every character gets the lowest grade of the components over it: below `PRESENT` it is shown as
wrong (a mistake in the generation, an omission in the reference), up to `WEAK` as weak. Texts are
untrusted: they are escaped, and invisible characters are spelled out.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from revise_captions.graphs.grading.judge import PRESENT
from revise_captions.posh.scoring import Graded, Score
from revise_captions.text import marked
from revise_captions.text.marked import Piece

WEAK = 3.0


def pieces(graded: Graded) -> list[Piece]:
    """The text in runs of one state: `wrong`, `weak` or ""."""
    rank = ("", "weak", "wrong").index
    marks = [
        (part.span, state_of(grade.score))
        for part, grade in zip(graded.parts, graded.grades, strict=True)
    ]
    return marked.pieces(graded.graph.text, sorted(marks, key=lambda one: rank(one[1])))


def state_of(score: float | None) -> str:
    if score is None or score >= WEAK:
        return ""
    return "wrong" if score < PRESENT else "weak"


def for_terminal(score: Score, *, color: bool) -> str:
    """Both texts; without color, `[wrong]` and `{weak}`."""
    lines = [f"{name:<11}{_number(value)}" for name, value in _values(score)]
    for title, graded in texts(score):
        lines += ["", title, marked.for_terminal(pieces(graded), "wrong", color=color)]
    return "\n".join(lines)


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
    """What the page shows for a pair, ready for JSON."""
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
    return {"title": title, "pieces": pieces(graded), "components": components}


def _number(value: float | None) -> str:
    return "unscored" if value is None else f"{value:.3f}"
