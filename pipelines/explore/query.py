"""Which captions of an index are shown, in which order, a page at a time."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass, fields

from revise_captions.pipelines.explore.index import RunIndex

PAGE = 20
_ORDERS = {
    "": "id",
    "worst": "worst IS NULL, worst, id",
    "changed": "changed DESC, id",
    "unsure": "unsure IS NULL, unsure, id",
    "gain": "gain DESC, id",
    "different": "(SELECT difference FROM pairs WHERE pairs.caption = id) DESC, id",
}
#: What is left to do about a caption.
ONLY = {
    "needs_review": "needs review",
    "undecided": "left to decide",
    "decided": "decided",
}
_ONLY = {
    "needs_review": "review",
    "undecided": "id IN (SELECT caption FROM sentences WHERE name NOT IN (SELECT name FROM made))",
    "decided": "id IN (SELECT caption FROM sentences JOIN made USING (name))",
}


@dataclass(frozen=True, slots=True)
class Query:
    """What the page's form asks for; "" is no filter. `page` counts from 1.

    `only` is one of `ONLY`; `same`, as the index names it, the image whose captions are shown.
    """

    sort: str = ""
    outcome: str = ""
    model: str = ""
    reason: str = ""
    kind: str = ""
    differs: str = ""
    only: str = ""
    same: str = ""
    q: str = ""
    page: int = 1

    @classmethod
    def of(cls, given: Mapping[str, list[str]]) -> Query:
        """From a URL's parameters: the last of each name; what cannot be is left out."""
        text = {f.name: given[f.name][-1] for f in fields(cls) if given.get(f.name)}
        page = text.pop("page", "1")
        if text.get("sort", "") not in _ORDERS:
            del text["sort"]
        return cls(**text, page=max(1, int(page)) if page.isdecimal() and len(page) < 10 else 1)


@dataclass(frozen=True, slots=True)
class FoundPage:
    """A page of captions: their numbers, and how many there are in all."""

    ids: list[int]
    total: int

    @property
    def pages(self) -> int:
        return max(1, -(-self.total // PAGE))


def find(index: RunIndex, query: Query) -> FoundPage:
    """The captions on the query's page; of a page behind the last, those on the last.

    Raises:
        ValueError: It asks for differences, and there is no run to differ from.
    """
    paired = _paired(index.db)
    where, values = _where(query, paired=paired)
    order = _ORDERS["" if query.sort == "different" and not paired else query.sort]
    (total,) = index.db.execute(f"SELECT count(*) FROM captions WHERE {where}", values).fetchone()
    page = min(query.page, max(1, -(-total // PAGE)))
    rows = index.db.execute(
        f"SELECT id FROM captions WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
        [*values, PAGE, PAGE * (page - 1)],
    )
    return FoundPage([number for (number,) in rows], total)


def _paired(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT 1 FROM temp.sqlite_master WHERE name = 'pairs'").fetchone())


def _where(query: Query, *, paired: bool) -> tuple[str, list[str]]:
    parts, values = ["1"], []
    for name in ("outcome", "model"):
        if value := getattr(query, name):
            parts.append(f"{name} = ?")
            values.append(value)
    if query.only:
        if query.only not in _ONLY:
            raise ValueError(f"{query.only} is not a filter")
        parts.append(_ONLY[query.only])
    if query.same:
        parts.append("picture = ?")
        values.append(query.same)
    for kind in ("reason", "kind"):
        if value := getattr(query, kind):
            parts.append("id IN (SELECT caption FROM tags WHERE kind = ? AND value = ?)")
            values += [kind, value]
    if query.differs:
        if not paired:
            raise ValueError("there is no other run to differ from")
        parts.append("id IN (SELECT caption FROM pairs WHERE how = ?)")
        values.append(query.differs)
    if wanted := query.q.strip().casefold():
        parts.append("instr(text, ?) > 0")
        values.append(wanted.encode("utf-8", "replace").decode())
    return " AND ".join(parts), values
