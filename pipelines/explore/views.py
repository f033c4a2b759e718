"""The explorer's pages, in the report's design."""

from __future__ import annotations

from collections.abc import Sequence
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
    deciding_here,
    deciding_of,
    has_boxes,
    render_card,
    render_tables,
    shown_picture,
)
from revise_captions.pipelines.report.page import FORMAT, TEMPLATES, report_values, templates
from revise_captions.pipelines.report.ranking import SORTS
from revise_captions.pipelines.report.sample import ReportRow

#: The folder of images beside a page that is not served.
IMAGES = "images"


class ExploreViews:
    """Renders pages of a session. Called by one thread at a time, under the session's lock.

    Pages that are not `served` need nobody to answer them: they hold every caption, their script
    chooses and keeps decisions, and images lie beside them, in `IMAGES`.
    """

    def __init__(self, session: ExploreSession, *, served: bool = True) -> None:
        self.session, self.served = session, served
        self.title = Path(session.index.run.path).name
        self.templates = templates()
        self.scripts = (asset("page.js"), asset("records.js", TEMPLATES))

    def captions(self, query: Query) -> str:
        """The page of captions that a query asks for."""
        found = find(self.session.index, query)
        page = min(query.page, found.pages)
        links = {
            "previous": _link(replace(query, page=page - 1)),
            "next": _link(replace(query, page=page + 1)),
        }
        values = self._values(query, found.ids, found.total)
        return self._rendered(values | links | {"page": page, "pages": found.pages})

    def all_captions(self, only: str = "") -> str:
        """One page of all captions; `only` is one of `ONLY`, with which it begins, or ""."""
        found = self.session.index.db.execute("SELECT id FROM captions ORDER BY id")
        ids = [number for (number,) in found]
        values = self._values(Query(sort="gain" if only else "", only=only), ids, len(ids))
        return self._rendered(values | {"page": 1, "pages": 1})

    def _rendered(self, values: dict[str, Any]) -> str:
        return render_page(
            self.templates,
            "explore.html.j2",
            values,
            *self.scripts,
            served=self.served,
            beside=not self.served,
        )

    def _values(self, query: Query, ids: Sequence[int], total: int) -> dict[str, Any]:
        """What the page of these captions shows."""
        session, about = self.session, self.session.index.about
        sorts = dict(SORTS) | {"gain": "most to gain first"}
        offered = {"differs": [], **about["offered"]}
        comparison = session.comparison
        if comparison is not None and self.served:
            sorts["different"] = "most different first"
            offered["differs"] = [
                (name, comparison.how[name]) for name in HOW if comparison.how[name]
            ]
        return {
            "title": self.title,
            "signature": about["signature"],
            "unreadable": about["unreadable"],
            "decisions": session.decisions.path.name,
            "comparison": comparison,
            "other": Path(comparison.other.run.path).name if comparison is not None else "",
            "sorts": sorts,
            "offered": offered,
            "how": HOW,
            "query": asdict(query),
            "served": self.served,
            "decided": len(session.decisions.rows) if self.served else 0,
            "left": session.left(),
            "new": session.new,
            "only": ONLY,
            "all_count": sum(count for _, count in about["offered"]["outcome"]),
            "total": total,
            "cards": [self._card(number) for number in ids],
        }

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
        values |= {"back": "./" if self.served else "index.html", "served": self.served}
        return render_page(
            self.templates, "report.html.j2", values, self.scripts[0], served=self.served
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
        row, image, reading, left = stored.row, None, None, None
        others = session.others(number)
        if not self.served:
            others, left = ("", *others[1:]), session.left_of(number)
        if session.has_picture(stored):
            image = self._image(number, row)
            if of_chart(row) and self.served:
                reading = {"tables": f"tables/{number}"}
            elif of_chart(row):
                row = session.with_chart(number)
        beside = []
        if session.comparison is not None and stored.row.revision is not None:
            beside = sentence_pairs(session.index, session.comparison, number)
        return render_card(
            self.templates,
            row,
            number,
            image,
            decide=partial(self._deciding if self.served else deciding_here, stored.row),
            beside=beside,
            reading=reading,
            others=others,
            left=left,
        )

    def _image(self, number: int, row: ReportRow) -> dict[str, str | None]:
        if not self.served:
            at = f"{IMAGES}/{number}"
            return {"uri": f"{at}.jpg", "large": f"{at}-large.jpg", "width": None}
        at = f"image/{number}"
        marked = "/marked" if has_boxes(row) else ""
        return {"uri": f"{at}{marked}", "large": f"{at}/large{marked}", "width": None}

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
