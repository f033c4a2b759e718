"""A look at a few records across the input, in seconds: do they open, and can they be judged?"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from revise_captions.critic.protocol import Critic, JudgeRequest, gate_of
from revise_captions.errors import BadRecord, Reason, own_step
from revise_captions.io.fields import to_record
from revise_captions.io.rows import BadRow, Row
from revise_captions.io.source import WINDOW
from revise_captions.records import Record, kind_of_reason
from revise_captions.text.formatting import plural
from revise_captions.text.markdown import sentence_spans

if TYPE_CHECKING:
    from PIL.Image import Image

    from revise_captions.io.images import LoadImage
    from revise_captions.io.source import Source

#: How many records are looked at.
SAMPLE = 32
#: Seconds after which sampling stops reading the rest of the input.
PATIENCE = 5.0
#: If a larger share of the sample cannot be judged, that is reported.
MOSTLY = 0.5


@dataclass(frozen=True, slots=True)
class Probe:
    """What was found.

    Attributes:
        total: Records in the input; None where only reading it all would tell.
        sampled: Records that were looked at.
        opened: Those whose image could be decoded.
        urls: Those whose image is a URL that was not fetched.
        problems: Counts by quarantine reason, with the first one's line and detail.
        sentences: Sentences sent to the critic; None if no critic was asked.
        unscored: Counts of those that could not be judged, by reason.
    """

    total: int | None
    sampled: int
    opened: int
    urls: int
    problems: Mapping[Reason, tuple[int, str]]
    sentences: int | None = None
    unscored: Mapping[str, int] = field(default_factory=dict)

    @property
    def main_reason(self) -> str:
        """Why most of the sampled sentences cannot be judged; "" if they can."""
        if not self.sentences or not self.unscored:
            return ""
        reason, count = max(self.unscored.items(), key=lambda item: item[1])
        return str(reason) if count > MOSTLY * self.sentences else ""

    def lines(self) -> Iterator[tuple[str, str]]:
        """Readable lines: what was looked at, and the outcome."""
        of = "" if self.total is None else f" of {self.total:,}"
        yield "looked at", f"{plural(self.sampled, 'record')}{of}, across the input"
        images = f"{self.opened} of {self.sampled} open"
        if self.urls:
            images += f"; {plural(self.urls, 'URL')} not fetched (--allow-urls fetches them)"
        yield "images", images
        for reason, (count, detail) in self.problems.items():
            yield "", f"{count} {reason}: {detail}"
        if self.sentences is not None:
            judged = self.sentences - sum(self.unscored.values())
            yield "bundled critic", f"judges {judged} of {plural(self.sentences, 'sentence')}"
            for why, count in self.unscored.items():
                yield "", f"{count} unscored: {why}"


def sampled(source: Source, size: int = SAMPLE, patience: float = PATIENCE) -> list[Row | BadRow]:
    """Rows spaced evenly across the input; its first ones if reading on would take too long."""
    began = time.monotonic()
    total = source.count()
    step = max(1, (total or size) // size)
    found: list[Row | BadRow] = []
    for number, row in enumerate(source.rows(parsed=False)):
        if number % step == 0 or time.monotonic() - began > patience:
            found.append(row)
        if len(found) >= size:
            break
    return found


def probe(source: Source, load: LoadImage, critic: Critic | None, *, urls: bool = False) -> Probe:
    """Looks at `SAMPLE` records.

    Args:
        source: The input.
        load: Decodes a record's image.
        critic: Judges one caption of each; None to ask no critic.
        urls: Whether to fetch images from URLs, too.
    """
    problems: dict[Reason, tuple[int, str]] = {}
    ready: list[tuple[Record, Image]] = []
    skipped = 0
    rows = sampled(source)
    with ThreadPoolExecutor(4) as pool:
        ask = pool.map(lambda row: _opened(source, row, load, urls), rows)
        for row, found in zip(rows, ask, strict=True):
            if isinstance(found, BadRecord):
                detail = f"line {row.line:,}: {found.detail}"
                count, first = problems.get(found.reason, (0, detail))
                problems[found.reason] = (count + 1, first)
            elif found[1] is None:
                skipped += 1
            else:
                ready.append((found[0], found[1]))
    counts: Counter[str] = Counter()
    total = None
    if critic is not None:
        total = 0
        for verdict in _verdicts(critic, ready):
            total += 1
            counts.update(() if verdict is None else (verdict,))
    return Probe(source.count(), len(rows), len(ready), skipped, problems, total, dict(counts))


def look_ahead(source: Source, load: LoadImage, critic: Critic | None) -> str:
    """A warning if a critic with a gate cannot judge most of a sample across a long input; else "".

    Critics without a gate are not asked, as they may take minutes. For an input of one window, the
    first window shows it soon enough.
    """
    # not an isinstance check, which would load PyTorch even for critics on a server
    if critic is None or gate_of(critic) is None or (source.count() or 0) <= WINDOW:
        return ""
    found = probe(source, load, critic)
    if not (reason := found.main_reason):
        return ""
    count, of = found.unscored[reason], plural(found.sentences or 0, "sentence")
    where = f"{plural(found.sampled, 'record')} across {source.name}"
    return f"in {where}, {count} of {of} come back unscored: {reason}"


def _opened(
    source: Source, row: Row | BadRow, load: LoadImage, urls: bool
) -> tuple[Record, Image | None] | BadRecord:
    if isinstance(row, BadRow):
        return BadRecord(row.reason, row.detail)
    try:
        with own_step(Reason.IMAGE_UNREADABLE):
            record = to_record(row, source.fields, source=source.name)
            return record, None if record.image.url is not None and not urls else load(record)
    except BadRecord as error:
        return error


def _verdicts(critic: Critic, ready: list[tuple[Record, Image]]) -> Iterator[str | None]:
    """For each sentence of the records, why it is unscored; None if it is judged."""
    asked = []
    for record, image in ready:
        caption = next(iter(record.captions.values()))
        if spans := sentence_spans(caption):
            asked.append(JudgeRequest(image, caption, tuple(spans)))
    for verdicts in critic.judge(asked) if asked else []:
        for verdict in verdicts:
            yield None if verdict.unscored is None else kind_of_reason(verdict.unscored)
