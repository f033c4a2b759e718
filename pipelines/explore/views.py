"""The explorer's pages, in the report's design."""

from __future__ import annotations

from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from markupsafe import Markup

from revise_captions.errors import UserError
from revise_captions.io.decoding import shrink
from revise_captions.pages.templating import asset, render_page
from revise_captions.pipelines.annotate.tasks.decided import sentence_id
from revise_captions.pipelines.explore.comparison import HOW, sentence_pairs
from revise_captions.pipelines.explore.query import ONLY, Query, find
from revise_captions.pipelines.explore.session import ExploreSession, of_chart
from revise_captions.pipelines.report.cards import (
    Deciding,
    as_jpeg,
    deciding_of,
    has_boxes,
    render_card,
    render_tables,
    shown_picture,
)
from revise_captions.pipelines.report.page import FORMAT, TEMPLATES, report_values, templates
from revise_captions.pipelines.report.ranking import SORTS
from revise_captions.pipelines.report.sample import ReportRow


class ExploreViews:
    """Renders pages of a session. Called by one thread at a time, under the session's lock."""

    def __init__(self, session: ExploreSession) -> None:
        self.session = session
        self.title = Path(session.index.run.path).name
        self.templates = templates()
        self.scripts = (asset("page.js"), asset("records.js", TEMPLATES))

    def captions(self, query: Query) -> str:
        """The page of captions that a query asks for."""
        session, about = self.session, self.session.index.about
        found = find(session.index, query)
        page = min(query.page, found.pages)
        sorts = dict(SORTS) | {"gain": "most to gain first"}
        offered = {"differs": [], **about["offered"]}
        comparison = session.comparison
        if comparison is not None:
            sorts["different"] = "most different first"
            offered["differs"] = [
                (name, comparison.how[name]) for name in HOW if comparison.how[name]
            ]
        values = {
            "title": self.title,
            "unreadable": about["unreadable"],
            "decisions": session.decisions.path.name,
            "comparison": comparison,
            "other": Path(comparison.other.run.path).name if comparison is not None else "",
            "sorts": sorts,
            "offered": offered,
            "how": HOW,
            "query": asdict(query),
            "served": True,
            "decided": len(session.decisions.rows),
            "left": session.left(),
            "new": session.new,
            "only": ONLY,
            "all_count": sum(count for _, count in about["offered"]["outcome"]),
            "total": found.total,
            "cards": [self._card(number) for number in found.ids],
            "page": page,
            "pages": found.pages,
            "previous": _link(replace(query, page=page - 1)),
            "next": _link(replace(query, page=page + 1)),
        }
        return render_page(self.templates, "explore.html.j2", values, *self.scripts, served=True)

    def figures(self) -> str:
        """The report of the whole run, without its records."""
        about = self.session.index.about
        figures = {
            "format": FORMAT,
            "title": self.title,
            "signature": about["signature"],
            "settings": {},
            "summary": about["summary"],
        }
        values = report_values(figures, (), self.templates, without=("records",))
        return render_page(
            self.templates, "report.html.j2", values | {"back": "./"}, self.scripts[0], served=True
        )

    def _card(self, number: int) -> Markup:
        """A caption; what another program made of its revision is said instead of shown."""
        try:
            return self._shown(number)
        except (LookupError, TypeError, ValueError, AttributeError, UserError) as error:
            row = self.session.stored(number).row
            why = "a revision that revise-captions did not write"
            bad = replace(row, revision=None, reason=why, detail=repr(error))
            return render_card(self.templates, bad, number, None)

    def _shown(self, number: int) -> Markup:
        session = self.session
        stored = session.stored(number)
        image = reading = None
        if session.has_picture(stored):
            at = f"image/{number}"
            image = {"uri": at, "large": f"{at}/large", "width": None}
            if has_boxes(stored.row):
                image = {"uri": f"{at}/marked", "large": f"{at}/large/marked", "width": None}
            if of_chart(stored.row):
                reading = {"tables": f"tables/{number}"}
        beside = []
        if session.comparison is not None and stored.row.revision is not None:
            beside = sentence_pairs(session.index, session.comparison, number)
        return render_card(
            self.templates,
            stored.row,
            number,
            image,
            decide=partial(self._deciding, stored.row),
            beside=beside,
            reading=reading,
            others=session.others(number),
        )

    def tables(self, number: int) -> str:
        """What was read in a caption's chart. Raises `LookupError` or `BadRecord`."""
        return render_tables(self.templates, self.session.with_chart(number))

    def picture(self, number: int, side: int, *, marked: bool) -> bytes:
        """A caption's image as JPEG; `marked` outlines what its notes are about.

        Raises:
            BadRecord: The image cannot be read.
            LookupError: There is no such caption, or nothing to outline in its image.
        """
        if not marked:
            return as_jpeg(self.session.picture(number), side)[0]
        row = self.session.stored_row(number)
        if not has_boxes(row):
            raise LookupError(f"nothing is outlined in the image of caption {number}")
        image = self.session.picture(number)
        shrink(image, side)  # before, so that outlines stay as wide as they are drawn
        shown = shown_picture(replace(row, image=image))
        assert shown is not None
        return as_jpeg(shown, side)[0]

    def _deciding(self, row: ReportRow, sentence: int) -> Deciding | None:
        if (deciding := deciding_of(row, sentence)) is None:
            return None
        name = sentence_id(row.caption, row.image_name, row.field, sentence)
        made = self.session.decisions.of(name)
        if made is None:
            return deciding
        decision, text = made
        return replace(deciding, made=decision, text=text if decision == "edit" else deciding.text)


def _link(query: Query) -> str:
    given: dict[str, Any] = {name: value for name, value in asdict(query).items() if value}
    return f"./?{urlencode(given)}"
