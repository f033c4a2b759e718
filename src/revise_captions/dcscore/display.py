"""Wrong units marked in the caption, missed ones in the reference: for the terminal and as a page.

A character is marked by the shortest unit over it, so that only "red" is wrong in "a red house" if
there is a house. Texts are untrusted: the page escapes them and spells out invisible characters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from revise_captions.dcscore.rows import FIGURES, means, scored_row
from revise_captions.dcscore.scorer import ScoredCaption
from revise_captions.dcscore.units import InformationUnit
from revise_captions.outside_text import plain
from revise_captions.pages.templating import environment, render_page
from revise_captions.runs.score_file import FileScores
from revise_captions.signature import settings_of
from revise_captions.text import marked
from revise_captions.text.marked import Piece, as_html

_TEMPLATES = Path(__file__).parent / "templates"
#: What every such page has in its head.
TITLE = "<title>DCScore</title>"
#: Most captions on a page: more would be heavy for a browser.
ON_PAGE = 200
HEADINGS = {
    "dcscore": "DCScore F",
    "s_p": "precision s_p",
    "s_r": "recall s_r",
    "s_f": "F1 of all units",
    "s_f_descriptive": "F1 of descriptive units",
    "n_units": "units a caption",
}


def state_of(scored: ScoredCaption, index: int) -> str:
    """`bad` for a wrong unit of the caption, `unsure` for an unscored one, else ""."""
    verdict = scored.verdicts[index]
    if verdict.correct is None:
        return "unsure"
    return "" if verdict.correct else "bad"


def _pieces(text: str, marks: Iterable[tuple[InformationUnit, str]]) -> list[Piece]:
    """A text in runs of one state; the shortest unit over a character decides its state."""
    spans = [(unit.span, state) for unit, state in marks]
    return marked.pieces(text, sorted(spans, key=lambda mark: mark[0].start - mark[0].end))


def caption_pieces(scored: ScoredCaption) -> list[Piece]:
    marks = [(unit, state_of(scored, k)) for k, unit in enumerate(scored.caption.units)]
    return _pieces(scored.caption.text, marks)


def reference_pieces(scored: ScoredCaption) -> list[Piece]:
    if scored.reference is None:
        return []
    missed = scored.missed
    marks = [(u, "bad" if k in missed else "") for k, u in enumerate(scored.reference.units)]
    return _pieces(scored.reference.text, marks)


def for_terminal(scored: ScoredCaption, *, color: bool) -> str:
    """Both texts; without color, `[wrong or missed]` and `{unscored}`."""
    lines = [
        f"{name:<16}{'unscored' if value is None else f'{value:.3f}'}"
        for name, value in _figures(scored)
    ]
    if scored.why_unscored:
        lines.append(plain(scored.why_unscored))
    for title, found in (("caption", caption_pieces(scored)),
                         ("reference", reference_pieces(scored))):  # fmt: skip
        if found:
            lines += ["", title, marked.for_terminal(found, "bad", color=color)]
    wrong = [u.text for k, u in enumerate(scored.caption.units) if state_of(scored, k) == "bad"]
    own = scored.reference.units if scored.reference is not None else ()
    for title, texts in (
        ("wrong", wrong),
        ("missed", [own[k].text for k in sorted(scored.missed)]),
    ):
        lines += [f"{title}: {plain(text)}" for text in texts]
    return "\n".join(lines)


def _figures(scored: ScoredCaption) -> list[tuple[str, float | None]]:
    return [(name, FIGURES[name](scored.score)) for name in FIGURES if name != "n_units"]


class UnitPage:
    """One self-contained HTML page: the means, then captions and references with their marks."""

    mark = TITLE

    def __init__(self) -> None:
        self.views: list[Mapping[str, Any]] = []

    def add(self, view: Mapping[str, Any]) -> None:
        """Adds a caption, as returned by `view_of`; the page shows the first ones."""
        if len(self.views) < ON_PAGE:
            self.views.append(view)

    def render(self, found: FileScores) -> str:
        """See `ScorePage`."""
        rows = list(map(scored_row, found.kept))
        values = {
            "figures": [(HEADINGS[name], mean) for name, mean in means(rows).items()],
            "captions": [_marked_up(view) for view in self.views],
            "count": len(rows),
            "failed": found.written.quarantined,
            "settings": settings_of(found.signature),
        }
        return render_page(environment(_TEMPLATES), "dcscore.html.j2", values)


def _marked_up(view: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**view, **{side: as_html(view[side]) for side in ("caption", "reference")}}


def view_of(name: str, scored: ScoredCaption) -> dict[str, Any]:
    """What the page shows for a caption, ready for JSON."""
    reference = scored.reference
    own = reference.units if reference is not None else ()
    units = []
    for k, unit in enumerate(scored.caption.units):
        matches = scored.matches[k].references if scored.matches else ()
        units.append(
            {
                "text": unit.text,
                "state": state_of(scored, k),
                "correct": scored.verdicts[k].correct,
                "p_correct": scored.verdicts[k].p_correct,
                "unscored": scored.verdicts[k].unscored,
                "descriptive": unit.descriptive,
                "matches": [own[m].text for m in matches],
            }
        )
    return {
        "name": name,
        "figures": [(HEADINGS[key], value) for key, value in _figures(scored)],
        "why": scored.why_unscored,
        "caption": caption_pieces(scored),
        "reference": reference_pieces(scored),
        "by_hand": scored.by_hand,
        "units": units,
        "missed": [own[k].text for k in sorted(scored.missed)],
        "unread": [
            (one.reason, scored.caption.sentences[one.sentence].of(scored.caption.text))
            for one in scored.caption.unscored
        ],
    }
