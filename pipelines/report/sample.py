"""The records that the report shows: a small sample with some of every outcome.

A hash of the record's name decides, not chance or order, so resumed runs, and shards read in
another order, show the same records. Only the sample is kept in memory.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from PIL import Image

from revise_captions.pipelines.output.outcomes import Outcome, captions_of, outcome_of
from revise_captions.pipelines.verify.findings import went_wrong

if TYPE_CHECKING:
    from revise_captions.pipelines.report.chart_view import ChartView

SIZE = 60
#: Runs of at most this many captions are shown whole.
WHOLE = 200
#: Fewest records of each outcome, if there are that many; the rest is a simple random sample.
QUOTA = {
    Outcome.REVISED: 16,
    Outcome.FLAGGED: 8,
    Outcome.DROPPED: 8,
    Outcome.UNSCORED: 4,
    Outcome.KEPT: 4,
    Outcome.QUARANTINED: 4,
}
#: Fewest records with a claim that was lost or changed beyond the rationales.
FOUND = 8


@dataclass(frozen=True, slots=True)
class ReportRow:
    """One caption of one record in the report.

    Attributes:
        field: The caption's field, if a record has several.
        revision: None for a quarantined record, whose `caption` is its text, with `reason` and
            `detail`.
        image_name: `decided.image_name` of the record's image.
        labeled: For each sentence, the kinds of error that the record names, if any.
        chart: What was read in the image, if a chart's caption was judged.
    """

    source: str
    line: int
    outcome: Outcome
    caption: str
    field: str = ""
    revised_caption: str = ""
    revision: Mapping[str, Any] | None = None
    group: str = ""
    reason: str = ""
    detail: str = ""
    image: Image.Image | None = None
    image_name: str = ""
    labeled: tuple[tuple[str, ...], ...] = ()
    chart: ChartView | None = None


def report_rows(
    row: Mapping[str, Any],
    captions: Mapping[str, str],
    *,
    source: str,
    line: int,
    group: object = None,
    image_name: str = "",
    labels: Callable[[Mapping[str, Any]], tuple[str, ...]] | None = None,
) -> Iterator[ReportRow]:
    """An output row as report rows, one per caption.

    `captions` are the original ones; `labels` gives the kinds of error that the record names for a
    sentence.
    """
    for field, revised, revision in captions_of(row):
        caption = captions[field] if field else next(iter(captions.values()))
        outcome = outcome_of(revision)
        name = "" if group is None else str(group)
        labeled = tuple(map(labels, revision["sentences"])) if labels is not None else ()
        found = ReportRow(source, line, outcome, caption, field, revised, revision, name)
        yield replace(found, image_name=image_name, labeled=labeled)


Ranked = tuple[int, int, ReportRow]


class Sampler:
    """Keeps the rows with the smallest hashes: for each outcome, for findings, and overall."""

    def __init__(self, size: int = SIZE) -> None:
        self.size = size
        self._all: list[Ranked] = []
        self._by_outcome: dict[Outcome, list[Ranked]] = {outcome: [] for outcome in QUOTA}
        self._found: list[Ranked] = []
        self._first: list[Ranked] = []
        self._seen = 0

    def add(self, row: ReportRow) -> None:
        """Offers a row, without its image."""
        self._seen += 1
        ranked = (-_hash(row), -self._seen, row)
        if self._seen <= WHOLE:
            self._first.append(ranked)
        else:
            self._first.clear()
        _offer(self._all, ranked, self.size)
        _offer(self._by_outcome[row.outcome], ranked, QUOTA[row.outcome])
        if went_wrong(row.revision):
            _offer(self._found, ranked, FOUND)

    def rows(self, load: Callable[[ReportRow], Image.Image | None]) -> list[ReportRow]:
        """At most `size` rows with images, by outcome, then in input order; all of a small run.

        `load` is called once per row and returns None for a row without image.
        """
        whole = {seen: row for _, seen, row in self._first}
        chosen: dict[int, ReportRow] = whole or {seen: row for _, seen, row in self._found}
        for outcome in () if whole else QUOTA:
            chosen |= {seen: row for _, seen, row in self._by_outcome[outcome]}
        for _, seen, row in sorted(self._all, key=lambda ranked: -ranked[0]):
            if len(chosen) >= self.size:
                break
            chosen[seen] = row
        order = list(QUOTA)
        rows = sorted(
            chosen.values(), key=lambda r: (order.index(r.outcome), r.source, r.line, r.field)
        )
        return [replace(row, image=load(row)) for row in rows[: len(whole) or self.size]]

    @property
    def seen(self) -> int:
        """How many rows were offered."""
        return self._seen


def _hash(row: ReportRow) -> int:
    name = f"{row.source}\0{row.line}\0{row.field}".encode("utf-8", "surrogatepass")
    return int.from_bytes(blake2b(name, digest_size=8).digest(), "big")


def _offer(heap: list[Ranked], ranked: Ranked, size: int) -> None:
    if len(heap) < size:
        heapq.heappush(heap, ranked)
    elif ranked[:2] > heap[0][:2]:
        heapq.heapreplace(heap, ranked)
